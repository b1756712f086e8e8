"""Steps are compiled once for a class of models, and differ in a bounded number of ways."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from lightning.pytorch import LightningModule
from torch._dynamo.utils import counters
from torchmetrics.classification import MulticlassAccuracy

from tests.ttc.lightning.modules import Images, fitted, images, trainer
from ttc import metrics
from ttc.dialects.core.errors import Error, TtcWarning
from ttc.dynamo import limited
from ttc.lightning import TTCAccelerator


class Linear(LightningModule):
    """The least that can be trained."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(64, 3)

    def training_step(self, batch: Any, batch_idx: int) -> torch.Tensor:
        return torch.nn.functional.cross_entropy(self.layer(batch[0].flatten(1)), batch[1])

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.SGD(self.parameters(), 0.1)


def test_models_of_a_class_share_what_was_compiled(rng: np.random.Generator) -> None:
    accelerator, data = TTCAccelerator(fallback=False), images(rng, 8)
    fitted(Linear, accelerator, data)
    before = counters["stats"]["unique_graphs"]
    fitted(Linear, accelerator, data)
    assert counters["stats"]["unique_graphs"] == before > 0


def test_a_step_that_differs_in_too_many_ways(rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    class Various(Linear):
        names = ("a", "b", "c", "d", "e")

        def training_step(self, batch: Any, batch_idx: int) -> torch.Tensor:
            return super().training_step(batch, batch_idx) * len(self.names[self.trainer.global_step])

    monkeypatch.setattr(limited, "MAX_VARIANTS", 2)
    with pytest.raises(Error, match="E0805.*training_step differs between its calls in more than 2 ways"):
        fitted(Various, TTCAccelerator(fallback=False), images(rng, 8), max_epochs=5)


def test_a_step_that_logs_in_a_loop(rng: np.random.Generator) -> None:
    """TorchDynamo takes no graph from it: that is said."""

    class Looping(Linear):
        def training_step(self, batch: Any, batch_idx: int) -> torch.Tensor:
            loss = super().training_step(batch, batch_idx)
            for name in ("one", "two"):
                self.log(name, loss)
            return loss

    data = images(rng, 8)
    with pytest.raises(Error, match=r"E0202.*TorchDynamo takes no graph from training_step"):
        fitted(Looping, TTCAccelerator(fallback=False), data)
    with metrics.scope("loop") as counted, pytest.warns(TtcWarning, match="outside of loops"):
        fitted(Looping, "ttc", data)
    assert counted.value("fallbacks") == 1


def test_what_torch_compile_made_stays(rng: np.random.Generator) -> None:
    model: Any = torch.compile(Linear(), backend="eager")
    with metrics.scope("fit") as counted:
        trainer("ttc", max_epochs=1).fit(model, images(rng, 8))
    assert counted.flat()["compilations"] == 0


def test_metrics_count_on_the_host(rng: np.random.Generator) -> None:
    class Counting(Images):
        def __init__(self) -> None:
            super().__init__()
            self.share = MulticlassAccuracy(3, average="micro")

        def validation_step(self, batch: Any, batch_idx: int) -> None:
            self.share(self(batch[0]), batch[1])
            self.log("share", self.share)

    data = images(rng)
    torch.manual_seed(0)
    model = Counting()
    (found,) = trainer(TTCAccelerator(fallback=False)).validate(model, data, verbose=False)
    x, y = data.dataset.tensors  # pyright: ignore[reportAttributeAccessIssue] - a TensorDataset
    assert found["share"] == pytest.approx(float((model.eval()(x).argmax(1) == y).float().mean()))
