"""`ttc.inference` in stages gives what it gives of the whole model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ttc
from tests.ttc.train.digits import CLASSES, FEATURES, write_model
from ttc.dialects.core.errors import Error

IN_STAGES = {"devices": ["host", "n150:0"], "plan": {"second": 1}}


def rows(rng: np.random.Generator, count: int) -> Any:
    return rng.standard_normal((count, FEATURES)).astype(np.float32)


@pytest.mark.parametrize("mode", ["sequential", "threads", "processes"])
@pytest.mark.parametrize(("options", "size"), [({"iterations": 2, "replicas": 3}, 24), ({"iterations": 3, "output": "sum"}, 12)])
def test_a_file_in_stages(mode: str, options: dict[str, Any], size: int, tmp_path: Path, rng: np.random.Generator) -> None:
    write_model(tmp_path / "digits.onnx")
    x = rows(rng, size)
    with (
        ttc.inference(tmp_path / "digits.onnx", **options, target="host") as whole,
        ttc.inference(tmp_path / "digits.onnx", **options, **IN_STAGES, mode=mode) as staged,
    ):
        wanted = whole(x)
        for _ in range(2):
            np.testing.assert_allclose(staged(x), wanted, rtol=1e-5, atol=1e-5)
        assert staged.output_shapes(x) == (wanted.shape,)
        assert sorted(staged.session.parameters()) == ["b1", "b2", "w1", "w2"]


def test_padding_and_other_shapes(tmp_path: Path, rng: np.random.Generator) -> None:
    write_model(tmp_path / "digits.onnx")
    with ttc.inference(tmp_path / "digits.onnx", iterations=2, partial_batch="pad", **IN_STAGES) as staged:
        assert staged(rows(rng, 7)).shape == (7, CLASSES)
        staged.close()
        with pytest.raises(Error, match="closed") as raised:
            staged(rows(rng, 8))
    assert raised.value.code == "E0803"


def test_a_module_of_pytorch_with_the_newest_weights(rng: np.random.Generator) -> None:
    torch: Any = pytest.importorskip("torch", reason="torch has a build for Python 3.11 alone")
    torch.manual_seed(0)
    network = torch.nn.Sequential(torch.nn.Linear(FEATURES, 8), torch.nn.BatchNorm1d(8), torch.nn.Dropout(), torch.nn.Linear(8, 3))
    x, plan = torch.from_numpy(rows(rng, 8)), {"0": 0, "3": 1}
    with (
        ttc.training(network, loss="cross_entropy", optimizer="sgd:lr=0.1", target="host") as trained,
        ttc.inference(network, devices=["host", "host"], plan=plan, iterations=2) as staged,
    ):
        torch.testing.assert_close(staged(x), network.eval()(x), rtol=1e-5, atol=1e-5)
        network.train()
        trained(x, torch.arange(8) % 3)
        found = staged(x)
        trained.pull_weights()
        torch.testing.assert_close(found, network.eval()(x), rtol=1e-5, atol=1e-5)
        with torch.no_grad():
            network[3].bias += 1
        staged.push_weights()
        torch.testing.assert_close(staged.session.parameters()["3.bias"], network[3].bias.detach().numpy(), rtol=0, atol=0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"devices": ["host", "cpu"]}, "does not take device 'cpu'"),
        ({"example_inputs": (1,)}, "does not take example_inputs"),
        ({"devices": None}, "a plan says which stages run on which devices"),
    ],
)
def test_what_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(Error, match=message) as raised:
        ttc.inference("digits.onnx", **{**IN_STAGES, **options})
    assert raised.value.code == "E0101"
