"""Graphed callables: gradients and results are eager PyTorch's."""

from __future__ import annotations

import copy
from typing import Any

import pytest

import ttc
from ttc.dialects.core.errors import Error

torch: Any = pytest.importorskip("torch", reason="work of PyTorch is captured")
nn = torch.nn
HOST = {"target": "host"}


def network() -> Any:
    return nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 3))


def test_training_equals_eager() -> None:
    model = network()
    reference = copy.deepcopy(model)
    sample = torch.randn(5, 6, requires_grad=True)
    graphed = ttc.graphs.make_graphed_callables(model, (sample,), **HOST)
    assert graphed is model
    for (label, mine), (_, theirs) in zip(model.state_dict().items(), reference.state_dict().items(), strict=True):
        torch.testing.assert_close(mine, theirs, msg=f"{label} was changed by the capture")
    optimizers = [torch.optim.SGD(m.parameters(), 0.1, momentum=0.9) for m in (model, reference)]
    for _ in range(3):
        x = torch.randn(5, 6, requires_grad=True)
        inputs = [x, x.detach().clone().requires_grad_()]
        for m, optimizer, given in zip((graphed, reference), optimizers, inputs, strict=True):
            optimizer.zero_grad()
            m(given).square().sum().backward()
        torch.testing.assert_close(inputs[0].grad, inputs[1].grad, rtol=1e-4, atol=1e-5)
        for mine, theirs in zip(model.parameters(), reference.parameters(), strict=True):
            torch.testing.assert_close(mine.grad, theirs.grad, rtol=1e-4, atol=1e-5)
        for optimizer in optimizers:
            optimizer.step()
    for mine, theirs in zip(model.state_dict().values(), reference.state_dict().values(), strict=True):
        torch.testing.assert_close(mine, theirs, rtol=1e-4, atol=1e-5)


def test_gradients_add_up() -> None:
    model = nn.Linear(4, 2)
    reference = copy.deepcopy(model)
    graphed = ttc.graphs.make_graphed_callables(model, (torch.randn(3, 4),), **HOST)
    for _ in range(2):
        x = torch.randn(3, 4)
        graphed(x).sum().backward()
        reference(x).sum().backward()
    torch.testing.assert_close(model.weight.grad, reference.weight.grad)


def test_in_another_mode_the_module_runs_as_it_is() -> None:
    model = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5))
    ttc.graphs.make_graphed_callables(model, (torch.randn(3, 4),), **HOST)
    x = torch.randn(7, 4)
    assert model.eval()(x).shape == (7, 4)
    with pytest.raises(Error, match="other arguments"):
        model.train()(x)


def test_functions_with_nested_arguments() -> None:
    def function(pair: dict[str, Any], scale: float) -> dict[str, Any]:
        return {"sum": pair["a"] * scale + pair["b"], "a": pair["a"].exp()}

    sample = {"a": torch.randn(3, requires_grad=True), "b": torch.randn(3)}
    graphed = ttc.graphs.make_graphed_callables(function, (sample, 2.0), **HOST)
    a, b = torch.randn(3, requires_grad=True), torch.randn(3)
    found = graphed({"a": a, "b": b}, 2.0)
    torch.testing.assert_close(found, function({"a": a, "b": b}, 2.0))
    (gradient,) = torch.autograd.grad(found["sum"].sum() + found["a"].sum(), a)
    torch.testing.assert_close(gradient, 2 + a.exp())
    with pytest.raises(Error, match="other arguments") as caught:
        graphed({"a": a, "b": b}, 3.0)
    assert caught.value.code == "E0801"


def test_several_callables_and_unused_inputs() -> None:
    first, second = nn.Linear(4, 4), nn.Linear(4, 2)
    x = torch.randn(3, 4)
    expected = second(first(x).relu())
    one, two = ttc.graphs.make_graphed_callables((first, second), ((x,), (x.clone().requires_grad_(),)), **HOST)
    torch.testing.assert_close(two(one(x).relu()), expected)
    with pytest.raises(Error, match="sample_args for 1"):
        ttc.graphs.make_graphed_callables((first, second), ((x,),), **HOST)

    def ignoring(a: Any, b: Any) -> Any:
        del b
        return a * 2

    pair = (torch.randn(3, requires_grad=True), torch.randn(3, requires_grad=True))
    with pytest.raises(RuntimeError, match="to not have been used"):
        ttc.graphs.make_graphed_callables(ignoring, pair, **HOST)
    graphed = ttc.graphs.make_graphed_callables(ignoring, pair, allow_unused_input=True, **HOST)
    graphed(*pair).sum().backward()
    assert (pair[0].grad.tolist(), pair[1].grad) == ([2, 2, 2], None)


def test_a_late_backward_pass_is_refused() -> None:
    graphed = ttc.graphs.make_graphed_callables(nn.Linear(4, 2), (torch.randn(3, 4),), **HOST)
    first = graphed(torch.randn(3, 4))
    graphed(torch.randn(3, 4))
    with pytest.raises(Error, match="after another call") as caught:
        first.sum().backward()
    assert caught.value.code == "E0814"


def test_a_capture_that_fails_changes_nothing() -> None:
    class Reading(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm = nn.BatchNorm1d(4)

        def forward(self, x: Any) -> Any:
            y = self.norm(x)
            return y if y.sum().item() > 0 else -y

    model = Reading()
    before, numbers = copy.deepcopy(model.state_dict()), torch.random.get_rng_state()
    with pytest.raises(Error, match="reads a number from a tensor") as caught:
        ttc.graphs.make_graphed_callables(model, (torch.arange(12.0).reshape(3, 4),), **HOST)
    assert caught.value.code == "E0814"
    for name, value in model.state_dict().items():
        assert torch.equal(value, before[name]), name
    assert torch.equal(torch.random.get_rng_state(), numbers)


def test_results_are_the_callers_own() -> None:
    graphed = ttc.graphs.make_graphed_callables(lambda x: x + 1, (torch.zeros(2),), **HOST)
    first = graphed(torch.zeros(2))
    graphed(torch.ones(2))
    assert first.tolist() == [1, 1]
