"""Calls, branches and loops: functions inlined, branches chosen at import or selected by value, iterations unrolled."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import Protocol

import numpy as np

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.values import SSAValue
from ttc.dialects.core.records import record
from ttc.importers.common import control
from ttc.importers.common.builder import Builder
from ttc.importers.common.control import LoopIteration
from ttc.importers.common.unsupported import REFUSED, Refused, Unsupported
from ttc.importers.tf import lists
from ttc.importers.tf.messages import Call, Function, Node
from ttc.importers.tf.structure import CALLERS
from ttc.importers.tf.values import TensorList, Value
from ttc.importers.tf.variables import SetVariables

MAX_TRIPS = 2048
"""The most iterations of one loop that is unrolled."""
MAX_SELECTED = 24
"""The most nodes of a branch that is computed whether or not it is chosen."""
FAILING = frozenset(
    ["GatherV2", "Gather", "GatherNd", "ResourceGather", "ScatterNd", "TensorScatterUpdate", "TensorScatterAdd", "Range", "StridedSlice"]
) | frozenset(CALLERS)
"""Ops that may fail, or run other functions."""
_CALLS = ("PartitionedCall", "StatefulPartitionedCall")
BOOL = np.dtype(np.bool_)


class TooMany(Unsupported):
    """Raised for loops that have more nodes than are mapped."""


class Caller(Protocol):
    """Maps functions: the walker, as control flow sees it."""

    builder: Builder
    functions: Mapping[str, Function]
    unrolled: int

    def call(self, name: str, operands: Sequence[Value], caller: str, depth: int, *, repeated: bool) -> list[Value]: ...


@record
class ControlNode:
    """A node that runs functions, on its operands.

    Args:
        name: of the node in messages and locations.
        caller, depth, repeated: of the body around it.
    """

    walker: Caller
    node: Node
    operands: Sequence[Value]
    name: str
    caller: str
    depth: int
    repeated: bool

    @property
    def b(self) -> Builder:
        """The builder, at this node: bodies leave it at nodes of their own."""
        self.walker.builder.enter(self.name, (self.node.name,))
        return self.walker.builder

    def function(self, attribute: str) -> str:
        """Return the function that an attribute names.  Raises E0203."""
        found = self.node.attributes.get(attribute)
        if not isinstance(found, Call):
            raise Error("E0203", f"{self.node.op} has no function '{attribute}'", where=self.name)
        return found.name

    def run(self, function: str, operands: Sequence[Value], label: str = "") -> list[Value]:
        """Return the results of a function that may run several times, told apart by labels."""
        return self.walker.call(function, operands, f"{self.name}[{label}]" if label else self.name, self.depth + 1, repeated=True)

    def decision(self) -> tuple[Value, Sequence[Value]]:
        """Return what chooses between functions, and their operands. Raises E0203."""
        if not self.operands:
            raise Error("E0203", f"{self.node.op} has no operand that decides", where=self.name)
        return self.operands[0], self.operands[1:]

    def truth(self, value: Value) -> bool | None:
        """Return whether a condition holds; None if that is not known at import.  Raises Unsupported."""
        if not isinstance(value, SSAValue):
            raise Unsupported("its condition is no tensor")
        known = self.b.known(value)
        if known is None or known.size != 1:
            return None
        return bool(known.any())


def call(site: ControlNode) -> list[Value]:
    """Return the function's results.  Nodes keep their names where the caller's says nothing."""
    last = site.node.name.rpartition("/")[2].rstrip("0123456789_")
    caller = site.caller if last in _CALLS else site.name
    return site.walker.call(site.function("f"), site.operands, caller, site.depth + 1, repeated=site.repeated)


def if_(site: ControlNode) -> list[Value]:
    """Return the branch that a known condition chooses; else both, selected by value if they are short, or a branch of dialect nn."""
    condition, operands = site.decision()
    if any(isinstance(x, Refused) for x in site.operands):
        return [REFUSED]
    chosen = site.truth(condition)
    names = [site.function(f"{label}_branch") for label in ("then", "else")]
    if chosen is not None:
        return site.run(names[0 if chosen else 1], operands)
    assert isinstance(condition, SSAValue)
    if all(_is_short(site.walker.functions.get(name)) for name in names):
        found = _both(site, condition, names, operands)
        if found is not None:
            return found
    return _branched(site, site.b.cast(condition, BOOL), names, operands)


def _is_short(function: Function | None) -> bool:
    """Return whether a branch is a few nodes that cannot fail."""
    return function is not None and len(function.nodes) <= MAX_SELECTED and not any(node.op in FAILING for node in function.nodes)


def selected(site: ControlNode, condition: SSAValue, first: Sequence[Value], second: Sequence[Value]) -> list[Value] | None:
    """Return results of both branches, selected by value; None unless they are tensors of the same static types, or the same lists."""
    found: list[Value] = []
    for x, y in zip(first, second, strict=False):
        if isinstance(x, Refused) or isinstance(y, Refused):
            found.append(REFUSED)
        elif x is y and not isinstance(x, SSAValue):
            found.append(x)
        elif isinstance(x, SSAValue) and isinstance(y, SSAValue) and x.type == y.type and site.b.spec(x).is_static:
            found.append(site.b.nn("where", site.b.reshape(site.b.cast(condition, BOOL)), x, y))
        else:
            return None
    return found


def _both(site: ControlNode, condition: SSAValue, names: Sequence[str], operands: Sequence[Value]) -> list[Value] | None:
    """Return what both functions give, and leave in the variables that they set, selected by value; None as `selected` says."""
    variables = SetVariables(site.b, operands)
    ends: list[list[Value]] = []
    for name, label in zip(names, ("then", "else"), strict=True):
        variables.put(variables.before)
        ends.append([*site.run(name, operands, label), *variables.held()])
    variables.put(variables.before)
    found = selected(site, condition, *ends)
    return None if found is None else variables.taken(found)


def _branched(site: ControlNode, which: SSAValue, names: Sequence[str], operands: Sequence[Value]) -> list[Value]:
    """A branch of dialect nn: only the chosen function runs.  Raises Unsupported for results that are no tensors or lists of such."""
    variables = SetVariables(site.b, operands)
    shown: list[list[Value]] = []

    def body(label: int, name: str) -> list[SSAValue]:
        variables.put(variables.before)
        shown.append(site.run(name, operands, str(label)))
        return [*_tensors(lists.as_tensors(site.b, shown[-1]), "a branch"), *variables.held()]

    bodies = [partial(body, label, name) for label, name in enumerate(names)]
    results = variables.taken(control.branch(site.b, which, bodies))
    return lists.as_before(shown[0], results)


def _tensors(values: Sequence[Value], what: str) -> list[SSAValue]:
    found = [x for x in values if isinstance(x, SSAValue)]
    if len(found) != len(values):
        refused = any(isinstance(x, Refused) for x in values)
        raise Unsupported(f"{what} holds what cannot be imported" if refused else f"{what} that data decides gives lists of tensors")
    return found


def case(site: ControlNode) -> list[Value]:
    """Return the branch of a known index; the last one for an index outside."""
    index, operands = site.decision()
    branches = site.node.attributes.get("branches")
    if isinstance(index, Refused):
        return [REFUSED]
    if not isinstance(index, SSAValue) or not isinstance(branches, tuple) or not branches:
        raise Unsupported("its index is no tensor")
    known = site.b.known(index)
    if known is None or known.size != 1:
        return _branched(site, index, [item.name for item in branches], operands)
    at = int(known.ravel()[0])
    return site.run(branches[at if 0 <= at < len(branches) else -1].name, operands)


def while_(site: ControlNode) -> list[Value]:
    """Unroll iterations while it is known at import that the condition holds; from where it is not known, make a loop of dialect nn."""
    if any(isinstance(x, Refused) for x in site.operands):
        return [REFUSED]
    variables, spent = SetVariables(site.b, site.operands), site.walker.unrolled
    with site.walker.builder.collected() as ops:
        try:
            found = _unrolled(site)
        except TooMany:
            site.walker.unrolled = spent
            variables.put(variables.before)
            control.erase(ops)
            ops.clear()
            found = None
    for op in ops:
        site.walker.builder.place(op)
    return _looped(site, site.operands) if found is None else found


def _unrolled(site: ControlNode) -> list[Value]:
    """Unroll a loop; if data decide when it ends, make it a loop of nn.  Raises TooMany, Unsupported."""
    state: Sequence[Value] = site.operands
    for at in range(MAX_TRIPS):
        going = site.truth(_condition(site, state, str(at)))
        if going is None:
            return _looped(site, state)
        if not going:
            return list(state)
        state = _iteration(site, state, str(at))
        if any(isinstance(x, Refused) for x in state):
            return [REFUSED]
    raise TooMany(f"more than {MAX_TRIPS} iterations")


def _condition(site: ControlNode, state: Sequence[Value], label: str) -> Value:
    return next(iter(site.run(site.function("cond"), state, label)), None)


def _iteration(site: ControlNode, state: Sequence[Value], label: str) -> list[Value]:
    found = site.run(site.function("body"), state, label)
    if len(found) != len(state):
        raise Error("E0203", "its body gives another number of values than it takes", where=site.name)
    return found


def _looped(site: ControlNode, state: Sequence[Value]) -> list[Value]:
    """A loop of dialect nn over the tensors, lists as one tensor each, and the variables that it sets; all else it must leave as it is."""
    variables = SetVariables(site.b, state)
    state = _with_shapes(site, state, variables)
    start = lists.as_tensors(site.b, state)

    def whole(tensors: Sequence[SSAValue]) -> list[Value]:
        given = iter(tensors)
        return lists.as_before(state, [next(given) if isinstance(x, SSAValue) else x for x in start])

    def condition(values: Sequence[Value]) -> SSAValue:
        found = _condition(site, values, "i")
        return site.b.cast(_tensors([found], "a condition")[0], BOOL)

    def step(_: SSAValue, tensors: Sequence[SSAValue]) -> LoopIteration:
        values = lists.as_tensors(site.b, _iteration(site, whole(variables.taken(tensors)), "i"))
        if any(x is not y for x, y in zip(start, values, strict=True) if not isinstance(x, SSAValue)):
            raise Unsupported("how often it runs depends on data, and it changes what is no tensor")
        new = _tensors([y for x, y in zip(start, values, strict=True) if isinstance(x, SSAValue)], "an iteration")
        going = condition(whole(new))
        return LoopIteration([*new, *variables.held()], going=going)

    first = condition(whole([x for x in start if isinstance(x, SSAValue)]))
    carried = [*(x for x in start if isinstance(x, SSAValue)), *variables.held()]
    results, _ = control.loop(site.b, step, carried, condition=first)
    return whole(variables.taken(results))


def _with_shapes(site: ControlNode, state: Sequence[Value], variables: SetVariables) -> Sequence[Value]:
    """Lists whose elements have no shape yet get that of what one iteration, which is then given up, stores in them."""
    b = site.walker.builder
    if not any(isinstance(x, TensorList) and lists.shape_of(b, x) is None for x in state):
        return state
    with b.collected() as ops:
        after = _iteration(site, state, "0")
        shapes = [lists.shape_of(b, y) if isinstance(y, TensorList) else None for y in after]
    control.erase(ops)
    variables.put(variables.before)
    pairs = zip(state, shapes, strict=True)
    return [replace(x, shape=s) if isinstance(x, TensorList) and x.shape is None else x for x, s in pairs]


CONTROL: Mapping[str, Callable[[ControlNode], list[Value]]] = MappingProxyType(
    {
        **dict.fromkeys(_CALLS, call),
        **dict.fromkeys(["If", "StatelessIf"], if_),
        **dict.fromkeys(["Case", "StatelessCase"], case),
        **dict.fromkeys(["While", "StatelessWhile"], while_),
    }
)
"""Ops whose attributes are functions that run."""
