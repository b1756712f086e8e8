"""Parameters are those of the model, as they are when a graph runs."""

from __future__ import annotations

import copy
import gc
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="PyTorch has no wheel for this Python")

from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402

from tests.ttc.dynamo.updates import UPDATES  # noqa: E402
from ttc.dialects.core.errors import Error  # noqa: E402
from ttc.dynamo import binding, graph, shared  # noqa: E402

Compile = Callable[..., Any]


@pytest.fixture
def rebound(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Names of the parameters that were bound anew, a list each time."""
    found: list[list[str]] = []
    original = binding._with_values

    def counted(program: Any, tensors: Any) -> Any:
        found.append(list(tensors))
        return original(program, tensors)

    monkeypatch.setattr(binding, "_with_values", counted)
    return found


def test_a_changed_parameter_is_seen_and_an_unchanged_one_costs_nothing(
    compiled: Compile, graphs: list[str], rebound: list[list[str]]
) -> None:
    model: Any
    model, x = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2)).eval(), torch.randn(5, 3)
    run = compiled(model)
    with torch.no_grad():
        for _ in range(3):
            torch.testing.assert_close(run(x), model(x))
        assert len(rebound) == 1
        rebound.clear()
        model[2].weight.add_(1)
        torch.testing.assert_close(run(x), model(x))
        model[0].bias.data = torch.ones(4)
        torch.testing.assert_close(run(x), model(x))
        model.load_state_dict({name: torch.full_like(value, 0.25) for name, value in model.state_dict().items()})
        torch.testing.assert_close(run(x), model(x))
        run(x)
    assert [sorted(names) for names in rebound] == [["0.bias", "0.weight", "2.bias"], ["0.weight", "2.bias"], []]
    assert graphs == ["inference"] * 4


def test_what_changed_once_is_read_at_every_call(compiled: Compile, graphs: list[str], rebound: list[list[str]]) -> None:
    model: Any
    model, x = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 2)).eval(), torch.randn(5, 3)
    run = compiled(model)
    with torch.no_grad():
        torch.testing.assert_close(run(x), model(x))
        model[1].running_mean.add_(1)
        model[2].weight.data.mul_(2)
        torch.testing.assert_close(run(x), model(x))
        assert graphs == ["inference"] * 2
        rebound.clear()
        for _ in range(3):
            model[1].running_mean.numpy()[...] += 0.5
            model[2].weight = nn.Parameter(model[2].weight * 0.75)
            torch.testing.assert_close(run(x), model(x))
    assert graphs == ["inference"] * 2
    assert all("2.weight" not in names and "1.running_mean" not in names for names in rebound)


def test_what_can_only_be_constant_is_compiled_again_at_each_change(compiled: Compile, monkeypatch: pytest.MonkeyPatch) -> None:
    model, x = nn.Linear(3, 4), torch.randn(5, 3)
    original, held = shared.CompiledGraph, []

    def refusing(job: Any, *args: Any) -> Any:
        held.append([p.held for p in job.placeholders].count(True))
        if held[-1] < 2:
            raise Error("E0202", "a weight that is no constant")
        return original(job, *args)

    monkeypatch.setattr(shared, "CompiledGraph", refusing)
    monkeypatch.setattr(graph, "CompiledGraph", refusing)
    run = compiled(model)
    with torch.no_grad():
        for _ in range(3):
            torch.testing.assert_close(run(x), model(x))
            model.weight.add_(1)
    assert held == [2, 1, 2, 2]


def test_what_is_derived_from_several_follows_each(compiled: Compile, rebound: list[list[str]]) -> None:
    model: Any
    model, x = nn.Sequential(nn.Conv2d(2, 3, 3, bias=False), nn.BatchNorm2d(3), nn.Conv2d(3, 2, 1)).eval(), torch.randn(1, 2, 5, 5)
    run = compiled(model)
    with torch.no_grad():
        torch.testing.assert_close(run(x), model(x))
        rebound.clear()
        model[1].running_mean.add_(0.5)
        torch.testing.assert_close(run(x), model(x))
        model[1].weight.mul_(3)
        torch.testing.assert_close(run(x), model(x))
    assert len(rebound) == 2
    assert "1.running_mean" not in rebound[0]
    assert "1.weight" not in rebound[1]


class Classifier(nn.Module):
    """With a running mean, and parameters of one shape."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.norm, self.second, self.head = nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Linear(4, 4), nn.Linear(4, 2)
        self.register_buffer("scale", torch.linspace(0.5, 1, 4))

    def forward(self, x: Any) -> Any:
        return self.head(torch.tanh(self.second(torch.relu(self.norm(self.first(x)))) * self.scale))


def twins(model: nn.Module, run: Any, twin: nn.Module) -> list[tuple[Any, nn.Module]]:
    """What is called, and the model that it is of: ours, and PyTorch's."""
    return [(run, model), (twin, twin)]


@pytest.mark.parametrize("mode", ["training", "forward", "no_grad"])
def test_every_way_to_update_is_seen(compiled: Compile, mode: str) -> None:
    """Outputs, losses and gradients are those of PyTorch before and after each update, twice."""
    model = Classifier().train(mode == "training")
    twin = copy.deepcopy(model)
    x, y = torch.randn(6, 4), torch.randn(6, 2)
    pairs = twins(model, compiled(model), twin)
    before = torch.zeros(0)
    for way in [None, *(way for way in UPDATES for _ in range(2))]:
        found = []
        for run, of in pairs:
            if way is not None:
                UPDATES[way](of)
            of.zero_grad()
            with torch.set_grad_enabled(mode != "no_grad"):
                outputs = run(x)
                loss = F.mse_loss(outputs, y)
            F.mse_loss(outputs if mode == "training" else of(x), y).backward()
            found.append([outputs.detach(), loss.detach(), *[p.grad.clone() for p in of.parameters()]])
        torch.testing.assert_close(*found, rtol=1e-4, atol=1e-5, msg=lambda text, way=way: f"{way}: {text}")
        assert before.shape != found[0][0].shape or not torch.equal(before, found[0][0]), way
        before = found[0][0].clone()


def test_collectives_into_parameters_are_seen(compiled: Compile, tmp_path: Path) -> None:
    """A group of one: what it gathers goes into the parameter's memory, and no version counts it."""
    torch.distributed.init_process_group("gloo", init_method=f"file://{tmp_path / 'group'}", rank=0, world_size=1)
    try:
        model: Any
        model, x = Classifier().eval(), torch.randn(6, 4)
        run = compiled(model)
        for step in range(3):
            with torch.no_grad():
                torch.testing.assert_close(run(x), model(x))
            torch.testing.assert_close(run(x), model(x))
            for p in model.parameters():
                torch.distributed.all_gather([p.data], p.detach() * 0.5 + step)
    finally:
        torch.distributed.destroy_process_group()


def test_buffers_that_a_training_graph_does_not_change_are_compared(compiled: Compile) -> None:
    model, twin = Classifier(), Classifier()
    twin.load_state_dict(model.state_dict())
    run, x = compiled(model), torch.randn(6, 4)
    for _ in range(3):
        found = []
        of: Any
        for call, of in twins(model, run, twin):
            of.zero_grad()
            call(x).square().sum().backward()
            found.append([p.grad.clone() for p in of.parameters()])
            of.scale.numpy()[...] *= 1.5
        torch.testing.assert_close(*found, rtol=1e-5, atol=1e-6)


def test_frozen_parameters_stay_prepared_in_training(compiled: Compile, rebound: list[list[str]]) -> None:
    model: Any
    model, x = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 2)), torch.randn(3, 4)
    model[0].requires_grad_(False)
    run = compiled(model)
    for _ in range(3):
        model.zero_grad()
        run(x).sum().backward()
        torch.testing.assert_close(model[1].bias.grad, torch.full((2,), 3.0))
        torch.testing.assert_close(run(x), model(x))
        model[1].weight.data.add_(1)
    assert [sorted(names) for names in rebound if names] == [["0.bias", "0.weight"]]
    model[0].weight.data.add_(1)
    torch.testing.assert_close(run(x), model(x))


