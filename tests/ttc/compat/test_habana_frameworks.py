"""Snippets with graphs of Lightning-Habana's documentation run; metrics have the names that they have there."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="PyTorch has no wheel for this Python")

import torch
from torch import nn
from torch._dynamo.backends.registry import lookup_backend
from torch.nn import functional

from ttc import compat, dynamo
from ttc.dialects.core.errors import Error, TtcWarning

pytestmark = pytest.mark.filterwarnings("ignore::ttc.dialects.core.errors.TtcWarning")


@pytest.fixture
def htcore(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.setattr("ttc.compat.names._TOLD", set())
    compat.install("habana_frameworks")
    names: dict[str, Any] = {}
    exec("import habana_frameworks.torch.core as htcore", names)
    yield names["htcore"]
    for name in [name for name in sys.modules if name.partition(".")[0] == "habana_frameworks"]:
        del sys.modules[name]


def network() -> nn.Sequential:
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 3))


def batches() -> list[tuple[torch.Tensor, torch.Tensor]]:
    generator = torch.Generator().manual_seed(2)
    return [(torch.randn(5, 4, generator=generator), torch.randint(0, 3, (5,), generator=generator)) for _ in range(3)]


def test_capture_and_replay_of_training(htcore: Any) -> None:
    plain, model, g = network(), network(), htcore.hpu.HPUGraph()
    optimizers = [torch.optim.SGD(module.parameters(), 0.1) for module in (plain, model)]
    static_input, static_target = (x.clone() for x in batches()[0])
    static_loss = torch.zeros(())
    for number, (data, target) in enumerate(batches()):
        optimizers[0].zero_grad()
        wanted = functional.cross_entropy(plain(data), target)
        wanted.backward()
        optimizers[0].step()
        if number == 0:
            optimizers[1].zero_grad(set_to_none=True)
            with htcore.hpu.graph(g):
                static_loss = functional.cross_entropy(model(static_input), static_target)
                static_loss.backward()
                optimizers[1].step()
        else:
            static_input.copy_(data)
            static_target.copy_(target)
            for parameter in model.parameters():
                assert parameter.grad is not None
                parameter.grad.zero_()
            g.replay()
        torch.testing.assert_close(static_loss.detach(), wanted.detach())


def test_callables_caches_and_wrappers(htcore: Any) -> None:
    (x, _), *_ = batches()
    plain, wrapped = network(), network()
    for model in (
        htcore.hpu.make_graphed_callables(network(), (x,)),
        htcore.hpu.ModuleCacher(2)(model=network(), inplace=True),
        htcore.hpu.wrap_in_hpu_graph(wrapped, asynchronous=False, disable_tensor_cache=True),
    ):
        htcore.mark_step()
        torch.testing.assert_close(model(x).detach(), plain(x).detach())
    with pytest.raises(Error, match="E0105"):
        htcore.hpu.ModuleCacher()(model=network(), inplace=False)
    with pytest.raises(Error, match="E0101"):
        htcore.hpu.wrap_in_hpu_graph(network(), disasble_tensor_cache=True)
    with pytest.raises(Error, match="E0105"):
        _ = htcore.hpu.Stream


def test_the_backend_has_its_name(htcore: Any) -> None:
    """torch.compile finds it as soon as scripts have imported the package: no other name of it need have been asked for."""
    assert lookup_backend("hpu_backend") is dynamo.backend
    model, (x, _) = network(), batches()[0]
    torch.testing.assert_close(torch.compile(model, backend="hpu_backend")(x).detach(), model(x).detach())


def test_metrics_by_their_names(htcore: Any, tmp_path: Path) -> None:
    names: dict[str, Any] = {}
    exec("from habana_frameworks.torch.hpu.metrics import metric_global, metric_localcontext, metrics_dump", names)
    torch._dynamo.reset()
    model, (x, _) = network(), batches()[0]
    htcore.mark_step()
    with names["metric_localcontext"]("graph_compilation") as local:
        torch.compile(model, backend="hpu_backend")(x[:2])
    found = dict(local.stats())
    assert found["TotalNumber"] >= 1
    assert found["AvgTime"] * found["TotalNumber"] == pytest.approx(found["TotalTime"])
    names["metrics_dump"](tmp_path / "metrics.json", "json")
    dumped = json.loads((tmp_path / "metrics.json").read_text())
    assert dumped["graph_compilation"]["TotalNumber"] == dict(names["metric_global"]("graph_compilation").stats())["TotalNumber"]
    with pytest.raises(Error, match="E0101"):
        names["metric_global"]("graph_compilations")


def test_devices_are_there_where_ttc_runs(htcore: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    assert (htcore.hpu.is_available(), htcore.hpu.device_count(), htcore.hpu.current_device()) == (True, 1, 0)
    monkeypatch.setattr("platform.machine", lambda: "riscv64")
    assert not htcore.hpu.is_available()


def test_variables_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HABANA_VISIBLE_MODULES", "0,1")
    monkeypatch.delitem(sys.modules, "ttc.compat.habana_frameworks", raising=False)
    with pytest.warns(TtcWarning, match="HABANA_VISIBLE_MODULES is TTC_VISIBLE_DEVICES in ttc"):
        compat.install("habana_frameworks")
    for name in [name for name in sys.modules if name.partition(".")[0] == "habana_frameworks"]:
        del sys.modules[name]
