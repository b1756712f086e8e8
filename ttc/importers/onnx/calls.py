"""A node with subgraphs, as the mappings of If, Loop and Scan see it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import numpy as np
from onnx import AttributeProto, GraphProto, NodeProto

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.spec import Spec
from ttc.dialects.core.ir.values import SSAValue
from ttc.dialects.core.records import record
from ttc.dialects.core.shapes import axis_in
from ttc.dialects.nn.base import NNOp
from ttc.importers.common.builder import Builder
from ttc.importers.common.control import erase
from ttc.importers.common.parts import stacked
from ttc.importers.common.unsupported import Unsupported
from ttc.importers.onnx.tensors import DTYPES
from ttc.importers.onnx.values import Value

MAX_TRIPS = 4096
"""The most iterations of one loop that are unrolled."""
MAX_MAPPED = 1 << 16
"""The most nodes in branches and loops, each counted as often as it is mapped."""


_LABELS = re.compile(r"\[[^\[\]]*\]")
"""In names of nodes: of branches and iterations."""


class CallBudget:
    """Counts nodes of subgraphs as they are mapped."""

    def __init__(self) -> None:
        self._used = 0
        self._limit = MAX_MAPPED
        self._kept: dict[str, str] = {}
        self.grown: dict[str, dict[int, tuple[np.dtype, int]]] = {}
        """By node: sequences among the carried values of its loop that change their length, by index: dtype and rank of their tensors."""

    def spend(self) -> None:
        """Count one node, or one repetition.  Raises Unsupported once there were too many."""
        self._used += 1
        if self._used > self._limit:
            raise Unsupported(f"more than {MAX_MAPPED} nodes once loops are unrolled")

    def why_not(self, node: str) -> str:
        """Return why a loop could not be unrolled when it was tried before, perhaps in another iteration around it; empty if it could."""
        return self._kept.get(_LABELS.sub("", node), "")

    def keep(self, node: str, why: str) -> None:
        """Remember why a loop could not be unrolled: else loops inside each other would be mapped twice as often with every level."""
        self._kept[_LABELS.sub("", node)] = why

    def has(self, nodes: int) -> bool:
        """Return whether so many more nodes may be mapped in an attempt."""
        return nodes <= (self._limit - self._used) // 2

    @contextmanager
    def attempt(self) -> Iterator[None]:
        """Map what is inside with half of the nodes that are left: something else may be tried afterwards."""
        limit = self._limit
        self._limit = self._used + (limit - self._used) // 2
        try:
            yield
        finally:
            self._limit = limit


@record(frozen=False)
class NodeCall:
    """A node with subgraphs, on its operands.

    Args:
        builder: of the function.
        budget: of nodes and repetitions.
        body: the outputs of one of its subgraphs on inputs; the text tells repetitions apart in names.
        name: of the node.
        opset: of ONNX's own domain.
    """

    builder: Builder
    budget: CallBudget
    body: Callable[[GraphProto, Sequence[Value], str], list[Value]]
    node: NodeProto
    operands: Sequence[Value]
    name: str
    opset: int

    @property
    def b(self) -> Builder:
        """The builder, at this node: bodies leave it at nodes of their own."""
        self.builder.enter(self.name, tuple(self.node.output), self.opset)
        return self.builder

    def graph(self, attribute: str) -> GraphProto:
        return next(a.g for a in self.node.attribute if a.name == attribute)

    def ints(self, attribute: str) -> tuple[int, ...]:
        """Return an attribute of integers; empty if absent."""
        found: AttributeProto | None = next((a for a in self.node.attribute if a.name == attribute), None)
        return () if found is None else tuple(found.ints) or (found.i,)

    def run(self, graph: GraphProto, inputs: Sequence[Value], label: str) -> list[Value]:
        """Return the outputs of a subgraph.  Raises E0203 if it takes another number of inputs."""
        if len(graph.input) != len(inputs):
            raise Error("E0203", f"a subgraph takes {len(graph.input)} inputs, not {len(inputs)}")
        self.budget.spend()
        return self.body(graph, inputs, label)

    def truth(self, value: Value) -> bool:
        """Return a condition that is known at import.  Raises Unsupported."""
        if not isinstance(value, SSAValue):
            raise Unsupported("a condition is absent")
        return bool(self.b.number(value, "condition"))

    @contextmanager
    def attempt(self) -> Iterator[list[NNOp]]:
        """Place the ops made inside the block at its end; if it fails, they leave nothing, and something else may be tried."""
        with self.budget.attempt(), self.builder.collected() as ops:
            try:
                yield ops
            except BaseException:
                erase(ops)
                raise
        for op in ops:
            self.builder.place(op)


def nodes_in(graph: GraphProto) -> int:
    """Yield the nodes of a graph and of the graphs in them."""
    inner = (a.g for node in graph.node for a in node.attribute if a.HasField("g"))
    return len(graph.node) + sum(nodes_in(g) for g in inner)


def stack(call: NodeCall, values: Sequence[Value], empty: Spec | None, axis: int = 0) -> Value:
    """Return the values that iterations gave, along a new axis.  empty: the type of one, if there were none."""
    tensors = [v for v in values if isinstance(v, SSAValue)]
    if len(tensors) != len(values) or any(not call.b.spec(v).is_static for v in tensors):
        raise Unsupported("iterations give sequences or tensors of dynamic shape")
    if tensors:
        return stacked(call.b, tensors, axis)
    if empty is None:
        raise Unsupported("no iterations, and the shape of what they would give is not known")
    at = axis_in(axis, empty.rank + 1)
    return call.b.constant(np.zeros((*empty.shape[:at], 0, *empty.shape[at:]), empty.dtype))


def declared(value: object) -> Spec | None:
    """Return the type that a subgraph declares for an output; None if it leaves it open."""
    type_ = getattr(value, "type").tensor_type  # noqa: B009 - a ValueInfoProto
    dtype = DTYPES.get(type_.elem_type)
    if dtype is None or not type_.HasField("shape") or not all(d.HasField("dim_value") for d in type_.shape.dim):
        return None
    return Spec(tuple(d.dim_value for d in type_.shape.dim), dtype)
