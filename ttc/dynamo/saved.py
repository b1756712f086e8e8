"""What a forward graph keeps for its backward graph: whole tensors, in the order of their memory.

PyTorch keeps what gradients read as the ops of forward gave it: queries, keys and values as parts of one product, the result of attention
in the order in which the next layer reads it.  Compiled graphs read and write memory without gaps where it lies, and copy all else.  So the
memory that such tensors show is kept in their stead, once, and the backward graph takes its views of it, which cost nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from functorch.compile import min_cut_rematerialization_partition
from torch import fx

from ttc.dynamo.graph import is_open
from ttc.dynamo.view_outputs import shown_bases, source_of


def partition(
    joint: fx.GraphModule, joint_inputs: Sequence[Any], *, num_fwd_outputs: int, **options: Any
) -> tuple[fx.GraphModule, fx.GraphModule]:
    """Split a joint graph into forward and backward as PyTorch's min-cut does; graphs of static shapes keep whole tensors."""
    forward, backward = min_cut_rematerialization_partition(joint, joint_inputs, num_fwd_outputs=num_fwd_outputs, **options)
    if not any(is_open(node.meta.get("val")) for graph in (forward, backward) for node in graph.graph.find_nodes(op="placeholder")):
        keep_whole(forward, backward, num_fwd_outputs)
    return forward, backward


def keep_whole(forward: fx.GraphModule, backward: fx.GraphModule, own_outputs: int) -> None:
    """Have a forward graph of static shapes keep tensors without gaps, and its backward graph take these.

    Args:
        forward: its first outputs, `own_outputs` of them, are the caller's; the others are kept.
        backward: it takes what is kept by its names.
    """
    (end,) = forward.graph.find_nodes(op="output")
    outputs: list[Any] = list(end.args[0])
    origins = list(end.meta["desc"])
    kept = list(zip(outputs[:own_outputs], origins, strict=False))
    bases, reader = shown_bases(outputs), _Reader(backward)
    for output, origin in zip(outputs[own_outputs:], origins[own_outputs:], strict=True):
        base = bases[output] if output in bases else output
        if not (_is_computed(output) and _is_computed(base)):
            kept.append((output, origin))
        elif reader.has(base):
            reader.take_view(output, base)
        else:
            whole = _without_gaps(base, end)
            kept.append((whole, origin))
            reader.take(output, base, whole)
    end.args = (tuple([output for output, _ in kept]),)
    end.meta["desc"] = [origin for _, origin in kept]
    forward.recompile()
    backward.recompile()


class _Reader:
    """A backward graph that comes to take whole tensors."""

    def __init__(self, backward: fx.GraphModule) -> None:
        self._graph = backward.graph
        self._takers = {node.name: node for node in self._graph.find_nodes(op="placeholder")}
        self._first = next(node for node in self._graph.nodes if node.op != "placeholder")
        self._taken: dict[fx.Node, fx.Node] = {}

    def has(self, base: fx.Node) -> bool:
        """Return whether the graph takes the memory of a node of forward already."""
        return base in self._taken

    def take(self, output: fx.Node, base: fx.Node, whole: fx.Node) -> None:
        """Take a tensor with the elements of a base in the place of an output of forward that shows it."""
        taker = self._takers[output.name]
        if whole is output:
            self._taken[base] = taker
            return
        with self._graph.inserting_before(taker):
            self._taken[base] = given = self._graph.placeholder(whole.name)
        given.meta = dict(whole.meta)
        self.take_view(output, base)

    def take_view(self, output: fx.Node, base: fx.Node) -> None:
        """Read an output of forward as a view of its base, which the graph takes."""
        taker = self._takers[output.name]
        taker.replace_all_uses_with(self._view(output, base))
        self._graph.erase_node(taker)

    def _view(self, node: fx.Node, base: fx.Node) -> fx.Node:
        if node is base:
            return self._taken[base]
        source = source_of(node)
        assert source is not None
        shown = self._view(source, base)
        with self._graph.inserting_before(self._first):
            return self._graph.node_copy(node, lambda _: shown)


def _is_computed(output: Any) -> bool:
    """Return whether an output is a tensor that a graph computes, and that PyTorch watches for changes as it does others."""
    if not isinstance(output, fx.Node) or output.op != "call_function":
        return False
    return isinstance(output.meta.get("val"), torch.Tensor) and not output.meta.get("saved_tensor_with_no_vc_check", False)


def _without_gaps(node: fx.Node, before: fx.Node) -> fx.Node:
    """Return a node whose result has the elements of another one's next to each other in memory, and its dimensions in order.

    PyTorch's strides are those of its own kernels; what a compiled graph computes has none.
    """
    value = node.meta["val"]
    if value.is_contiguous():
        return node
    with before.graph.inserting_before(before):
        copy = before.graph.call_function(torch.ops.aten.clone.default, (node,), {"memory_format": torch.contiguous_format})
    copy.meta = {**node.meta, "val": value.contiguous()}
    return copy
