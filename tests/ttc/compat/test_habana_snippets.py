"""Snippets with graphs and profilers of Lightning-Habana's documentation run in a Trainer, with the corrections that the page lists."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="PyTorch has no wheel for this Python")
pytest.importorskip("lightning", reason="lightning is installed with the extra `test`, where PyTorch has a wheel")

import torch
from lightning.pytorch import LightningModule
from torch import nn
from torch.nn import functional
from torch.utils.data import DataLoader, TensorDataset

from tests.ttc.lightning.modules import trainer
from ttc import compat, metrics

pytestmark = pytest.mark.filterwarnings("ignore::ttc.dialects.core.errors.TtcWarning")
ROWS = 4
"""Rows that a batch has."""


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[dict[str, Any]]:
    monkeypatch.setattr("ttc.compat.names._TOLD", set())
    monkeypatch.chdir(tmp_path)
    compat.install("lightning_habana")
    compat.install("habana_frameworks")
    found: dict[str, Any] = {}
    lines = [
        "from lightning_habana.pytorch.accelerator import HPUAccelerator",
        "from lightning_habana.pytorch.profiler.profiler import HPUProfiler",
        "import habana_frameworks.torch.core as htcore",
        "import habana_frameworks.torch as htorch",
    ]
    exec("\n".join(lines), found)
    yield found
    for name in [name for name in sys.modules if name.partition(".")[0] in ("lightning_habana", "habana_frameworks")]:
        del sys.modules[name]


class Net(LightningModule):
    """The network of all snippets, with steps as they are without graphs; it keeps its losses."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 3))
        self.losses: list[float] = []

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.net(x)

    def training_step(self, batch: Any, batch_idx: int) -> torch.Tensor:
        return functional.cross_entropy(self(batch[0]), batch[1])

    def test_step(self, batch: Any, batch_idx: int) -> None:
        self.log("test_loss", functional.cross_entropy(self(batch[0]), batch[1]))

    def on_train_batch_end(self, outputs: Any, batch: Any, batch_idx: int) -> None:
        self.losses.append(float(outputs["loss"]))

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.SGD(self.parameters(), 0.1)


def data() -> DataLoader:
    generator = torch.Generator().manual_seed(3)
    return DataLoader(TensorDataset(torch.randn(24, 4, generator=generator), torch.randint(0, 3, (24,), generator=generator)), ROWS)


def fitted(model: Net, accelerator: Any) -> list[float]:
    trainer(accelerator, max_epochs=2).fit(model, data())
    return model.losses


def test_capture_and_replay_of_a_training_step(names: dict[str, Any]) -> None:
    htcore = names["htcore"]

    class HPUGraphsModel(Net):
        def __init__(self) -> None:
            super().__init__()
            self.g = htcore.hpu.HPUGraph()
            self.static_input = torch.rand(ROWS, 4)
            self.static_target = torch.zeros(ROWS, dtype=torch.int64)
            self.static_loss: Any = None
            self.automatic_optimization = False
            self.training_step = self.train_with_capture_and_replay

        def train_with_capture_and_replay(self, batch: Any, batch_idx: int) -> torch.Tensor:
            optimizer: Any = self.optimizers()
            data, target = batch
            self.static_input.copy_(data)
            self.static_target.copy_(target)
            if batch_idx == 0 and self.current_epoch == 0:
                optimizer.zero_grad(set_to_none=True)
                with htcore.hpu.graph(self.g):
                    static_y_pred = self(self.static_input)
                    self.static_loss = functional.cross_entropy(static_y_pred, self.static_target)
                    self.static_loss.backward()
                    optimizer.optimizer.step()
            else:
                for parameter in self.parameters():
                    assert parameter.grad is not None
                    parameter.grad.zero_()
                self.g.replay()
                self.log("train_loss", self.static_loss)
            return self.static_loss

    wanted = fitted(Net(), "cpu")
    with metrics.scope("graphs") as counted:
        model = HPUGraphsModel()
        address = model.static_input.data_ptr()
        assert fitted(model, names["HPUAccelerator"](fallback=False)) == pytest.approx(wanted, abs=1e-6)
    assert model.static_input.data_ptr() == address
    assert counted.value("runs") >= len(wanted) - 1
    assert counted.value("fallbacks") == 0


def test_capture_and_replay_of_a_test_step(names: dict[str, Any]) -> None:
    htcore = names["htcore"]

    class HPUGraphsModel(Net):
        def __init__(self) -> None:
            super().__init__()
            self.g = htcore.hpu.HPUGraph()
            self.static_input = torch.rand(ROWS, 4)
            self.static_target = torch.zeros(ROWS, dtype=torch.int64)
            self.static_loss: Any = None

        def test_step(self, batch: Any, batch_idx: int) -> None:
            x, y = batch
            self.static_input.copy_(x)
            self.static_target.copy_(y)
            if batch_idx == 0:
                with htcore.hpu.graph(self.g):
                    static_y_pred = self.forward(self.static_input)
                    self.static_loss = functional.cross_entropy(static_y_pred, self.static_target)
            else:
                self.g.replay()
            self.log("test_loss", self.static_loss)

    (wanted,) = trainer("cpu").test(Net(), data(), verbose=False)
    (found,) = trainer(names["HPUAccelerator"](fallback=False)).test(HPUGraphsModel(), data(), verbose=False)
    assert found == pytest.approx(wanted, abs=1e-6)


