"""Captured graphs: right while they are captured, and right at each replay, on the same memory."""

from __future__ import annotations

import copy
from collections.abc import Callable
from inspect import Parameter, signature
from typing import Any

import pytest

import ttc
from ttc.dialects.core.errors import Error

torch: Any = pytest.importorskip("torch", reason="work of PyTorch is captured")
nn = torch.nn


def captured(work: Callable[[], Any], **options: Any) -> tuple[Any, Any]:
    """A graph of the work, and what the work gave while it was captured."""
    found = ttc.graphs.Graph(target="host", **options)
    with ttc.graphs.graph(found):
        result = work()
    return found, result


class Network(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv, self.norm, self.drop = nn.Conv2d(2, 4, 3, bias=False), nn.BatchNorm2d(4), nn.Dropout(0.0)
        self.head = nn.Linear(4 * 16, 3)

    def forward(self, x: Any) -> Any:
        return self.head(self.drop(self.norm(self.conv(x)).relu()).flatten(1))


OPTIMIZERS = {
    "sgd": lambda p: torch.optim.SGD(p, 0.05, momentum=0.9),
    "adam": lambda p: torch.optim.Adam(p, 0.01),
    "adamw": lambda p: torch.optim.AdamW(p, 0.01),
    "rmsprop": lambda p: torch.optim.RMSprop(p, 0.01),
}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_whole_training_step(name: str) -> None:
    model = Network()
    reference = copy.deepcopy(model)
    loss_of = nn.CrossEntropyLoss()
    optimizers = [OPTIMIZERS[name](m.parameters()) for m in (model, reference)]
    batches = [(torch.randn(5, 2, 6, 6), torch.randint(0, 3, (5,))) for _ in range(5)]

    def step(m: Any, optimizer: Any, x: Any, y: Any) -> Any:
        optimizer.zero_grad(set_to_none=True)
        loss = loss_of(m(x), y)
        loss.backward()
        optimizer.step()
        return loss

    for m, optimizer in zip((model, reference), optimizers, strict=True):
        step(m, optimizer, *batches[0])  # optimizers make their states in the first step
    x, y = (value.clone() for value in batches[1])
    graph, loss = captured(lambda: step(model, optimizers[0], x, y))
    addresses = [p.data_ptr() for p in model.parameters()], [p.grad.data_ptr() for p in model.parameters()], loss.data_ptr()
    assert loss.item() == step(reference, optimizers[1], *batches[1]).item()
    for given in batches[2:]:
        x.copy_(given[0])
        y.copy_(given[1])
        graph.replay()
        assert loss.item() == pytest.approx(step(reference, optimizers[1], *given).item(), rel=1e-5)
    assert addresses == ([p.data_ptr() for p in model.parameters()], [p.grad.data_ptr() for p in model.parameters()], loss.data_ptr())
    for mine, theirs in zip(model.parameters(), reference.parameters(), strict=True):
        torch.testing.assert_close(mine, theirs, rtol=1e-4, atol=1e-5)
        torch.testing.assert_close(mine.grad, theirs.grad, rtol=1e-3, atol=1e-5)
    for (label, mine), (_, theirs) in zip(model.named_buffers(), reference.named_buffers(), strict=True):
        torch.testing.assert_close(mine, theirs, msg=label)


def test_views_and_writes() -> None:
    x, total = torch.arange(6.0), torch.zeros(6)

    def work() -> Any:
        rows = x.view(2, 3)
        rows[0].mul_(2)
        total.add_(x)
        return rows.t() + 1, x[3:]

    expected_x, expected_total = x.clone(), total.clone()
    graph, (transposed, tail) = captured(work)
    for run in range(3):
        if run:
            graph.replay()
        expected_x[:3] *= 2
        expected_total += expected_x
        assert x.tolist() == expected_x.tolist()
        assert total.tolist() == expected_total.tolist()
        assert transposed.tolist() == (expected_x.view(2, 3).t() + 1).tolist()
        assert tail.tolist() == expected_x[3:].tolist()


def test_random_numbers_are_new_at_each_replay() -> None:
    x = torch.ones(64)
    graph, y = captured(lambda: nn.functional.dropout(x, 0.5))
    first = y.clone()
    assert set(first.tolist()) == {0.0, 2.0}
    torch.manual_seed(3)
    graph.replay()
    again = y.clone()
    torch.manual_seed(3)
    graph.replay()
    assert y.tolist() == again.tolist() != first.tolist()


def test_compiling_draws_no_random_number() -> None:
    x = torch.ones(8)
    state = torch.get_rng_state()
    torch.rand(8)
    after = torch.get_rng_state()
    torch.set_rng_state(state)
    captured(lambda: x * torch.rand(8))
    assert torch.equal(torch.get_rng_state(), after)


def test_weights_that_change_outside_are_read_at_each_replay() -> None:
    model, x = nn.Linear(4, 2), torch.randn(3, 4)
    with torch.no_grad():
        graph, y = captured(lambda: model(x))
        for _ in range(3):
            model.weight.add_(1)
            graph.replay()
            torch.testing.assert_close(y, model(x))


def test_a_compiled_model_inside() -> None:
    model, x = nn.Linear(4, 2), torch.randn(3, 4)
    compiled = torch.compile(model, backend="ttc", options={"target": "host"})
    with torch.no_grad():
        compiled(x)
        graph, y = captured(lambda: compiled(x) * 2)
        x.copy_(torch.randn(3, 4))
        graph.replay()
        torch.testing.assert_close(y, model(x) * 2)
    torch._dynamo.reset()


def test_graphs_of_one_form_are_compiled_once() -> None:
    """Also of graphs that torch.compile has found: there is one cache."""
    x = torch.randn(3, 4)

    def work(x: Any) -> Any:
        return (x * 2).relu()

    torch._dynamo.reset()
    with ttc.metrics.scope("two") as m:
        torch.compile(work, backend="ttc", options={"target": "host", "fallback": False})(x)
        graphs = [captured(lambda: work(x)) for _ in range(2)]
        for graph, y in graphs:
            graph.replay()
            torch.testing.assert_close(y, work(x))
    torch._dynamo.reset()
    assert m.value("compilations") == 1


def test_a_graph_without_results() -> None:
    graph, _ = captured(lambda: None)
    graph.replay()
    assert graph.pool()[0] == 0


REFUSED = {
    "item": (lambda x: x.sum().item(), "item, bool, float, int"),
    "bool": (lambda x: 1 if x.sum() > 0 else 2, "item, bool, float, int"),
    "tolist": (lambda x: x.tolist(), "tolist"),
    "numpy": (lambda x: x.numpy(), "numpy"),
    "mask": (lambda x: x[x > 0], "by a mask"),
    "nonzero": (lambda x: x.nonzero(), "aten::nonzero gives as many"),
    "unique": (lambda x: x.unique(), "as many results as the data says"),
    "resize": (lambda x: x.resize_(2), "other memory"),
    "sparse": (lambda x: x.to_sparse(), "gives as many results|no plain one"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_depends_on_data_is_named(name: str) -> None:
    work, said = REFUSED[name]
    graph = ttc.graphs.Graph(target="host")
    x = torch.ones(4)
    with pytest.raises(Error, match=said) as caught, ttc.graphs.graph(graph):
        work(x)
    assert caught.value.code == "E0814"
    assert str(caught.value.where).partition(":")[0] == __file__
    with ttc.graphs.graph(graph):
        y = x + 1
    x.zero_()
    graph.replay()
    assert y.tolist() == [1, 1, 1, 1]


def test_times_at_which_nothing_can_be_captured() -> None:
    graph, _ = captured(lambda: torch.ones(2) + 1)
    with pytest.raises(Error, match="holds work already"):
        graph.capture_begin()
    graph.reset()
    with pytest.raises(Error, match="nothing was captured"):
        graph.replay()
    with pytest.raises(Error, match="nothing is being captured"):
        graph.capture_end()
    graph.capture_begin()
    with pytest.raises(Error, match="within the capture"):
        ttc.graphs.Graph(target="host").capture_begin()
    graph.reset()
    assert not torch.compiler.is_compiling()


def test_what_cannot_be_compiled_is_an_error_unless_asked() -> None:
    x = torch.eye(3)
    with pytest.raises(Error) as caught:
        captured(lambda: torch.linalg.eigvals(x).abs())
    assert caught.value.code == "E0202"
    with pytest.warns(UserWarning, match="PyTorch runs"):
        graph, y = captured(lambda: torch.linalg.eigvals(x).abs(), fallback=True)
    x.mul_(3)
    graph.replay()
    assert y.tolist() == [3, 3, 3]


@pytest.mark.parametrize("name", ["graph", "make_graphed_callables"])
def test_arguments_are_those_of_torch_cuda(name: str) -> None:
    ours, theirs = (signature(getattr(module, name)).parameters.values() for module in (ttc.graphs, torch.cuda))
    names = [p.name for p in ours if p.kind is not Parameter.VAR_KEYWORD]
    assert names == [p.name for p in theirs][: len(names)]
