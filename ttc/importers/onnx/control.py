"""If and Loop: branches chosen and iterations unrolled where what decides is known; else branches and loops of dialect nn.

A choice between tensors of the same types that nothing can go wrong in is made by value instead: both branches run, on the device.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from onnx import GraphProto

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.values import SSAValue
from ttc.dialects.nn.base import NNOp
from ttc.dialects.nn.total import is_total
from ttc.importers.common import control
from ttc.importers.common.control import Differing, LoopIteration
from ttc.importers.common.unsupported import Unsupported
from ttc.importers.onnx.calls import MAX_TRIPS, NodeCall, declared, nodes_in, stack
from ttc.importers.onnx.packed import element, packed
from ttc.importers.onnx.scan import scan
from ttc.importers.onnx.structure import domain_of
from ttc.importers.onnx.tensors import array_of
from ttc.importers.onnx.values import Listed, Packed, Value, flattened, like, refusable

MAX_SELECTED = 64
"""The most ops of two branches that both run, for a choice by value."""


_UNTYPED = ("E0401", "E0402", "E0403", "E0412")
"""Errors of ops that do not take their operands."""


class _NotSelected(Exception):  # noqa: N818 - not an error: there is another way
    """Both branches cannot run for a choice by value."""


def if_(call: NodeCall) -> list[Value]:
    """Return the branch that a known condition chooses; else both, for a choice by value, if that is as good; else a branch at run time."""
    condition = call.operands[0]
    if not isinstance(condition, SSAValue):
        raise Unsupported("its condition is absent")
    then, other = call.graph("then_branch"), call.graph("else_branch")
    known = call.builder.known(condition)
    if known is not None and known.size == 1:
        return call.run(then if known.any() else other, (), "")
    if _is_short(then) and _is_short(other):
        try:
            with call.attempt() as ops:
                return _selected(call, condition, call.run(then, (), "then"), call.run(other, (), "else"), ops)
        except (_NotSelected, Unsupported, Error):
            pass
    try:
        chosen = then if call.truth(condition) else other
    except Unsupported:
        return _undecided(call, condition, then, other)
    return call.run(chosen, (), "")


def _undecided(call: NodeCall, condition: SSAValue, then: GraphProto, other: GraphProto) -> list[Value]:
    """A branch at run time.  Of two that differ in whether they type, the one that does: runs that would take the other are refused.

    Of two whose results differ in rank or dtype, the one that hands on what there is, which the rest of the model is made for.
    """
    try:
        return _branched(call, condition, then, other)
    except Differing as reason:
        if _hands_on(then) == _hands_on(other):
            raise
        message = f"the branch that is taken gives other types than the one that changes nothing: {reason}"
        wanted = _hands_on(then)
        return _required(call, condition, refusable(call.run(then if wanted else other, (), "")), wanted=wanted, message=message)
    except Error as error:
        found = _one_sided(call, condition, then, other) if error.code in _UNTYPED else None
        if found is None:
            raise call.builder.undecided(condition, error) from None
        return found


def _one_sided(call: NodeCall, condition: SSAValue, then: GraphProto, other: GraphProto) -> list[Value] | None:
    """Return what the one branch gives that types, for runs that take it; None if both do, or neither."""
    given: list[list[Value]] = []
    errors: list[Error] = []
    wanted = True
    for graph, taken in ((then, True), (other, False)):
        try:
            with call.attempt():
                given.append(refusable(call.run(graph, (), "then" if taken else "else")))
            wanted = taken
        except Error as error:
            if error.code not in _UNTYPED:
                raise
            errors.append(error)
    if len(given) != 1:
        return None
    (values,), (error,) = given, errors
    message = f"the branch that is taken does not fit the shapes that the model was compiled for: {error.message} ({error.where})"
    return _required(call, condition, values, wanted=wanted, message=message)


def _required(call: NodeCall, condition: SSAValue, values: list[Value], *, wanted: bool, message: str) -> list[Value]:
    """Return values of the one branch that is left; runs that would take the other are refused."""
    truth = call.b.reshape(condition)
    found = [call.b.nn("require", x, truth, wanted=wanted, message=message) for x in flattened(values)]
    return like([values], found)


def _hands_on(graph: GraphProto) -> bool:
    """Return whether a branch computes nothing."""
    return all(node.op_type == "Identity" and not domain_of(node.domain) for node in graph.node)


def _is_short(graph: GraphProto) -> bool:
    """Return whether a branch is few nodes of ONNX's own, none with a graph in it."""
    plain = all(not domain_of(node.domain) and not any(a.HasField("g") for a in node.attribute) for node in graph.node)
    return plain and len(graph.node) <= MAX_SELECTED


