"""Graphs by signature: what is one, what goes when there is no room, and what the metrics say."""

from __future__ import annotations

import copy
import warnings
from typing import Any

import pytest

import ttc
from ttc.dialects.core.errors import Error, TtcWarning

torch: Any = pytest.importorskip("torch", reason="work of PyTorch is captured")
nn = torch.nn


class Scaled(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 2)

    def forward(self, x: Any, scale: float = 1.0) -> Any:
        return self.linear(x) * scale


def rows(count: int) -> Any:
    return torch.randn(count, 4)


@pytest.mark.parametrize(
    ("policy", "misses", "hits", "evictions"),
    [("lru", 4, 2, 2), ("lfu", 3, 3, 1), ("first", 2, 3, 0)],
)
def test_policies(policy: Any, misses: int, hits: int, evictions: int) -> None:
    """Rows 1, 1, 2, 3, 1, 1 with room for two: lru drops 1 for 3 and 2 for 1; lfu drops 2, first runs 3 eagerly."""
    model = Scaled()
    reference = copy.deepcopy(model)
    ttc.graphs.cache(model, 2, policy, target="host")
    with ttc.metrics.scope(policy) as m, torch.no_grad():
        for count in (1, 1, 2, 3, 1, 1):
            x = rows(count)
            if policy == "first" and count == 3:
                with pytest.warns(TtcWarning, match="more than 2 signatures"):
                    found = model(x)
            else:
                found = model(x)
            torch.testing.assert_close(found, reference(x))
    replays = misses + hits
    assert m.value("graph_evictions") == evictions
    assert m.value("graph_cache_misses") == 2 * misses, "by signature, and each new graph when it is compiled"
    assert m.value("graph_cache_hits") == hits + replays, "by signature, and each graph as it is replayed"


def test_what_a_signature_is() -> None:
    model: Any = Scaled()
    cached = ttc.graphs.cache(model, None, target="host")
    x = rows(3)
    calls = [
        lambda: cached(x),
        lambda: cached(x, 2.0),
        lambda: cached(x, scale=2.0),
        lambda: cached(x.double().float().requires_grad_()),
        lambda: cached(rows(4)),
    ]
    for number, call in enumerate(calls, 1):
        call()
        call()
        assert len(model.forward._graphs) == number
    with torch.no_grad():
        cached(x)
    assert len(model.forward._graphs) == 6
    model.eval()
    cached(x)
    assert len(model.forward._graphs) == 7


def test_training_through_a_cache() -> None:
    model = Scaled()
    reference = copy.deepcopy(model)
    ttc.graphs.cache(model, target="host")
    optimizers = [torch.optim.AdamW(m.parameters(), 0.05) for m in (model, reference)]
    for count in (3, 4, 3):
        x = rows(count)
        for m, optimizer in zip((model, reference), optimizers, strict=True):
            optimizer.zero_grad()
            m(x).square().mean().backward()
            optimizer.step()
    for mine, theirs in zip(model.parameters(), reference.parameters(), strict=True):
        torch.testing.assert_close(mine, theirs, rtol=1e-4, atol=1e-5)


def test_dropped_graphs_come_back_without_compiling() -> None:
    model: Any = ttc.graphs.cache(Scaled(), 2, target="host")
    with torch.no_grad():
        for count in (1, 2):
            model(rows(count))
        with ttc.metrics.scope("again") as m:
            model(rows(1))
            model(rows(2))
    assert (m.value("compilations"), m.value("runs")) == (0, 2)


def test_inference_without_gradients() -> None:
    model = Scaled()
    reference = copy.deepcopy(model)
    wrapped = ttc.graphs.wrap(model, target="host")
    x = rows(3)
    found = wrapped(x)
    assert not found.requires_grad
    torch.testing.assert_close(found, reference(x))
    with torch.no_grad():
        model.linear.weight.add_(1)
        reference.linear.weight.add_(1)
    torch.testing.assert_close(wrapped(x), reference(x))


