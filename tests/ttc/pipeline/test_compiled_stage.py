"""Stages that are compiled keep what gradients read, and show probes with their place."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ttc
from ttc.dialects.core.errors import Error

torch: Any = pytest.importorskip("torch", reason="stages are modules of PyTorch")
READINGS: list[Any] = []


class Probed(torch.nn.Module):
    """A layer whose result is shown."""

    def __init__(self, name: str) -> None:
        super().__init__()
        torch.manual_seed(1)
        self.layer, self.name = torch.nn.Linear(4, 4), name

    def forward(self, x: Any) -> Any:
        return ttc.probe(self.layer(x), self.name, sink=READINGS.append).tanh()


@pytest.mark.parametrize("devices", [("host", "host"), ("cpu", "host"), ("host", "cpu")])
@pytest.mark.parametrize("mode", ["sequential", "processes"])
def test_probes_say_where_and_when(devices: tuple[str, str], mode: str, rng: np.random.Generator) -> None:
    pairs = [(device, Probed(f"stage{number}")) for number, device in enumerate(devices)]
    with ttc.Pipeline(pairs, loss="mse", optimizer="sgd:lr=0.1", mode=mode) as pipeline:
        for _ in range(2):
            pipeline.push(torch.from_numpy(rng.standard_normal((3, 4)).astype(np.float32)))
            pipeline.push_target(torch.zeros(3, 4))
        pipeline.compile()
        READINGS.clear()
        pipeline.run_training(microbatches=2)
        found = {(reading.name, reading.stage, reading.microbatch): reading.value for reading in READINGS}
    wanted = {(f"stage{n}{end}", n, m) for n in range(2) for m in range(2) for end in ("", "_gradient")}
    assert found.keys() == wanted
    assert all(np.isfinite(value).all() and value.shape == (3, 4) and value.any() for value in found.values())


@pytest.mark.parametrize("recompute", ["none", "auto", "all"])
def test_what_is_kept_is_an_option_of_the_device(recompute: str, rng: np.random.Generator) -> None:
    torch.manual_seed(2)
    layers = [layer for _ in range(6) for layer in (torch.nn.Linear(8, 8), torch.nn.Tanh())]
    model = torch.nn.Sequential(*layers)
    x = torch.from_numpy(rng.standard_normal((3, 8)).astype(np.float32))
    device = ttc.Device("host", recompute=recompute)
    with ttc.Pipeline([(device, model)], loss="mse") as pipeline:
        for _ in range(2):
            pipeline.push(x)
            pipeline.push_target(torch.zeros(3, 8))
        pipeline.forward(2)
        pipeline.backward(2)
        found = pipeline.gradients("host")
    model(x).square().mean().backward()
    for name, parameter in model.named_parameters():
        np.testing.assert_allclose(found[name], parameter.grad.numpy(), atol=1e-6)


def test_arithmetic_of_the_device_is_that_of_its_options_in_its_process_too() -> None:
    torch.manual_seed(3)
    model, x = torch.nn.Sequential(torch.nn.Linear(32, 32), torch.nn.Tanh()), torch.randn(4, 32)

    def outputs(mode: str, **options: Any) -> np.ndarray:
        with ttc.Pipeline([(ttc.Device("n150", format="Float16_b", **options), model)], mode=mode) as pipeline:
            return pipeline.run_inference(inputs=[x]).get().numpy()

    exact = outputs("sequential", exact=True)
    found = [outputs(mode, exact=True, stochastic_rounding=seed) for mode, seed in (("sequential", 1), ("processes", 1), ("processes", 2))]
    assert np.array_equal(found[0], found[1])
    assert not np.array_equal(found[1], found[2])
    assert not np.array_equal(found[1], exact)
    with pytest.raises(Error, match="E0101"):
        ttc.Device("n150", stochastic_rounding=1)


def test_an_archive_that_computes_forward_again_is_no_stage(tmp_path: Any) -> None:
    x = torch.zeros(2, 4)
    joint = ttc.compile(torch.nn.Linear(4, 4), (x,), target="host", training=True)
    joint.save(tmp_path / "joint.tti")
    ttc.compile(torch.nn.Linear(4, 4), (x,), target="host", training=True, stash=True).save(tmp_path / "split.tti")
    with ttc.Pipeline([("host", tmp_path / "joint.tti")], loss="mse") as pipeline:
        pipeline.push(x)
        pipeline.push_target(x)
        with pytest.raises(Error, match=r"E0803.*no backward pass of its own"):
            pipeline.run_training()
    with ttc.Pipeline([("host", tmp_path / "split.tti")], loss="mse") as pipeline:
        pipeline.push(x)
        pipeline.push_target(x)
        pipeline.run_training()
        assert len(pipeline.losses) == 1