def _selected(call: NodeCall, condition: SSAValue, first: list[Value], second: list[Value], ops: Sequence[NNOp]) -> list[Value]:
    refusable([*first, *second])
    if len(ops) > MAX_SELECTED or not all(map(is_total, ops)):
        raise _NotSelected
    chosen: list[Value] = []
    for x, y in zip(first, second, strict=False):
        if not isinstance(x, SSAValue) or not isinstance(y, SSAValue) or x.type != y.type or not call.b.spec(x).is_static:
            raise _NotSelected
        chosen.append(call.b.nn("where", call.b.reshape(condition), x, y))
    return chosen


def _branched(call: NodeCall, condition: SSAValue, then: GraphProto, other: GraphProto) -> list[Value]:
    shapes: list[Sequence[Value]] = []

    def values(graph: GraphProto, label: str) -> list[SSAValue]:
        shapes.append(refusable(call.run(graph, (), label)))
        return flattened(shapes[-1])

    found = control.branch(call.b, condition, [lambda: values(then, "then"), lambda: values(other, "else")])
    return like(shapes, found)


def loop(call: NodeCall) -> list[Value]:
    """Return the results of iterations while the count and the condition allow; results that each of them gives are stacked."""
    trips = call.operands[0]
    known = call.builder.known(trips) if isinstance(trips, SSAValue) else None
    count = int(known.item()) if known is not None and known.size == 1 else None
    why = call.budget.why_not(call.name)
    if not why and (count is None or (count <= MAX_TRIPS and call.budget.has(count * nodes_in(call.graph("body"))))):
        try:
            with call.attempt():
                return _unrolled(call)
        except Unsupported as reason:
            why = str(reason)
            call.budget.keep(call.name, why)
    why = why or f"more than {MAX_TRIPS} iterations, or too many nodes in them"
    try:
        return _looped(call, count)
    except Unsupported as reason:
        raise Unsupported(f"{reason}; it is not unrolled: {why}") from None


def _unrolled(call: NodeCall) -> list[Value]:
    graph = call.graph("body")
    trips, condition, *state = call.operands
    limit = MAX_TRIPS + 1 if not isinstance(trips, SSAValue) else int(call.b.number(trips, "number of iterations"))
    going = condition is None or limit <= 0 or call.truth(condition)
    stacks: list[list[Value]] = [[] for _ in graph.output[1 + len(state) :]]
    at = 0
    while going and at < limit:
        if at == MAX_TRIPS:
            raise Unsupported(f"more than {MAX_TRIPS} iterations")
        count, truth = call.b.constant(np.array(at, np.int64)), call.b.constant(np.array(True))
        ahead, *results = refusable(call.run(graph, (count, truth, *state), str(at)))
        state = results[: len(state)]
        for values, value in zip(stacks, results[len(state) :], strict=True):
            values.append(value)
        at += 1
        going = at < limit and call.truth(ahead)
    types = graph.output[1 + len(state) :]
    return [*state, *(stack(call, values, declared(type_)) for values, type_ in zip(stacks, types, strict=True))]


