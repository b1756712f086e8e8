"""Regions of loops and branches as graphs of their own, which are planned as any graph is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from ttc.dialects.core.formats import format_named
from ttc.dialects.core.plain.functions import Function, TensorType, Work
from ttc.dialects.core.plain.interpret import RegionBody
from ttc.dialects.netlist.model import Graph, Host, Netlist, Op, Queue
from ttc.runtime.engines.base import Plan, Port, ShortPlan, ShortRun, ShortSpec, bound_queues
from ttc.runtime.engines.native.graph.nodes import Node
from ttc.runtime.engines.native.planning.planned_body import PlannedBody
from ttc.runtime.engines.native.planning.python_step import PythonStep
from ttc.runtime.engines.reference import ReferencePlan

GIVEN, MADE = "body_in", "body_out"
"""Stems of the names of queues: entries that a region takes, and gives."""


def is_planned(work: Work) -> bool:
    """Return whether the compiler made tile ops of regions of an op: those have kernels."""
    return any(inner.op.startswith("tile.") for body in work.bodies for inner in body.works)


def planned_bodies(step: PythonStep, netlist: Netlist, plan: Callable[[Graph, Netlist], Plan]) -> list[RegionBody]:
    """Return the regions of an op, ready to run; none if no plan of one is native code in part.

    Args:
        step: of the op.
        netlist: that it is in.
        plan: makes the plan of a graph.
    """
    found: list[PlannedBody] = []
    for body in step.node.work.bodies:
        inner = body_netlist(body, step.node, _keys(body, step), netlist)
        (graph,) = inner.graphs.values()
        made = plan(graph, inner)
        read = bound_queues(graph, inner)
        given = tuple((number, name) for number in range(len(body.inputs)) if (name := f"{GIVEN}{number}") in read)
        results = tuple(queue for _, queue in graph.writes)
        short = _short(made, inner, [name for _, name in given], results)
        found.append(PlannedBody(body, made, given, results, short))
    return [] if all(isinstance(body.plan, ReferencePlan) for body in found) else [*found]


def _short(plan: Plan, netlist: Netlist, given: Sequence[str], made: Sequence[str]) -> ShortRun | None:
    """Return how to run the plan of a region by one prepared call; None if that cannot be."""

    def ports(names: Sequence[str]) -> tuple[Port, ...]:
        types = [netlist.queues[name].tensor for name in names]
        return tuple((name, name, format_named(t.format).compute, t.shape) for name, t in zip(names, types, strict=True))

    return plan.short(ShortSpec(ports(given), ports(made), {}, {})) if isinstance(plan, ShortPlan) else None


def _keys(body: Function, step: PythonStep) -> list[str | None]:
    """Return keys of the constants that the inputs of a region are; None for those that each call is given.

    Values begin at the second operand of a branch, which one chooses, and at the third of a loop, whose region takes the number of the
    iteration first: its input number n is operand number n + 1 as well.  Rows in blocks have no operand before the values.
    """
    work = step.node.work
    before = 0 if work.op == "nn.row_blocks" else 1
    changing = 0 if work.op == "nn.branch" else work.attrs.get("carried" if before else "rows")
    if not isinstance(changing, int):  # in an archive made by others: the op says what is wrong when it runs
        return [None] * len(body.inputs)
    first = changing + 1 if work.op == "nn.loop" else changing
    found: list[str | None] = []
    for number, type_ in enumerate(body.inputs):
        constant = step.constants[number + before] if first <= number < len(step.constants) - before else None
        found.append(constant[0] if constant is not None and constant[1] == type_ else None)
    return found


def body_netlist(body: Function, node: Node, keys: Sequence[str | None], netlist: Netlist) -> Netlist:
    """Return a netlist whose one graph computes a region.

    Args:
        body: the region.
        node: the op that has it.
        keys: of the constants that inputs are; None for inputs that each call is given.
        netlist: that the node is in.
    """
    names = [f"{GIVEN}{number}" for number in range(len(body.inputs))]
    queues = {name: _queue(name, type_, key) for name, type_, key in zip(names, body.inputs, keys, strict=True)}
    types, ops = list(body.inputs), list[Op]()
    for index, work in enumerate(body.works):
        found = _ops(work, f"body_op{index}", names, types, node.op)
        ops.extend(found)
        names.extend(op.name for op in found)
        types.extend(work.results)
    writes: list[tuple[str, str]] = []
    for number, value in enumerate(body.outputs):
        name = f"{MADE}{number}"
        queues[name] = replace(_queue(name, types[value], None), kind="output", source=names[value])
        writes.append((names[value], name))
        if value < len(body.inputs):
            ops.append(_copy(f"body_copy{number}", names[value], types[value], node.op))
            writes[-1] = (ops[-1].name, name)
    graph = Graph(f"{node.op.name}_body", 0, 1, tuple(ops), tuple(writes))
    return Netlist(netlist.chip, queues, {graph.name: graph})


def _ops(work: Work, stem: str, names: Sequence[str], types: Sequence[TensorType], outer: Op) -> list[Op]:
    """Return one op for each result of a work: an op has one."""
    values = list(dict.fromkeys(value for value in work.operands if value is not None))
    places = {value: place for place, value in enumerate(values)}
    operands = tuple(None if value is None else places[value] for value in work.operands)
    inputs, works = tuple(types[value] for value in values), (replace(work, operands=operands),)
    return [
        replace(
            outer,
            name=f"{stem}_{number}",
            type=work.op.partition(".")[2],
            inputs=tuple(names[value] for value in values),
            place=Host(),
            work=Function(inputs, works, (len(values) + number,)),
            location=work.location or outer.location,
        )
        for number in range(len(work.results))
    ]


def _copy(name: str, source: str, type_: TensorType, outer: Op) -> Op:
    """Return an op that hands on what comes in."""
    return replace(outer, name=name, type="nop", inputs=(source,), place=Host(), work=Function((type_,), (), (0,)))


def _queue(name: str, type_: TensorType, key: str | None) -> Queue:
    kind = "input" if key is None else "constant"
    return Queue(name, kind, "queue", "HOST", type_, 1, "host", 0, (1, 1), None, ((0, 0),), 0, key)