def test_values_are_compared_bit_by_bit(compiled: Compile) -> None:
    """NaN is NaN, which costs no session; and -0 is not 0."""
    scale = nn.Parameter(torch.tensor([float("nan"), 0.0]))
    model = nn.ParameterList([scale])
    run, x = compiled(lambda x: x / model[0]), torch.ones(2)
    with torch.no_grad(), pytest.MonkeyPatch.context() as patch:
        assert run(x)[1] == torch.inf
        patch.setattr(binding, "_with_values", None)
        assert run(x)[1] == torch.inf
        patch.undo()
        scale.data[1] = -0.0
        assert run(x)[1] == -torch.inf


def test_what_a_session_holds_is_not_the_models_memory(compiled: Compile) -> None:
    """Else a write would change the part of a session that is used as it lies, before the others."""
    model = nn.Linear(4, 4, bias=False)
    sessions: list[Any] = []
    original = binding.Binding.executor

    def kept(self: Any, given: Any) -> Any:
        sessions.append(original(self, given))
        return sessions[-1]

    with pytest.MonkeyPatch.context() as patch, torch.no_grad():
        patch.setattr(binding.Binding, "executor", kept)
        compiled(lambda x: x * model.weight)(torch.ones(4, 4))
    program = sessions[0].program
    (key,) = [v.key for v in program.description.parameters.values()]
    address, _ = program.constants[key].__array_interface__["data"]
    assert address != model.weight.data_ptr()


