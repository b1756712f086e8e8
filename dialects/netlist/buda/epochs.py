"""Graphs that run together, and the order in which their ops do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ttc.dialects.core.errors import Error
from ttc.dialects.netlist.model import Graph, Netlist, Op
from ttc.dialects.netlist.order import stable_order

CALL = 100_000
"""The work of the smallest op, as the multiplications that take as long."""


@dataclass(frozen=True)
class Epoch:
    """Graphs that exchange values while they run.

    Args:
        graphs: by name.
        ops: of all of them, each after what it reads, with the name of its graph.
        last_use: op -> the position in `ops` of the last that reads it.
        writes: op -> the queues that its result goes to.
        microbatches: that each graph takes.
        work: multiplications, or elements, of one microbatch.
        elements: what its largest op has in memory at a time.
    """

    graphs: Mapping[str, Graph]
    ops: tuple[tuple[str, Op], ...]
    last_use: Mapping[str, int]
    writes: Mapping[str, tuple[str, ...]]
    microbatches: int
    work: int
    elements: int


def epochs_of(netlist: Netlist) -> dict[str, Epoch]:
    """Return the epoch of every graph, by graph.  Raises E0601 for values that do not exist, E0608 for graphs that cannot run together."""
    members: dict[int | str, list[Graph]] = {}
    for graph in netlist.graphs.values():
        members.setdefault(graph.name if graph.epoch is None else graph.epoch, []).append(graph)
    found: dict[str, Epoch] = {}
    for graphs in members.values():
        epoch = epoch_of(graphs, netlist)
        found |= dict.fromkeys(epoch.graphs, epoch)
    return found


def work_of(op: Op) -> int:
    """Multiplications of a product, elements of anything else, and what any op costs: it bounds the time that a run may take."""
    elements = sum(type_.elements for type_ in op.work.inputs)
    results = [work.results[0].elements for work in op.work.works if work.results]
    depth = 1
    if op.inner is not None and len(op.work.inputs) > 1:
        depth = max(op.work.inputs[0].shape[-1:] or (1,))
    return CALL + elements + depth * max(results, default=0)


def elements_of(op: Op) -> int:
    """Return elements that an op has in memory at a time, at most: its inputs, and twice its largest result."""
    results = [type_.elements for work in op.work.works for type_ in work.results]
    return sum(type_.elements for type_ in op.work.inputs) + 2 * max(results, default=0)


def epoch_of(graphs: list[Graph], netlist: Netlist) -> Epoch:
    """Graphs that run together.  Raises E0601, E0608 as `epochs_of`."""
    counts = {graph.input_count for graph in graphs}
    if len(counts) > 1:
        names = ", ".join(f"'{graph.name}'" for graph in graphs[:4])
        raise Error("E0608", f"graphs {names} run together but take different numbers of inputs: {sorted(counts)}")
    owners = {op.name: graph.name for graph in graphs for op in graph.ops}
    ops = [op for graph in graphs for op in graph.ops]
    writes: dict[str, tuple[str, ...]] = {}
    for graph in graphs:
        for op, queue in graph.writes:
            writes[op] = (*writes.get(op, ()), queue)
    order = _ordered(ops, owners, writes, netlist)
    last_use = {name: index for index, op in enumerate(order) for name in op.inputs if name in owners}
    return Epoch(
        {graph.name: graph for graph in graphs},
        tuple((owners[op.name], op) for op in order),
        last_use,
        writes,
        counts.pop(),
        sum(work_of(op) for op in ops),
        max((elements_of(op) for op in ops), default=0),
    )


def _ordered(ops: list[Op], owners: Mapping[str, str], writes: Mapping[str, tuple[str, ...]], netlist: Netlist) -> list[Op]:
    """Return ops after the ops that they read, and where that is possible after those that write a queue of theirs in the same epoch."""
    writers = {queue: op for op, queues in writes.items() for queue in queues if op in owners and netlist.queues[queue].type == "queue"}
    direct = {op.name: [name for name in op.inputs if name in owners] for op in ops}
    for op in ops:
        missing = [name for name in op.inputs if name not in owners and name not in netlist.queues]
        if missing:
            raise Error("E0601", f"op '{op.name}' reads '{missing[0]}', which is neither a queue nor an op that runs with it")
    relayed = {op.name: direct[op.name] + [writers[name] for name in op.inputs if name in writers] for op in ops}
    order = max(stable_order(relayed), stable_order(direct), key=len)  # the first, unless relays go round in a circle
    if len(order) < len(ops):
        raise Error("E0608", f"the ops of graph '{owners[ops[0].name]}' read each other in a circle")
    named = {op.name: op for op in ops}
    return [named[name] for name in order]
