"""`tools/check_training.py`, on the quickest networks; `make conformance-training` trains all thirteen."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch has no wheel for this Python")
pytest.importorskip("transformers", reason="most networks are of transformers")

import check_training  # noqa: E402
from check_training import Row, largest_error, measured, table, whole_error, without_padding  # noqa: E402
from small_networks import NETWORKS, small  # noqa: E402


@pytest.mark.parametrize(("name", "way"), [("mlp", "own"), ("mlp", "aot"), ("mlp", "onnx"), ("gpt2", "own"), ("lstm", "own")])
def test_gradients_and_weights_are_those_of_pytorch(name: str, way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check_training, "STEPS", 5)
    (row,) = measured(name, [way], [4], lambda row: None)
    assert (row.network, row.way, row.accumulate) == (name, way, 4)
    assert row.gradients <= 1e-5
    assert row.weights <= 1e-5
    assert row.within


def test_errors_are_seen() -> None:
    wanted = {"a": np.array([3.0, 4.0]), "b": np.zeros(2)}
    assert (largest_error(wanted, wanted), whole_error(wanted, wanted)) == (0.0, 0.0)
    assert largest_error({**wanted, "a": np.array([3.0, 4.5])}, wanted) == pytest.approx(0.1)
    assert largest_error({**wanted, "b": np.array([0.0, 0.01])}, wanted) == pytest.approx(2.0)  # of a thousandth of the norm of all
    assert largest_error({"a": wanted["a"]}, wanted) == np.inf
    assert whole_error({**wanted, "b": np.array([0.0, 0.5])}, wanted) == pytest.approx(0.1)
    assert not Row("mlp", "own", 1, 5e-4, 0.0, 1.0).within
    assert not Row("mlp", "own", 1, 0.0, np.nan, 1.0).within


def test_a_table_has_a_row_for_each_network() -> None:
    rows = [Row(name, way, 1, 1.23e-6, 4e-5, 1.0) for name in ("mlp", "vit") for way in ("own", "aot")]
    lines = table(rows).splitlines()
    assert lines[0] == "| network | own, 1 microbatch | aot, 1 microbatch |"
    assert lines[2:] == ["| mlp | 1e-06, 4e-05 | 1e-06, 4e-05 |", "| vit | 1e-06, 4e-05 | 1e-06, 4e-05 |"]
    assert len(NETWORKS) == 13


def test_a_file_is_compared_without_padding() -> None:
    given = small("bert")
    (name,) = [name for name, module in given.network.named_modules() if getattr(module, "padding_idx", None) is not None]
    found = without_padding(given)
    assert found.network.get_submodule(name).padding_idx is None
    assert given.network.get_submodule(name).padding_idx == 0
    plain = small("mlp")
    assert without_padding(plain) is plain
