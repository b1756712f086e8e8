"""Scan: one iteration for each element along an axis of some operands; all at once, unrolled, or a loop of dialect nn."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

import numpy as np
from onnx import GraphProto

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.spec import DYNAMIC, Spec, tensor_type
from ttc.dialects.core.ir.values import Block, SSAValue
from ttc.dialects.core.records import record
from ttc.dialects.core.shapes import axis_in
from ttc.importers.common import control
from ttc.importers.common.batched import batched
from ttc.importers.common.control import LoopIteration, erase
from ttc.importers.common.parts import element, part
from ttc.importers.common.unsupported import Unsupported
from ttc.importers.onnx.calls import MAX_TRIPS, NodeCall, declared, nodes_in, stack
from ttc.importers.onnx.values import Value, flattened, like, refusable


@record
class _Scanned:
    """What a Scan walks over: its inputs, their axes and directions, and how many steps that makes.

    Args:
        inputs: operands, along axes; backwards[i]: whether from the last element on.
        trips: elements along the axes; DYNAMIC if data decides.
    """

    inputs: Sequence[SSAValue]
    axes: Sequence[int]
    backwards: Sequence[int]
    trips: int


def scan(call: NodeCall) -> list[Value]:
    """Run one iteration for each element along an axis of the scanned operands."""
    if call.opset < 9:
        return _scan_batches(call)
    return _scan(call, call.operands, call.ints("scan_input_axes"), call.ints("scan_input_directions"), "")


def _scan(call: NodeCall, operands: Sequence[Value], axes: tuple[int, ...], reversed_: tuple[int, ...], label: str) -> list[Value]:
    graph, (count,) = call.graph("body"), call.ints("num_scan_inputs")
    if not 0 < count <= len(operands):
        raise Error("E0402", f"num_scan_inputs is {count}, and there are {len(operands)} inputs")
    state = list(operands[:-count])
    scanned = _scanned(call, operands[-count:], axes, reversed_)
    small = scanned.trips <= MAX_TRIPS and call.budget.has(scanned.trips * nodes_in(graph))
    why = f"more than {MAX_TRIPS} elements, or too many nodes"
    if scanned.trips > 1:
        with suppress(Unsupported), call.attempt():
            return _at_once(call, graph, state, scanned, label)
    if scanned.trips != DYNAMIC and small:
        try:
            with call.attempt():
                return _unrolled(call, graph, state, scanned, label)
        except Unsupported as reason:
            why = str(reason)
    try:
        return _looped(call, graph, state, scanned, label)
    except Unsupported as reason:
        raise Unsupported(f"{reason}; it is not unrolled: {why}") from None


def _scanned(call: NodeCall, operands: Sequence[Value], axes: tuple[int, ...], reversed_: tuple[int, ...]) -> _Scanned:
    inputs, count = [x for x in operands if isinstance(x, SSAValue)], len(operands)
    axes, reversed_ = axes or (0,) * count, reversed_ or (0,) * count
    if len(inputs) != count or len(axes) != count or len(reversed_) != count:
        raise Error("E0402", f"axes {axes} or directions {reversed_} do not fit {count} scanned inputs")
    along = [axis_in(a, call.b.spec(x).rank) for a, x in zip(axes, inputs, strict=True)]
    sizes = {call.b.spec(x).shape[a] for a, x in zip(along, inputs, strict=True)}
    known = sizes - {DYNAMIC}
    if len(known) > 1:
        raise Error("E0401", f"scanned inputs differ in length: {' and '.join(map(str, sorted(known)))} elements")
    return _Scanned(inputs, along, reversed_, known.pop() if known else DYNAMIC)


def _at_once(call: NodeCall, graph: GraphProto, state: list[Value], scanned: _Scanned, label: str) -> list[Value]:
    """Return all iterations together.  Raises Unsupported where one needs what another makes."""
    b, size = call.b, scanned.trips
    rows = zip(scanned.inputs, scanned.axes, scanned.backwards, strict=True)
    whole = [_first(call, x, axis, back) for x, axis, back in rows]
    block = Block(arg_types=[tensor_type(Spec(b.shape(x)[1:], b.dtype(x))) for x in whole])
    with b.collected() as ops:
        try:
            results = refusable(call.run(graph, (*state, *block.args), f"{label}i"))
            values = [x for x in results[len(state) :] if isinstance(x, SSAValue)]
            handed_on = all(x is y for x, y in zip(state, results, strict=False))
            if not handed_on or len(values) != len(results) - len(state) or not all(b.spec(x).is_static for x in values):
                raise Unsupported("iterations that depend on each other")
            with b.collected() as made:
                stacks = batched(b, size, dict(zip(block.args, whole, strict=True)), ops, values)
        finally:
            erase(ops)
    for op in made:
        b.place(op)
    axes, backwards = _directions(call, len(stacks))
    return [*state, *(_turned(call, x, a, back) for x, a, back in zip(stacks, axes, backwards, strict=True))]


def _first(call: NodeCall, x: SSAValue, axis: int, back: int) -> SSAValue:
    """Return a scanned operand with its elements along the first dimension, in the order in which they are taken."""
    rank = call.b.rank(x)
    x = x if axis == 0 else call.b.nn("transpose", x, perm=(axis, *(i for i in range(rank) if i != axis)))
    return _turned(call, x, 0, back)


def _unrolled(call: NodeCall, graph: GraphProto, state: list[Value], scanned: _Scanned, label: str) -> list[Value]:
    stacks: list[list[Value]] = [[] for _ in graph.output[len(state) :]]
    for at in range(scanned.trips):
        places = [scanned.trips - 1 - at if back else at for back in scanned.backwards]
        parts = [element(call.b, x, a, i) for x, a, i in zip(scanned.inputs, scanned.axes, places, strict=True)]
        results = refusable(call.run(graph, (*state, *parts), f"{label}{at}"))
        state = results[: len(state)]
        for values, value in zip(stacks, results[len(state) :], strict=True):
            values.append(value)
    axes, backwards = _directions(call, len(stacks))
    rows = zip(stacks, axes, backwards, graph.output[len(state) :], strict=True)
    return [*state, *(stack(call, s[::-1] if back else s, declared(type_), axis) for s, axis, back, type_ in rows)]


def _directions(call: NodeCall, stacks: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    axes = call.ints("scan_output_axes") or (0,) * stacks
    backwards = call.ints("scan_output_directions") or (0,) * stacks
    if len(axes) != stacks or len(backwards) != stacks:
        raise Error("E0402", f"axes {axes} or directions {backwards} do not fit {stacks} scan outputs")
    return axes, backwards


def _looped(call: NodeCall, graph: GraphProto, state: list[Value], scanned: _Scanned, label: str) -> list[Value]:
    b = call.b
    static = scanned.trips != DYNAMIC
    total = b.constant(np.array(scanned.trips, np.int64)) if static else _size(call, scanned.inputs[0], scanned.axes[0])
    shapes: list[Sequence[Value]] = [state]

    def step(number: SSAValue, values: Sequence[SSAValue]) -> LoopIteration:
        last = call.b.nn("sub", total, call.b.constant(np.array(1, np.int64)))
        parts = [
            call.b.nn("gather", x, call.b.nn("sub", last, number) if back else number, axis=axis)
            for x, axis, back in zip(scanned.inputs, scanned.axes, scanned.backwards, strict=True)
        ]
        results = refusable(call.run(graph, (*like([state], values), *parts), f"{label}i"))
        shapes.append(results[: len(state)])
        like(shapes, flattened(shapes[-1]))
        return LoopIteration(flattened(shapes[-1]), flattened(results[len(state) :]))

    if static:
        values, stacks = control.loop(b, step, flattened(state), length=scanned.trips)
    else:
        values, stacks = control.loop(b, step, flattened(state), count=total)
    axes, backwards = _directions(call, len(stacks))
    return [*like(shapes, values), *(_turned(call, x, a, back) for x, a, back in zip(stacks, axes, backwards, strict=True))]


def _size(call: NodeCall, x: SSAValue, axis: int) -> SSAValue:
    """The number of elements along an axis, at run time."""
    return call.b.reshape(part(call.b, call.b.nn("shape", x), 0, axis, 1))


def _turned(call: NodeCall, x: SSAValue, axis: int, backwards: int) -> SSAValue:
    """Return a stack with its first dimension where the node wants it, and from its last element on."""
    rank, size = call.b.spec(x).rank, call.b.spec(x).shape[0]
    if backwards and size == DYNAMIC:
        raise Unsupported("scan outputs in reverse order, of as many elements as data decides")
    if backwards and size:
        rest = call.b.spec(x).shape[1:]
        steps = (-1 if size > 1 else 1, *(1 for _ in rest))
        x = call.b.nn("slice", x, starts=(size - 1, *(0 for _ in rest)), sizes=(size, *rest), steps=steps)
    at = axis_in(axis, rank)
    return x if at == 0 else call.b.nn("transpose", x, perm=(*range(1, at + 1), 0, *range(at + 1, rank)))


def _scan_batches(call: NodeCall) -> list[Value]:
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
    return [stack(call, list(values), None) for values in zip(*samples, strict=True)]
