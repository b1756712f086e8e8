"""The ops of a training program that a wrong gradient can come from, found by which variables have wrong ones."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from ttc.dialects.core.plain.functions import all_works
from ttc.dialects.netlist.model import Graph, Op
from ttc.dialects.nn.gradients.maker import PREFIX
from ttc.runtime.program import Program

Names = frozenset[str]


def suspects(program: Program, entry: str, wrong: Collection[str], right: Collection[str]) -> tuple[str, ...]:
    """Return source names of the forward ops of an entry program whose gradients can be what is wrong, in order.

    A wrong rule makes the gradients of all variables wrong that its operand follows from: it is of an op with an operand that follows
    from all whose gradients are wrong, and from none whose gradient is right.
    """
    sources, found = _sources(program, entry), dict[str, None]()
    for graph in _graphs(program, entry):
        for op in graph.ops:
            reached = [sources.get(name, frozenset()) for name in op.inputs]
            sources[op.name] = frozenset().union(*reached)
            names = [name for name in op.location if not name.startswith(PREFIX)]
            told = [*reached, sources[op.name]]  # ops that were fused are one: what is wrong can lie between its parts
            if names and not _is_gradient(op) and any(known.issuperset(wrong) and known.isdisjoint(right) for known in told):
                found |= dict.fromkeys(names)
        for op_name, queue in graph.writes:
            sources[queue] = sources.get(queue, frozenset()) | sources.get(op_name, frozenset())
    return tuple(found)


def _is_gradient(op: Op) -> bool:
    return any(name.startswith(PREFIX) for name in op.location[:1])


def _graphs(program: Program, entry: str) -> Iterator[Graph]:
    """Yield the graphs that an entry program executes, in order."""
    for step in program.entry(entry).instructions:
        if step.opcode == "execute":
            yield program.netlist.graphs[str(step.args[0])]


def _sources(program: Program, entry: str) -> dict[str, Names]:
    """Return the variables that queues hold, or hold what follows from: parameters, and inputs."""
    description = program.description
    by_key: dict[str, Names] = {v.key: frozenset([name]) for name, v in description.parameters.items() if v.key is not None}
    for derived in description.derived:
        leaves = [work.attrs.get("sym") for work in all_works(derived.function)]
        by_key[derived.key] = frozenset(str(name) for name in leaves if name is not None)
    found = {name: by_key[queue.key] for name, queue in program.netlist.queues.items() if queue.key in by_key}
    return found | {q: frozenset([a.name]) for a in program.entry(entry).arguments for q in a.queues}