@pytest.mark.parametrize("how", ["make_graphed_callables", "ModuleCacher", "torch.compile"])
def test_graphed_models_are_fitted(names: dict[str, Any], how: str) -> None:
    hpu, model = names["htcore"].hpu, Net()
    graphed: Any = model
    if how == "make_graphed_callables":
        graphed = hpu.make_graphed_callables(model, (torch.randn(ROWS, 4),))
    elif how == "ModuleCacher":
        hpu.ModuleCacher(3)(model=model, inplace=True)
    else:
        graphed = torch.compile(model, backend="hpu_backend")
    trainer(names["HPUAccelerator"](), max_epochs=2).fit(graphed, data())
    assert model.losses == pytest.approx(fitted(Net(), "cpu"), abs=1e-5)


def test_a_wrapped_model_is_tested(names: dict[str, Any]) -> None:
    model = names["htorch"].hpu.wrap_in_hpu_graph(Net(), asynchronous=False, disable_tensor_cache=True)
    (wanted,) = trainer("cpu").test(Net(), data(), verbose=False)
    (found,) = trainer(names["HPUAccelerator"](fallback=False)).test(model, data(), verbose=False)
    assert found == pytest.approx(wanted, abs=1e-6)


@pytest.mark.parametrize("what", ["flow", "ops"])
def test_dynamic_models(names: dict[str, Any], what: str) -> None:
    """Modules that are graphs, with what depends on numbers of Python, or on values of tensors, between them; one graph for each form."""
    htcore = names["htcore"]

    class Dynamic(Net):
        def __init__(self, graphed: bool) -> None:
            super().__init__()
            self.module1, self.module2, self.module3 = self.net, nn.Identity(), nn.ReLU()
            self.automatic_optimization = False
            self.training_step = self.dynamic_training_step
            for module in (self.module1, self.module2, self.module3) if graphed else ():
                htcore.hpu.ModuleCacher(8)(model=module, inplace=True)

        def dynamic_training_step(self, batch: Any, batch_idx: int) -> torch.Tensor:
            optimizer: Any = self.optimizers()
            data, target = batch
            optimizer.zero_grad(set_to_none=True)
            tmp = self.module1(data)
            if what == "flow":
                tmp = self.module2(tmp) if batch_idx % 2 else self.module3(tmp)
            else:
                htcore.mark_step()
                rows = torch.where(tmp[:, 0] < tmp[:, 1])[0]
                tmp, target = tmp[rows], target[rows]
                htcore.mark_step()
                tmp = self.module2(tmp)
            loss = functional.cross_entropy(tmp, target, reduction="sum")
            self.manual_backward(loss)
            optimizer.step()
            self.log("train_loss", loss)
            return loss

    wanted = fitted(Dynamic(graphed=False), "cpu")
    found = fitted(Dynamic(graphed=True), names["HPUAccelerator"]())
    assert found == pytest.approx(wanted, abs=1e-5)
    with metrics.scope("again") as counted:
        fitted(Dynamic(graphed=True), names["HPUAccelerator"]())
    assert counted.value("compilations") == 0


def test_profilers(names: dict[str, Any], tmp_path: Path) -> None:
    """By default and with a name for files; actions of the model's own are on the trace."""

    class MyModel(Net):
        def __init__(self, profiler: Any = None) -> None:
            super().__init__()
            self.profiler = profiler

        def on_train_batch_start(self, batch: Any, batch_idx: int) -> None:
            with self.profiler.profile("my_custom_action"):
                pass
            self.profiler.start("granular")
            self.profiler.stop("granular")

    for number, options in enumerate(({}, {"filename": "perf-logs"})):
        profiler = names["HPUProfiler"](dirpath=str(tmp_path / str(number)), **options)
        trainer(names["HPUAccelerator"](), profiler=profiler, max_epochs=1).fit(MyModel(profiler), data())
        (path,) = (tmp_path / str(number)).glob("*training_step*.json")
        events = json.loads(path.read_text())["traceEvents"]
        assert {"[pl][profile]my_custom_action", "[pl][profile]granular"} <= {event["name"] for event in events}
        assert any(event.get("cat") == "job" for event in events)
        summary = profiler.summary()
        assert "Profile stats for: records" in summary
        assert "Profile stats for: ttc" in summary
