"""Outputs of a graph that show one piece of memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import fx
from torch.fx.experimental.proxy_tensor import make_fx

from ttc.dynamo.view_outputs import shown_bases, with_outputs


def traced(function: Callable[..., Any], *shapes: tuple[int, ...]) -> fx.GraphModule:
    return make_fx(function, tracing_mode="fake")(*[torch.ones(shape) for shape in shapes])


def outputs(graph: fx.GraphModule) -> list[Any]:
    (end,) = graph.graph.find_nodes(op="output")
    return list(end.args[0])


def names(graph: fx.GraphModule) -> dict[str, str]:
    return {node.name: base.name for node, base in shown_bases(outputs(graph)).items()}


def test_views_show_what_is_computed() -> None:
    def parts(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        y = torch.ops.aten.exp.default(x)
        a, b = torch.ops.aten.split.Tensor(y, 2, 1)
        return y, torch.ops.aten.view.default(y, [24]), torch.ops.aten.permute.default(a, [1, 0]), b

    graph = traced(parts, (6, 4))
    assert set(names(graph).values()) == {"exp"}
    assert len(names(graph)) == 3


def test_inputs_and_small_parts_are_left_alone() -> None:
    def parts(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        y = torch.ops.aten.exp.default(x)
        return torch.ops.aten.view.default(x, [24]), torch.ops.aten.select.int(y, 0, 1), torch.ops.aten.sin.default(y)

    assert names(traced(parts, (6, 4))) == {}


def test_other_outputs_of_the_same_graph() -> None:
    graph = traced(lambda x: (torch.ops.aten.sin.default(torch.ops.aten.exp.default(x)),), (2, 3))
    exp = next(node for node in graph.graph.nodes if node.name == "exp")
    changed = with_outputs(graph, [exp, None])
    x = torch.linspace(0, 1, 6).reshape(2, 3)
    found = changed(x)
    assert found[1] is None
    assert torch.equal(found[0], x.exp())
    assert [node.meta["val"].shape for node in outputs(changed)[:1]] == [(2, 3)]


def test_what_is_kept_for_gradients_lies_in_memory_once(monkeypatch: Any) -> None:
    from ttc.dynamo import session

    known: list[list[Any]] = []
    call = session.CompiledGraph.__call__

    def told(self: session.CompiledGraph, given: Any) -> list[Any]:
        known.append(call(self, given))
        return known[-1]

    monkeypatch.setattr(session.CompiledGraph, "__call__", told)
    generator = torch.Generator().manual_seed(3)
    layer = torch.nn.Linear(8, 24)
    x, w = torch.randn(2, 5, 8, generator=generator), torch.randn(2, 5, 8, generator=generator)

    def loss(x: torch.Tensor) -> torch.Tensor:
        q, k, v = (part.unsqueeze(1) for part in layer(x).chunk(3, -1))
        return (torch.nn.functional.scaled_dot_product_attention(q, k, v) * w).sum()

    expected = loss(x)
    expected.backward()
    wanted = layer.weight.grad.clone()
    layer.zero_grad()
    torch.compile(loss, backend="ttc", options={"target": "host", "threads": 1, "fallback": False})(x).backward()
    torch.testing.assert_close(layer.weight.grad, wanted)
    product = [y.untyped_storage().data_ptr() for y in known[0] if isinstance(y, torch.Tensor) and y.untyped_storage().nbytes() == 960]
    assert len(product) == 1
