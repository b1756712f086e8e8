"""A Trainer on ttc gives what one on the CPU does, by compiled graphs alone."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest
import torch

from tests.ttc.lightning.modules import LOSSES, MIXED, Images, Losses, SmallGPT, fitted, images, texts, trainer
from ttc.dialects.core.errors import Error
from ttc.lightning import TTCAccelerator


def test_all_steps_of_an_image_network(rng: np.random.Generator) -> None:
    data, found = images(rng), []
    for accelerator in ("cpu", TTCAccelerator(fallback=False)):
        torch.manual_seed(0)
        model, losses = Images(), Losses()
        runs = trainer(accelerator, losses)
        runs.fit(model, data, data)
        metrics = {**runs.validate(model, data, verbose=False)[0], **runs.test(model, data, verbose=False)[0]}
        predictions: Any = runs.predict(model, data)
        found.append((losses.values, metrics, torch.cat(predictions)))
    (wanted, metrics, predictions), (values, others, probabilities) = found
    assert len(values) == 4
    np.testing.assert_allclose(values, wanted, atol=LOSSES)
    assert others == pytest.approx(metrics, abs=LOSSES)
    assert sorted(others) == ["accuracy", "test_loss", "val_loss"]
    torch.testing.assert_close(probabilities, predictions, rtol=0, atol=LOSSES)


@pytest.mark.parametrize("manual", [False, True])
def test_a_small_gpt(rng: np.random.Generator, manual: bool) -> None:
    class Model(SmallGPT):
        def __init__(self) -> None:
            super().__init__(manual)

    data = texts(rng)
    _, wanted = fitted(Model, "cpu", data)
    _, losses = fitted(Model, TTCAccelerator(fallback=False), data)
    assert len(losses) == 4
    np.testing.assert_allclose(losses, wanted, atol=LOSSES)


def test_mixed_precision_is_that_of_the_cpu(rng: np.random.Generator) -> None:
    data = images(rng)
    _, full = fitted(Images, "cpu", data)
    _, wanted = fitted(Images, "cpu", data, precision="bf16-mixed")
    _, losses = fitted(Images, TTCAccelerator(fallback=False), data, precision="bf16-mixed")
    np.testing.assert_allclose(losses, wanted, atol=MIXED)
    assert np.abs(np.subtract(losses, full)).max() > 1e-5, "nothing was computed in bfloat16"


def test_by_name_with_a_graph_that_pytorch_runs(rng: np.random.Generator) -> None:
    @torch.library.custom_op("ttc_tests::unknown_half", mutates_args=(), schema="(Tensor x) -> Tensor")
    def half(x: torch.Tensor) -> torch.Tensor:
        return x / 2

    half.register_fake(torch.empty_like)

    class Strange(Images):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.net(half(x))

    data = images(rng, 8)
    _, wanted = fitted(Strange, "cpu", data, max_epochs=1)
    with pytest.warns(UserWarning, match="PyTorch runs the graph"):
        _, losses = fitted(Strange, "ttc", data, max_epochs=1)
    np.testing.assert_allclose(losses, wanted, atol=LOSSES)
    with pytest.raises(Error, match="E0202"):
        fitted(Strange, TTCAccelerator(fallback=False), data, max_epochs=1)


def test_a_model_has_its_own_steps_afterwards(rng: np.random.Generator) -> None:
    model, _ = fitted(Images, "ttc", images(rng, 8), max_epochs=1, limit_train_batches=0)
    assert not {"training_step", "log", "predict_step"} & vars(model).keys()


@pytest.mark.parametrize(("devices", "count"), [(2, 2), ("3", 3), ([0, 1], 2), (-1, 1), ("-1", 1)])
def test_devices_are_processes(devices: Any, count: int) -> None:
    assert TTCAccelerator.parse_devices(devices) == count
    assert TTCAccelerator.get_parallel_devices(count) == [torch.device("cpu")] * count


@pytest.mark.parametrize("devices", [0, -2, "two", [], [1, 2], [0, 0], True, 1.5])
def test_devices_that_cannot_be(devices: Any) -> None:
    with pytest.raises(Error, match="E0101.*devices cannot be"):
        TTCAccelerator.parse_devices(devices)


def test_no_more_processes_than_visible_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TTC_VISIBLE_DEVICES", "0-1")
    assert TTCAccelerator.parse_devices(2) == 2
    with pytest.raises(Error, match="4 processes take 4 devices, and TTC_VISIBLE_DEVICES=0-1 lists 2") as caught:
        trainer("ttc", devices=4)
    assert caught.value.code == "E0104"


def test_options_are_those_of_the_backend() -> None:
    with pytest.raises(Error, match="E0101.*no option 'fallbak'"):
        TTCAccelerator(fallbak=False)
    with pytest.raises(Error, match="E0101.*not of meta"):
        TTCAccelerator().setup_device(torch.device("meta"))


def test_it_is_known_also_where_ttc_is_imported_first() -> None:
    """The other order is that of this file."""
    lines = "import ttc.lightning", "import lightning", "trainer = lightning.Trainer(accelerator='ttc', logger=False)"
    code = "\n".join([*lines, "print(type(trainer.accelerator).__name__)"])
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout.split() == ["TTCAccelerator"]
