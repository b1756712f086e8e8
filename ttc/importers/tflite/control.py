"""Ops that run graphs, or set variables: branches and loops, decided at import where that can be, else structured ops."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Protocol, TypeAlias

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.values import SSAValue
from ttc.dialects.core.records import record
from ttc.importers.common.control import LoopIteration, branch, loop
from ttc.importers.common.unsupported import REFUSED, Unsupported
from ttc.importers.tflite.building import TfliteBuilder
from ttc.importers.tflite.model import Graph, Model, Operator
from ttc.importers.tflite.values import Resource, Value
from ttc.importers.tflite.variables import Variables
from ttc.importers.tflite.weights import weight_of

MAX_UNROLLED = 1 << 12
"""The most operators of a loop, once its iterations are written out."""


class Walks(Protocol):
    """Maps the operators of graphs, as control flow sees it."""

    model: Model
    builder: TfliteBuilder
    variables: Variables

    def walk(self, number: int, inputs: Sequence[Value], calls: tuple[int, ...] = (), prefix: str = "") -> list[Value]: ...


@record
class ControlOperator:
    """An operator that runs graphs or is about variables, on its operands.

    Args:
        calls: numbers of the graphs around it.
        name: of the operator in messages and locations.
    """

    walker: Walks
    operator: Operator
    operands: Sequence[Value]
    calls: tuple[int, ...]
    name: str

    def graph(self, option: str) -> int:
        """Return the graph that an option names."""
        return self.operator.options[option]

    def run(self, number: int, values: Sequence[Value], label: str = "") -> list[Value]:
        """Return the results of a graph, which may run several times, told apart by labels."""
        return self.walker.walk(number, values, self.calls, f"{self.name}{label}/")

    def refused(self) -> Sequence[Value]:
        return (REFUSED,) * len(self.operator.outputs)


Control: TypeAlias = Callable[[ControlOperator], Sequence[Value]]


class _Passed(Exception):
    """A body holds an operator that was refused: its loop or branch is passed over."""


def call(site: ControlOperator) -> Sequence[Value]:
    """Return the results of a graph, in the op's place."""
    return site.run(site.graph("subgraph" if site.operator.op == "CALL" else "decomposition_subgraph_index"), site.operands)


def call_once(site: ControlOperator) -> Sequence[Value]:
    """Run a graph that gives variables their first values, which must be constants of the model."""
    walker, number = site.walker, site.graph("init_subgraph_index")
    if not 0 <= number < len(walker.model.graphs) or number in site.calls:
        raise Error("E0203", f"there is no graph {number} to start with")
    try:
        _start(walker, walker.model.graphs[number])
    except Unsupported:
        walker.variables.refused = True
        raise
    return []


def _start(walker: Walks, graph: Graph) -> None:
    handles: dict[int, str] = {}
    for inner in graph.operators:
        if inner.op == "VAR_HANDLE" and inner.outputs:
            handles[inner.outputs[0]] = walker.variables.resource(_handle(inner))
        elif inner.op == "ASSIGN_VARIABLE" and len(inner.inputs) == 2 and inner.inputs[0] in handles and inner.inputs[1] >= 0:
            tensor = graph.tensors[inner.inputs[1]]
            if tensor.data is None and not tensor.is_empty:
                raise Unsupported("variables that start with computed values")
            walker.variables.start(handles[inner.inputs[0]], weight_of(walker.model.data, tensor))
        else:
            raise Unsupported(f"{inner.op} before the first run")


def _handle(operator: Operator) -> str:
    container, name = operator.options["container"], operator.options["shared_name"]
    return f"{container}/{name}" if container else name or "variable"


def var_handle(site: ControlOperator) -> Sequence[Value]:
    """Return the variable that the options name."""
    return [Resource(site.walker.variables.resource(_handle(site.operator)))]


def read_variable(site: ControlOperator) -> Sequence[Value]:
    """Return what a variable holds at this place."""
    name = _resource(site.operands)
    return site.refused() if site.walker.variables.is_refused(name) else [site.walker.variables.read(name)]


