"""Random numbers of a seed against onnx's reference evaluator, and what follows without one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.ttc.importers.onnx.cases import check, imported, node_model, normal, save
from ttc.dialects.core.errors import Error
from ttc.importers.onnx import import_onnx

X = normal(3, 5)


@pytest.mark.parametrize(
    ("op", "operands", "attrs"),
    [
        ("RandomUniform", [], {"shape": [3, 4], "seed": 5.0}),
        ("RandomUniform", [], {"shape": [3, 4], "seed": 5.0, "low": -2.0, "high": 3.0, "dtype": 11}),
        ("RandomUniformLike", [X], {"seed": 1.0}),
        ("RandomNormal", [], {"shape": [40], "seed": 3.0, "mean": 2.0, "scale": 0.5}),
        ("RandomNormalLike", [X], {"seed": 3.0, "dtype": 11}),
    ],
)
def test_numbers_of_a_seed(op: str, operands: list[Any], attrs: dict[str, Any], tmp_path: Path) -> None:
    model, feeds = node_model(op, *operands, **attrs)
    check(model, feeds, tmp_path)


def test_without_a_seed_every_run_and_every_node_has_its_own(tmp_path: Path) -> None:
    model, feeds = node_model("RandomUniform", shape=[1000])
    first, second = imported(model, feeds, tmp_path)[0], imported(model, feeds, tmp_path)[0]
    np.testing.assert_array_equal(first, second)
    assert 0 <= first.min() < 0.01 < 0.99 < first.max() < 1
    assert abs(first.mean() - 0.5) < 0.05
    model.graph.node[0].name = "another"
    assert not np.array_equal(imported(model, feeds, tmp_path)[0], first)


def test_dropout_in_training(tmp_path: Path) -> None:
    x = np.ones((40, 50), np.float32)
    model, feeds = node_model("Dropout", x, np.array(0.25, np.float32), np.array(True), seed=3, outputs=2, constant=(1, 2))
    y, mask = imported(model, feeds, tmp_path)
    np.testing.assert_allclose(y, np.where(mask, x / 0.75, 0), rtol=1e-6)
    assert 0.7 < mask.mean() < 0.8


def test_multinomial_draws_classes_by_their_weights(tmp_path: Path) -> None:
    weights = np.array([[0.1, 0.0, 0.6, 0.3], [0.0, 1.0, 0.0, 0.0]], np.float32)
    with np.errstate(divide="ignore"):
        x = np.log(weights)
    model, feeds = node_model("Multinomial", x, sample_size=2000, seed=2.0)
    (y,) = imported(model, feeds, tmp_path)
    shares = np.array([[np.mean(row == c) for c in range(4)] for row in y])
    assert (y.shape, y.dtype) == ((2, 2000), np.int32)
    np.testing.assert_allclose(shares, weights, atol=0.04)


def test_a_ratio_that_keeps_nothing(tmp_path: Path) -> None:
    model, _ = node_model("Dropout", X, np.array(1.0, np.float32), np.array(True), seed=3, constant=(1, 2))
    with pytest.raises(Error) as caught:
        import_onnx(save(model, tmp_path))
    assert caught.value.code == "E0402"