class Twice(nn.Module):
    """Gives a buffer of its own and a view of its input beside what it makes."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("held", torch.ones(3))

    def forward(self, x: Any) -> Any:
        y = x.exp()
        return y, y[1:], x[:1], self.held


@pytest.mark.parametrize("released", [False, True])
def test_memory_of_results_is_given_back(released: bool) -> None:
    model: Any = ttc.graphs.wrap(Twice(), release_outputs=released, target="host")
    for number in range(3):
        x = rows(4) + number
        y, part, shown, held = model(x)
        torch.testing.assert_close(y, x.exp())
        torch.testing.assert_close(part, x.exp()[1:])
        assert torch.equal(shown, x[:1])
        assert held.tolist() == [1.0] * 3 == model.held.tolist()
        (graphed,) = model.forward.__closure__[0].cell_contents._graphs.values()
        static = [result.untyped_storage().nbytes() for result in graphed._results]
        assert static == [0 if released else 64] * 2 + [64, 12]
        assert not y.requires_grad


def test_masks_between_two_models() -> None:
    """What one graph gives is chosen by its values, and the rows that are left go through another, which is captured for each number."""
    torch.manual_seed(4)
    first, last = nn.Sequential(nn.Linear(4, 4), nn.Tanh()), nn.Linear(4, 2)
    plain = copy.deepcopy((first, last))
    graphed = ttc.graphs.make_graphed_callables(first, (rows(6),), target="host"), ttc.graphs.cache(last, None, target="host")
    inputs = [rows(6) for _ in range(8)]

    def trained(before: Any, after: Any, x: Any) -> Any:
        y = before(x)
        z = after(y[y[:, 0] > 0])
        z.square().sum().backward()
        return z

    for x in inputs:
        torch.testing.assert_close(trained(*graphed, x), trained(*plain, x))
    with ttc.metrics.scope("warm") as m:
        for x in inputs:
            trained(*graphed, x)
            trained(*plain, x)
    assert m.value("compilations") == 0
    for mine, theirs in zip([*first.parameters(), *last.parameters()], [p for module in plain for p in module.parameters()], strict=True):
        torch.testing.assert_close(mine.grad, theirs.grad, rtol=1e-4, atol=1e-5)


class Nested(nn.Module):
    """Calls itself, through what a cache puts in place of its forward pass."""

    def forward(self, x: Any, times: int = 2) -> Any:
        return self(x + 1, times - 1) * 2 if times else x


def test_a_model_that_calls_itself() -> None:
    model: Any = ttc.graphs.cache(Nested(), target="host")
    x = rows(3)
    for _ in range(2):
        torch.testing.assert_close(model(x), (x + 2) * 4)
    assert len(model.forward._graphs) == 1


def test_a_cached_model_inside_another_graph() -> None:
    inner: Any = ttc.graphs.cache(nn.Linear(4, 2), target="host")
    outer = ttc.graphs.make_graphed_callables(lambda x: inner(x) + 1, (rows(3),), num_warmup_iters=0, target="host")
    x = rows(3)
    torch.testing.assert_close(outer(x), nn.functional.linear(x, inner.weight, inner.bias) + 1)
    assert len(inner.forward._graphs) == 0


@pytest.mark.parametrize("policy", ["lru", "lfu", "first"])
def test_signatures_without_a_graph_are_forgotten(policy: Any) -> None:
    model: Any = ttc.graphs.cache(Scaled(), 2, policy, target="host")
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore", TtcWarning)
        for scale in range(4):
            model(rows(1), float(scale))
    assert len(model.forward._graphs) == len(model.forward._uses) == 2


def test_bad_arguments() -> None:
    with pytest.raises(Error, match="no policy 'lur'") as caught:
        ttc.graphs.cache(Scaled(), 2, "lur")
    assert caught.value.hint == "did you mean 'lru'?"
    with pytest.raises(Error, match="keeps none"):
        ttc.graphs.cache(Scaled(), 0)
    with pytest.raises(Error, match="no option 'tarjet'"):
        ttc.graphs.cache(Scaled(), tarjet="host")(rows(1))
    with pytest.raises(Error, match="tells no signature: set") as caught:
        ttc.graphs.cache(Scaled(), target="host")(rows(1), {1})
    assert caught.value.code == "E0814"