def assign_variable(site: ControlOperator) -> Sequence[Value]:
    """Give a variable another value from here on."""
    value = site.operands[-1] if len(site.operands) == 2 else None
    if not isinstance(value, SSAValue):
        raise Error("E0203", "a variable is set to nothing")
    name = _resource(site.operands)
    if not site.walker.variables.is_refused(name):
        site.walker.variables.assign(name, value)
    return []


def _resource(operands: Sequence[Value]) -> str:
    if not operands or not isinstance(operands[0], Resource):
        raise Error("E0203", "takes the handle of a variable")
    return operands[0].name


# ---- branches and loops ----------------------------------------------------------------------------------------------------------


def if_(site: ControlOperator) -> Sequence[Value]:
    """Return the results of the branch that is taken, if that is known, else of a branch at run time."""
    condition = site.operands[0] if site.operands else None
    if not isinstance(condition, SSAValue):
        raise Error("E0203", "a branch has no condition")
    graphs, b, values = [site.graph("then_subgraph_index"), site.graph("else_subgraph_index")], site.walker.builder, site.operands[1:]
    known = b.known(condition)
    if known is not None and known.size == 1:
        return site.run(graphs[0 if known.ravel()[0] else 1], values)
    try:
        return branch(b, condition, [lambda number=number: _inside(site, number, values) for number in graphs])
    except _Passed:
        return site.refused()


def while_(site: ControlOperator) -> Sequence[Value]:
    """Write iterations out as long as the condition is known, and they are few; the rest is a loop."""
    condition, body = site.graph("cond_subgraph_index"), site.graph("body_subgraph_index")
    walker, values = site.walker, list(site.operands)
    if not 0 <= body < len(walker.model.graphs):
        raise Error("E0203", f"there is no graph {body}")
    cost = len(walker.model.graphs[body].operators) + 1
    for turn in range(MAX_UNROLLED // cost + 1):
        found = site.run(condition, values, f"[{turn}]")
        if len(found) != 1:
            raise Error("E0203", "a condition is not one truth value")
        known = walker.builder.known(found[0]) if isinstance(found[0], SSAValue) else None
        if known is None or known.size != 1:
            break
        if not known.ravel()[0]:
            return values
        values = site.run(body, values, f"[{turn}]")
    return _loop(site, values)


def _loop(site: ControlOperator, values: Sequence[Value]) -> Sequence[Value]:
    condition, body = site.graph("cond_subgraph_index"), site.graph("body_subgraph_index")
    carried = [v for v in values if isinstance(v, SSAValue)]
    if any(v is REFUSED for v in values):
        return site.refused()
    if len(carried) != len(values):
        raise Unsupported("a loop that carries variables")

    def step(number: SSAValue, inner: Sequence[SSAValue]) -> LoopIteration:
        made = _inside(site, body, inner)
        return LoopIteration(made, going=_truth(site, _inside(site, condition, made)))

    try:
        first = _truth(site, _tensors(site.run(condition, carried)))
        site.walker.builder.enter(site.name, site.walker.builder.outputs, site.operator.version)
        return loop(site.walker.builder, step, carried, condition=first)[0]
    except _Passed:
        return site.refused()


def _inside(site: ControlOperator, number: int, values: Sequence[Value]) -> list[SSAValue]:
    """Return the results of a graph in a region, where variables cannot be set."""
    with site.walker.variables.held(), site.walker.builder.apart():
        return _tensors(site.run(number, values))


def _tensors(found: Sequence[Value]) -> list[SSAValue]:
    values = [v for v in found if isinstance(v, SSAValue)]
    if len(values) != len(found):
        raise _Passed
    return values


def _truth(site: ControlOperator, found: Sequence[SSAValue]) -> SSAValue:
    """Return the one result of a condition.  Raises E0203."""
    if len(found) != 1 or site.walker.builder.spec(found[0]).elements != 1:
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
"""How an op with graphs or variables is mapped, by op."""