def _looped(call: NodeCall, count: int | None) -> list[Value]:
    """Import a Loop as a loop of dialect nn.  count: iterations at most, if that is known.

    Sequences that turn out to change their length are carried in the form for the run.
    """
    state = list(call.operands[2:])
    grown = call.budget.grown.setdefault(call.name, {})
    while True:
        for index, (dtype, rank) in grown.items():
            state[index] = packed(call.b, state[index], dtype, rank)
        try:
            return _loop_of(call, count, state)
        except _Grows as found:
            grown.update(found.sequences)


class _Grows(Exception):  # noqa: N818 - not an error: there is another way
    """Sequences among the carried values change their length.  sequences: by index, dtype and rank of their tensors."""

    def __init__(self, sequences: dict[int, tuple[np.dtype, int]]) -> None:
        super().__init__()
        self.sequences = sequences


def _carried(call: NodeCall, before: Sequence[Value], after: Sequence[Value]) -> list[Value]:
    """Return the carried values after an iteration, sequences in the form that they had before.  Raises _Grows."""
    grown: dict[int, tuple[np.dtype, int]] = {}
    found = list(after)
    for index, (old, new) in enumerate(zip(before, after, strict=True)):
        known = element(new, call.builder) or element(old, call.builder)
        if known is not None and isinstance(old, Packed):
            found[index] = packed(call.b, new, *known)
        elif known is not None and isinstance(old, Listed) and (isinstance(new, Packed) or len(flattened([new])) != len(old.items)):
            grown[index] = known
    if grown:
        raise _Grows(grown)
    return found


def _loop_of(call: NodeCall, count: int | None, state: list[Value]) -> list[Value]:
    graph = call.graph("body")
    trips, condition = call.operands[:2]
    endless = _always_goes_on(graph) and (condition is None or _is_true(call, condition))
    shapes: list[Sequence[Value]] = [state]
    if endless and not isinstance(trips, SSAValue):
        raise Unsupported("the loop never ends")

    def step(number: SSAValue, values: Sequence[SSAValue]) -> LoopIteration:
        truth = call.b.constant(np.array(True))
        ahead, *results = refusable(call.run(graph, (number, truth, *like([state], values)), "i"))
        shapes.append(_carried(call, state, results[: len(state)]))
        if not isinstance(ahead, SSAValue):
            raise Unsupported("an iteration does not say whether to go on")
        like(shapes, flattened(shapes[-1]))
        return LoopIteration(flattened(shapes[-1]), flattened(results[len(state) :]), None if endless else ahead)

    given: dict[str, Any] = {"count": trips if isinstance(trips, SSAValue) else None}
    if endless and count is not None:
        given = {"length": max(count, 0)}
    if not endless:
        given["condition"] = condition if isinstance(condition, SSAValue) else call.b.constant(np.array(True))
    values, stacks = control.loop(call.b, step, flattened(state), **given)
    return [*like(shapes, values), *stacks]


def _is_true(call: NodeCall, value: Value) -> bool:
    known = call.builder.known(value) if isinstance(value, SSAValue) else None
    return known is not None and known.size == 1 and bool(known.item())


def _always_goes_on(graph: GraphProto) -> bool:
    """Return whether the condition that an iteration gives is a true constant, or the one that it was given."""
    if len(graph.output) < 1 or len(graph.input) < 2:
        raise Error("E0203", "the body of a loop takes an iteration and a condition, and gives one")
    name = graph.output[0].name
    makers = {output: node for node in graph.node for output in node.output}
    for _ in graph.node:
        if name in makers and makers[name].op_type == "Identity" and len(makers[name].input) == 1:
            name = makers[name].input[0]
    if name == graph.input[1].name:
        return True
    node = makers.get(name)
    tensors = [t for t in graph.initializer if t.name == name]
    if node is not None and node.op_type == "Constant":
        tensors = [a.t for a in node.attribute if a.name == "value"]
    return bool(tensors) and all(bool(np.all(array_of(t, "a condition"))) for t in tensors)


CONTROL: dict[str, Callable[[NodeCall], list[Value]]] = {"If": if_, "Loop": loop, "Scan": scan}
"""Ops of ONNX's own domain whose attributes are graphs that run."""
