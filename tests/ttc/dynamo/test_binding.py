"""Parameters are those of the model, as they are when a graph runs."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="PyTorch has no wheel for this Python")

from torch import nn  # noqa: E402

from ttc.dynamo import binding  # noqa: E402

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
    assert rebound == [["2.weight"], ["0.bias"], ["0.bias", "0.weight", "2.bias", "2.weight"]]
    assert graphs == ["inference"]


def test_what_is_derived_from_several_follows_each(compiled: Compile, rebound: list[list[str]]) -> None:
    model, x = nn.Sequential(nn.Conv2d(2, 3, 3, bias=False), nn.BatchNorm2d(3), nn.Conv2d(3, 2, 1)).eval(), torch.randn(1, 2, 5, 5)
    run = compiled(model)
    with torch.no_grad():
        torch.testing.assert_close(run(x), model(x))
        rebound.clear()
        model[1].running_mean.add_(0.5)
        torch.testing.assert_close(run(x), model(x))
        model[1].weight.mul_(3)
        torch.testing.assert_close(run(x), model(x))
    together = [f"1.{name}" for name in ("bias", "running_mean", "running_var", "weight")]
    assert all(set(names) <= {"0.weight", *together} for names in rebound)
    assert len(rebound) == 2


def test_parameters_share_their_memory(compiled: Compile) -> None:
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
    assert address == model.weight.data_ptr()


def test_tied_parameters(compiled: Compile) -> None:
    class Tied(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a, self.b = nn.Linear(3, 3), nn.Linear(3, 3)
            self.b.weight = self.a.weight

        def forward(self, x: Any) -> Any:
            return self.b(self.a(x))

    model, x = Tied(), torch.randn(2, 3)
    run = compiled(model)
    with torch.no_grad():
        torch.testing.assert_close(run(x), model(x))
        model.a.weight.mul_(2)
        torch.testing.assert_close(run(x), model(x))
        model.b.weight = nn.Parameter(torch.randn(3, 3))
        torch.testing.assert_close(run(x), model(x))


def test_tensors_without_versions_are_bound_at_each_call(compiled: Compile) -> None:
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
