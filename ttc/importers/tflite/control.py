"""Ops that run graphs, or set variables: branches and loops, decided at import where that can be, else structured ops."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeAlias

from xdsl.ir import SSAValue

from ttc.dialects.core.errors import Error
from ttc.importers.common.control import Step, branch, loop
from ttc.importers.common.unsupported import REFUSED, Unsupported
from ttc.importers.tflite.model import Operator
from ttc.importers.tflite.values import Resource, Value
from ttc.importers.tflite.weights import weight_of

if TYPE_CHECKING:
    from ttc.importers.tflite.walk import Scope, Walker

Control: TypeAlias = "Callable[[Walker, Operator, Sequence[Value], Scope, str], Sequence[Value]]"
MAX_UNROLLED = 1 << 12
"""Operators of a loop, once its iterations are written out."""


class _Passed(Exception):
    """A body holds an operator that was refused: its loop or branch is passed over."""


def call(walker: Walker, operator: Operator, operands: Sequence[Value], scope: Scope, name: str) -> Sequence[Value]:
    """A graph in the op's place."""
    number = operator.options["subgraph" if operator.op == "CALL" else "decomposition_subgraph_index"]
    return walker.walk(number, operands, scope.calls, f"{name}/")


def call_once(walker: Walker, operator: Operator, operands: Sequence[Value], scope: Scope, name: str) -> Sequence[Value]:
    """A graph that gives variables their first values, which must be constants of the model."""
    number = operator.options["init_subgraph_index"]
    if not 0 <= number < len(walker.model.graphs) or number in scope.calls:
        raise Error("E0203", f"there is no graph {number} to start with")
    graph = walker.model.graphs[number]
    handles: dict[int, str] = {}
    for inner in graph.operators:
        if inner.op == "VAR_HANDLE" and inner.outputs:
            handles[inner.outputs[0]] = _handle(inner)
        elif inner.op == "ASSIGN_VARIABLE" and len(inner.inputs) == 2 and inner.inputs[0] in handles and inner.inputs[1] >= 0:
            tensor = graph.tensors[inner.inputs[1]]
            if tensor.data is None and not tensor.is_empty:
                raise Unsupported("variables that start with computed values")
            walker.variables.start(handles[inner.inputs[0]], weight_of(walker.model.data, tensor))
        else:
            raise Unsupported(f"{inner.op} before the first run")
    return []


def _handle(operator: Operator) -> str:
    container, name = operator.options["container"], operator.options["shared_name"]
    return f"{container}/{name}" if container else name or "variable"


def var_handle(walker: Walker, operator: Operator, operands: Sequence[Value], scope: Scope, name: str) -> Sequence[Value]:
    return [Resource(_handle(operator))]


def read_variable(walker: Walker, operator: Operator, operands: Sequence[Value], scope: Scope, name: str) -> Sequence[Value]:
    return [walker.variables.read(_resource(operands))]


def assign_variable(walker: Walker, operator: Operator, operands: Sequence[Value], scope: Scope, name: str) -> Sequence[Value]:
    if len(operands) != 2 or not isinstance(operands[1], SSAValue):
        raise Error("E0203", "a variable is set to nothing")
    walker.variables.assign(_resource(operands), operands[1])
    return []


def _resource(operands: Sequence[Value]) -> str:
    if not operands or not isinstance(operands[0], Resource):
        raise Error("E0203", "takes the handle of a variable")
    return operands[0].name


# ---- branches and loops ----------------------------------------------------------------------------------------------------------


def if_(walker: Walker, operator: Operator, operands: Sequence[Value], scope: Scope, name: str) -> Sequence[Value]:
    """The branch that is taken, if that is known."""
    if not operands or not isinstance(operands[0], SSAValue):
        raise Error("E0203", "a branch without a condition")
    graphs = [operator.options["then_subgraph_index"], operator.options["else_subgraph_index"]]
    b, values = walker.builder, operands[1:]
    known = b.known(operands[0])
    if known is not None and known.size == 1:
        return walker.walk(graphs[0 if known.ravel()[0] else 1], values, scope.calls, f"{name}/")
    bodies = [lambda number=number: _inside(walker, number, values, scope, name) for number in graphs]
    try:
        return branch(b, operands[0], bodies)
    except _Passed:
        return (REFUSED,) * len(operator.outputs)


def while_(walker: Walker, operator: Operator, operands: Sequence[Value], scope: Scope, name: str) -> Sequence[Value]:
    """Iterations are written out as long as the condition is known, and they are few; the rest is a loop."""
    condition, body = operator.options["cond_subgraph_index"], operator.options["body_subgraph_index"]
    values, b = list(operands), walker.builder
    if not 0 <= body < len(walker.model.graphs):
        raise Error("E0203", f"there is no graph {body}")
    cost = len(walker.model.graphs[body].operators) + 1
    for turn in range(MAX_UNROLLED // cost + 1):
        going = _truth(walker.walk(condition, values, scope.calls, f"{name}[{turn}]/"))
        known = b.known(going) if isinstance(going, SSAValue) else None
        if known is None:
            break
        if not known.ravel()[0]:
            return values
        values = walker.walk(body, values, scope.calls, f"{name}[{turn}]/")
    b.enter(name, b.outputs, operator.version)
    return _loop(walker, operator, values, scope, name)


def _loop(walker: Walker, operator: Operator, values: Sequence[Value], scope: Scope, name: str) -> Sequence[Value]:
    condition, body = operator.options["cond_subgraph_index"], operator.options["body_subgraph_index"]
    refused = (REFUSED,) * len(operator.outputs)
    carried = [v for v in values if isinstance(v, SSAValue)]
    if any(v is REFUSED for v in values):
        return refused
    if len(carried) != len(values):
        raise Unsupported("a loop that carries variables")

    def step(number: SSAValue, inner: Sequence[SSAValue]) -> Step:
        made = _inside(walker, body, inner, scope, name)
        return Step(made, going=_one(walker, _inside(walker, condition, made, scope, name)))

    try:
        first = _one(walker, _inside(walker, condition, carried, scope, name, region=False))
        found, _ = loop(walker.builder, step, carried, condition=first)
    except _Passed:
        return refused
    return found


def _inside(walker: Walker, number: int, values: Sequence[Value], scope: Scope, name: str, *, region: bool = True) -> list[SSAValue]:
    """The results of a graph in a region."""
    if not region:
        found = walker.walk(number, values, scope.calls, f"{name}/")
    else:
        with walker.variables.held(), walker.builder.apart():
            found = walker.walk(number, values, scope.calls, f"{name}/")
    made = [v for v in found if isinstance(v, SSAValue)]
    if len(made) != len(found):
        raise _Passed
    return made


def _truth(found: Sequence[Value]) -> Value:
    """The one result of a condition.  Raises E0203."""
    if len(found) != 1:
        raise Error("E0203", "a condition is not one truth value")
    return found[0]


def _one(walker: Walker, found: Sequence[SSAValue]) -> SSAValue:
    if len(found) != 1 or walker.builder.spec(found[0]).elements != 1:
        raise Error("E0203", "a condition is not one truth value")
    return found[0]


CONTROL: Mapping[str, Control] = MappingProxyType(
    {
        "CALL": call,
        "STABLEHLO_COMPOSITE": call,
        "CALL_ONCE": call_once,
        "VAR_HANDLE": var_handle,
        "READ_VARIABLE": read_variable,
        "ASSIGN_VARIABLE": assign_variable,
        "IF": if_,
        "WHILE": while_,
    }
)
"""By op: how it is mapped.  A function of the walker, the operator, its operands, the values around it and its name."""