def test_tied_parameters(compiled: Compile) -> None:
    class Tied(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a, self.b = nn.Linear(3, 3), nn.Linear(3, 3)
            self.b.weight = self.a.weight

        def forward(self, x: Any) -> Any:
            return self.b(self.a(x))

    model: Any
    model, x = Tied(), torch.randn(2, 3)
    run = compiled(model)
    with torch.no_grad():
        torch.testing.assert_close(run(x), model(x))
        model.a.weight.mul_(2)
        torch.testing.assert_close(run(x), model(x))
        model.b.weight = nn.Parameter(torch.randn(3, 3))
        torch.testing.assert_close(run(x), model(x))


def test_tensors_without_versions(compiled: Compile) -> None:
    with torch.inference_mode():
        model, x = nn.Linear(3, 2), torch.randn(2, 3)
        run = compiled(model)
        torch.testing.assert_close(run(x), model(x))
        model.weight.add_(1)
        torch.testing.assert_close(run(x), model(x))


def test_a_value_that_went_into_the_program_is_compiled_again_when_it_changes(compiled: Compile, graphs: list[str]) -> None:
    class Powers(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("order", torch.tensor([2, 0, 1]))

        def forward(self, x: Any) -> Any:
            return x[:, self.order] + 1

    model: Any
    model, x = Powers(), torch.randn(2, 3)
    run = compiled(model)
    torch.testing.assert_close(run(x), model(x))
    model.order.copy_(torch.tensor([1, 1, 0]))
    torch.testing.assert_close(run(x), model(x))
    run(x)
    assert graphs in (["inference"], ["inference"] * 2)


def test_statistics_that_a_graph_changes_are_its_inputs(compiled: Compile, rebound: list[list[str]]) -> None:
    model, twin = nn.BatchNorm1d(3), nn.BatchNorm1d(3)
    run = compiled(model)
    with torch.no_grad():
        for _ in range(3):
            x = torch.randn(4, 3)
            torch.testing.assert_close(run(x), twin(x))
    assert len(rebound) == 1
    torch.testing.assert_close(model.running_var, twin.running_var)
    assert int(model.num_batches_tracked) == 3


def test_modules_of_one_class_share_what_is_compiled(compiled: Compile, graphs: list[str], rebound: list[list[str]]) -> None:
    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = nn.Linear(4, 4)
            self.register_buffer("order", torch.tensor([3, 1, 2, 0]))

        def forward(self, x: Any) -> Any:
            return self.inner(x)[:, self.order]

    blocks, x = [Block() for _ in range(3)], torch.randn(2, 4)
    runs = [compiled(block) for block in blocks]
    run: Any = None
    block: Any = None
    with torch.no_grad():
        for _ in range(3):
            for run, block in zip(runs, blocks, strict=True):
                torch.testing.assert_close(run(x), block(x))
    assert (graphs, len(rebound)) == (["inference"], 3)
    weights = [weakref.ref(block.inner.weight) for block in blocks]
    del blocks, runs, run, block
    gc.collect()
    assert [weight() for weight in weights] == [None] * 3


def test_sessions_go_with_the_model(compiled: Compile) -> None:
    model = nn.Linear(3, 2)
    alive: list[weakref.ref[Any]] = []
    original = binding.Binding.__init__

    def counted(self: Any, *args: Any) -> None:
        original(self, *args)
        alive.append(weakref.ref(self))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(binding.Binding, "__init__", counted)
        compiled(model)(torch.ones(1, 3)).sum().backward()
    weight = weakref.ref(model.weight)
    assert len(alive) == 2
    del model
    torch._dynamo.reset()
    gc.collect()
    assert [reference() for reference in (*alive, weight)] == [None] * 3
