"""Random numbers of a graph: PyTorch draws them before the graph runs, so that they are those of its own generator, in its order."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import fx

from ttc.dialects.core.records import record
from ttc.importers.common.unsupported import Misses

aten = torch.ops.aten

REWRITTEN = frozenset((aten.native_dropout.default,))
"""Ops that must reach `take_out` as they are."""
_DRAWN = frozenset(
    (
        *("aten.rand.default", "aten.randn.default", "aten.randint.default", "aten.randint.low", "aten.randperm.default"),
        *("aten.rand_like.default", "aten.randn_like.default", "aten.randint_like.default", "aten.randint_like.low_dtype"),
        *("aten.bernoulli.p", "aten.uniform.default", "aten.normal_functional.default", "aten.normal.float_float"),
        *("aten.exponential.default", "aten.geometric.default", "aten.cauchy.default", "aten.log_normal.default"),
        *("aten.random.default", "aten.random.from", "aten.random.to"),
    )
)
"""Ops that read of their tensors no more than shape and dtype."""


@record
class Like:
    """A tensor that an op reads nothing of but this."""

    shape: tuple[int, ...]
    stride: tuple[int, ...]
    dtype: torch.dtype


@record
class Draw:
    """Random numbers to draw: a call of PyTorch; arguments that are tensors are given as `Like`."""

    op: Any
    arguments: tuple[Any, ...]
    keywords: Mapping[str, Any]

    def __call__(self) -> torch.Tensor:
        """Return the numbers, from PyTorch's generator."""
        return self.op(*map(_empty, self.arguments), **self.keywords)


def is_draw(op: Any) -> bool:
    """Return whether an op of PyTorch is one that draws are made of."""
    return op is aten.bernoulli_.float or str(op) in _DRAWN


def take_out(graph: fx.GraphModule) -> tuple[Draw, ...]:
    """Turn the random ops of a graph with static shapes into placeholders behind its own.

    Returns what to draw for them, in the order in which PyTorch would.  Raises E0202 naming those that depend on values.
    """
    random = [node for node in graph.graph.nodes if _is_random(node)]
    misses = Misses()
    for node in random:
        if node.target not in REWRITTEN and str(node.target) not in _DRAWN:
            misses.add(str(node.target).removeprefix("aten."), "aten", "random numbers that depend on values", node.name)
    if misses.rows:
        raise misses.report()
    draws = tuple(_taken_out(graph.graph, node) for node in random)
    if draws:
        graph.graph.lint()
        graph.recompile()
    return draws


def _is_random(node: fx.Node) -> bool:
    if not isinstance(node.target, torch._ops.OpOverload) or torch.Tag.nondeterministic_seeded not in node.target.tags:
        return False
    if node.target is aten.native_dropout.default:
        return bool(_argument(node, 2, "train", True))
    names = [argument.name for argument in node.target._schema.arguments]
    return "dropout_p" not in names or _argument(node, names.index("dropout_p"), "dropout_p", 0.0) != 0


def _taken_out(graph: fx.Graph, node: fx.Node) -> Draw:
    last = graph.find_nodes(op="placeholder")
    with graph.inserting_after(last[-1]) if last else graph.inserting_before(next(iter(graph.nodes))):
        drawn = graph.placeholder(f"{node.name}_drawn")
    if node.target in REWRITTEN:
        return _dropout(graph, node, drawn)
    drawn.meta["val"] = node.meta["val"]
    arguments = tuple(_like(a) if isinstance(a, fx.Node) else a for a in node.args)
    node.replace_all_uses_with(drawn)
    graph.erase_node(node)
    return Draw(node.target, arguments, dict(node.kwargs))


def _dropout(graph: fx.Graph, node: fx.Node, mask: fx.Node) -> Draw:
    """native_dropout(x, p) -> (x * mask / (1 - p), mask), the mask drawn as PyTorch's kernel does."""
    x, p = node.args[0], float(_argument(node, 1, "p", 0.5))
    if not isinstance(x, fx.Node):
        raise TypeError("dropout of what is no tensor")
    value, mask.meta["val"] = node.meta["val"]
    scale = 0.0 if p == 1 else 1 / (1 - p)
    with graph.inserting_before(node):
        kept = graph.call_function(aten.mul.Tensor, (x, mask))
        scaled = graph.call_function(aten.mul.Tensor, (kept, scale))
    for made in (kept, scaled):
        made.meta.update({**node.meta, "val": value})
    for item in list(node.users):
        item.replace_all_uses_with(scaled if item.args[1] == 0 else mask)
        graph.erase_node(item)
    graph.erase_node(node)
    like = _like(x)
    return Draw(aten.bernoulli_.float, (Like(like.shape, like.stride, torch.bool), 1 - p), {})


def _argument(node: fx.Node, index: int, name: str, default: Any) -> Any:
    return node.args[index] if len(node.args) > index else node.kwargs.get(name, default)


def _like(node: fx.Node) -> Like:
    value = node.meta["val"]
    return Like(tuple(value.shape), tuple(value.stride()), value.dtype)


def _empty(argument: Any) -> Any:
    if not isinstance(argument, Like):
        return argument
    return torch.empty_strided(argument.shape, argument.stride, dtype=argument.dtype)
