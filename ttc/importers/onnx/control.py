"""If, Loop and Scan: branches chosen at import or selected by value, iterations unrolled.

How often a loop runs must follow from constants, shapes, or values of integer inputs that the importer was given.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from onnx import AttributeProto, GraphProto, NodeProto
from xdsl.ir import SSAValue

from ttc.dialects.core.errors import Error
from ttc.dialects.core.spec import Spec
from ttc.dialects.nn.base import axis_in
from ttc.importers.common.builder import Builder
from ttc.importers.common.parts import element, stacked
from ttc.importers.common.unsupported import Unsupported
from ttc.importers.onnx.tensors import DTYPES
from ttc.importers.onnx.values import REFUSED, Refused, Value

MAX_TRIPS = 4096
"""Iterations of one loop."""


@dataclass
class Call:
    """A node with subgraphs, on its operands.

    Args:
        builder: of the function.
        spend: counts one repetition.  Raises Unsupported once there were too many in all.
        body: the outputs of one of its subgraphs on inputs; the text tells repetitions apart in names.
        name: of the node.
        opset: of ONNX's own domain.
    """

    builder: Builder
    spend: Callable[[], None]
    body: Callable[[GraphProto, Sequence[Value], str], list[Value]]
    node: NodeProto
    operands: Sequence[Value]
    name: str
    opset: int

    @property
    def b(self) -> Builder:
        """The builder, at this node: bodies leave it at their own nodes."""
        self.builder.enter(self.name, tuple(self.node.output), self.opset)
        return self.builder

    def graph(self, attribute: str) -> GraphProto:
        return next(a.g for a in self.node.attribute if a.name == attribute)

    def ints(self, attribute: str) -> tuple[int, ...]:
        """An attribute of integers; empty if absent."""
        found: AttributeProto | None = next((a for a in self.node.attribute if a.name == attribute), None)
        return () if found is None else tuple(found.ints) or (found.i,)

    def run(self, graph: GraphProto, inputs: Sequence[Value], label: str) -> list[Value]:
        """The outputs of a subgraph.  Raises E0203 if it takes another number of inputs."""
        if len(graph.input) != len(inputs):
            raise Error("E0203", f"a subgraph takes {len(graph.input)} inputs, not {len(inputs)}")
        self.spend()
        return self.body(graph, inputs, label)

    def truth(self, value: Value) -> bool:
        """A condition that is known at import.  Raises Unsupported."""
        if not isinstance(value, SSAValue):
            raise Unsupported("a condition is absent")
        return bool(self.b.number(value, "condition"))


def if_(call: Call) -> list[Value]:
    """The branch that a known condition chooses; else both, selected by the condition where they give tensors of the same types."""
    condition = call.operands[0]
    if not isinstance(condition, SSAValue):
        raise Unsupported("its condition is absent")
    known = call.b.known(condition)
    if known is not None and known.size == 1:
        return call.run(call.graph("then_branch" if known.any() else "else_branch"), (), "")
    first = call.run(call.graph("then_branch"), (), "then")
    second = call.run(call.graph("else_branch"), (), "else")
    if any(isinstance(x, Refused) for x in (*first, *second)):
        return [REFUSED] * len(call.node.output)
    chosen: list[Value] = []
    for x, y in zip(first, second, strict=False):
        if not isinstance(x, SSAValue) or not isinstance(y, SSAValue) or x.type != y.type:
            return first if call.truth(condition) else second
        chosen.append(call.b.nn("where", call.b.reshape(condition), x, y))
    return chosen


def loop(call: Call) -> list[Value]:
    """Iterations while the count and the condition allow; results that each of them gives are stacked."""
    graph = call.graph("body")
    trips, condition, *state = call.operands
    limit = MAX_TRIPS + 1 if not isinstance(trips, SSAValue) else int(call.b.number(trips, "number of iterations"))
    going = condition is None or call.truth(condition)
    stacks: list[list[Value]] = [[] for _ in graph.output[1 + len(state) :]]
    at = 0
    while going and at < limit:
        if at == MAX_TRIPS:
            raise Unsupported(f"more than {MAX_TRIPS} iterations")
        count, truth = call.b.constant(np.array(at, np.int64)), call.b.constant(np.array(True))
        ahead, *results = call.run(graph, (count, truth, *state), str(at))
        if any(isinstance(x, Refused) for x in (ahead, *results)):
            return [REFUSED] * len(call.node.output)
        state = results[: len(state)]
        for stack, value in zip(stacks, results[len(state) :], strict=True):
            stack.append(value)
        at += 1
        going = at < limit and call.truth(ahead)
    types = graph.output[1 + len(state) :]
    return [*state, *(_stacked(call, stack, _empty(type_)) for stack, type_ in zip(stacks, types, strict=True))]


def scan(call: Call) -> list[Value]:
    """One iteration for each element along an axis of the scanned operands."""
    if call.opset < 9:
        return _scan_batches(call)
    return _scan(call, call.operands, call.ints("scan_input_axes"), call.ints("scan_input_directions"), "")


def _scan(call: Call, operands: Sequence[Value], axes: tuple[int, ...], reversed_: tuple[int, ...], label: str) -> list[Value]:
    graph, (scanned,) = call.graph("body"), call.ints("num_scan_inputs")
    if not 0 < scanned <= len(operands):
        raise Error("E0402", f"{scanned} scanned inputs of {len(operands)}")
    state, inputs = list(operands[:-scanned]), [x for x in operands[-scanned:] if isinstance(x, SSAValue)]
    axes, reversed_ = axes or (0,) * scanned, reversed_ or (0,) * scanned
    if len(inputs) != scanned or len(axes) != scanned or len(reversed_) != scanned:
        raise Error("E0402", f"axes {axes} or directions {reversed_} do not fit {scanned} scanned inputs")
    along = [axis_in(a, len(call.b.shape(x))) for a, x in zip(axes, inputs, strict=True)]
    (trips, *others) = {call.b.shape(x)[a] for a, x in zip(along, inputs, strict=True)}
    if others or not 0 <= trips <= MAX_TRIPS:
        raise Unsupported(f"scanned inputs of different, dynamic or more than {MAX_TRIPS} elements")
    stacks: list[list[Value]] = [[] for _ in graph.output[len(state) :]]
    for at in range(trips):
        places = [trips - 1 - at if back else at for back in reversed_]
        parts = [element(call.b, x, a, i) for x, a, i in zip(inputs, along, places, strict=True)]
        results = call.run(graph, (*state, *parts), f"{label}{at}")
        if any(isinstance(x, Refused) for x in results):
            return [REFUSED] * len(call.node.output)
        state = results[: len(state)]
        for stack, value in zip(stacks, results[len(state) :], strict=True):
            stack.append(value)
    return [*state, *_scan_outputs(call, stacks, graph, len(state))]


def _scan_outputs(call: Call, stacks: list[list[Value]], graph: GraphProto, states: int) -> list[Value]:
    axes = call.ints("scan_output_axes") or (0,) * len(stacks)
    backwards = call.ints("scan_output_directions") or (0,) * len(stacks)
    if len(axes) != len(stacks) or len(backwards) != len(stacks):
        raise Error("E0402", f"axes {axes} or directions {backwards} do not fit {len(stacks)} scan outputs")
    rows = zip(stacks, axes, backwards, graph.output[states:], strict=True)
    return [_stacked(call, stack[::-1] if back else stack, _empty(type_), axis) for stack, axis, back, type_ in rows]


def _scan_batches(call: Call) -> list[Value]:
    """Opset 8: operands have a batch before all else, and each sample is scanned by itself."""
    lengths, *rest = call.operands
    operands = [x for x in rest if isinstance(x, SSAValue)]
    if lengths is not None or len(operands) != len(rest) or not operands:
        raise Unsupported("sequences of different lengths")
    sizes = {call.b.shape(x)[:1] for x in operands}
    (size,) = sizes.pop() or (0,)
    if sizes or size < 1:
        raise Error("E0401", "operands have different batches")
    samples = [_scan(call, [element(call.b, x, 0, i) for x in operands], (), call.ints("directions"), f"{i}.") for i in range(size)]
    return [_stacked(call, list(values), None) for values in zip(*samples, strict=True)]


def _stacked(call: Call, values: list[Value], empty: Spec | None, axis: int = 0) -> Value:
    tensors = [v for v in values if isinstance(v, SSAValue)]
    if len(tensors) != len(values) or any(not call.b.spec(v).is_static for v in tensors):
        raise Unsupported("iterations give sequences or tensors of dynamic shape")
    if tensors:
        return stacked(call.b, tensors, axis)
    if empty is None:
        raise Unsupported("no iterations, and the shape of what they would give is not known")
    at = axis_in(axis, empty.rank + 1)
    return call.b.constant(np.zeros((*empty.shape[:at], 0, *empty.shape[at:]), empty.dtype))


def _empty(value: object) -> Spec | None:
    """The type that a subgraph declares for an output; None if it leaves it open."""
    type_ = getattr(value, "type").tensor_type  # noqa: B009 - a ValueInfoProto
    dtype = DTYPES.get(type_.elem_type)
    if dtype is None or not type_.HasField("shape") or not all(d.HasField("dim_value") for d in type_.shape.dim):
        return None
    return Spec(tuple(d.dim_value for d in type_.shape.dim), dtype)


CONTROL: dict[str, Callable[[Call], list[Value]]] = {"If": if_, "Loop": loop, "Scan": scan}
"""Ops of ONNX's own domain whose attributes are graphs that run."""
