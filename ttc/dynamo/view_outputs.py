"""Outputs of a graph that show one piece of memory, as they do in PyTorch: it is computed and kept once.

What a forward graph keeps for the backward graph is often shown several times: the sum of a layer and its rows, queries, keys and values
as parts of one product.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import getitem
from typing import Any

import torch
from torch import fx
from torch.multiprocessing.reductions import StorageWeakRef

_SAME_MEMORY = (torch.ops.aten._unsafe_view.default,)  # noqa: SLF001 - a view, though PyTorch does not say so
"""Ops whose result shows the memory of the operand without being called views of it."""


def shown_bases(outputs: Sequence[Any]) -> dict[fx.Node, fx.Node]:
    """Return the node whose memory each of a graph's outputs shows, for those that show memory of another one.

    Memory of which the outputs show less than half is left out: they are smaller as copies.
    """
    nodes = list(dict.fromkeys(output for output in outputs if isinstance(output, fx.Node)))
    found = {node: base for node in nodes if (base := _base(node)) is not None}
    shown: dict[fx.Node, int] = {}
    for node in nodes:
        base = found.get(node, node)
        shown[base] = shown.get(base, 0) + _size_bytes(node)
    return {node: base for node, base in found.items() if 2 * shown[base] >= _size_bytes(base)}


def with_outputs(graph: fx.GraphModule, outputs: Sequence[Any]) -> fx.GraphModule:
    """Return a graph that computes the same, and gives these of its nodes and values."""
    made, copies = fx.Graph(), dict[fx.Node, fx.Node]()
    made.graph_copy(graph.graph, copies)
    made.output(tuple(copies[output] if isinstance(output, fx.Node) else output for output in outputs))
    return fx.GraphModule(graph, made)


def _base(node: fx.Node) -> fx.Node | None:
    """Return the node that a view is a view of, where that is computed and has memory of its own without gaps."""
    base = node
    while (source := source_of(base)) is not None:
        base = source
    shown, whole = node.meta.get("val"), base.meta.get("val")
    if base is node or base.op != "call_function" or not isinstance(shown, torch.Tensor) or not isinstance(whole, torch.Tensor):
        return None
    same = StorageWeakRef(shown.untyped_storage()) == StorageWeakRef(whole.untyped_storage()) and shown.dtype == whole.dtype
    full = whole.storage_offset() == 0 and _size_bytes(base) == whole.untyped_storage().nbytes()
    return base if same and full else None


def source_of(node: fx.Node) -> fx.Node | None:
    """Return the operand whose memory a node shows, as far as its op says."""
    if node.op != "call_function" or not node.args or not isinstance(node.args[0], fx.Node):
        return None
    if node.target is getitem:
        return node.args[0] if source_of(node.args[0]) is not None else None
    if not isinstance(node.target, torch._ops.OpOverload):  # noqa: SLF001 - the type of ops
        return None
    is_view = node.target in _SAME_MEMORY or node.target.is_view
    return node.args[0] if is_view else None


def _size_bytes(node: fx.Node) -> int:
    value = node.meta.get("val")
    return value.numel() * value.element_size() if isinstance(value, torch.Tensor) else 0
