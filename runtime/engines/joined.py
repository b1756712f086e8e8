"""Programs that run their graphs one after the other, as one graph each: what an engine does not need kept apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby

from ttc.dialects.netlist.instructions import executed_graphs
from ttc.dialects.netlist.model import Graph, Instruction, Netlist, Program
from ttc.runtime.engines.base import HELD


def joined(netlist: Netlist) -> Netlist:
    """Return the netlist with graphs of each program that can be one joined to one.

    Joined are graphs that a program executes one after another, each once and as often as the others, such as those of all microbatches of
    a training step, and those of its update.  What they write is read by later ones of them alone (then no queue is needed), or by none of
    them.  Others stay as they are.
    """
    graphs, programs = dict(netlist.graphs), dict(netlist.programs)
    for name, program in netlist.programs.items():
        found = _joined(program, netlist)
        if found is not None:
            graphs |= {graph.name: graph for graph in found if graph.name not in graphs}
            programs[name] = replace(program, instructions=tuple(Instruction("execute", (graph.name,)) for graph in found))
    used = {name for program in programs.values() for name in executed_graphs(program)}
    return replace(netlist, graphs={name: graph for name, graph in graphs.items() if name in used}, programs=programs)


def _joined(program: Program, netlist: Netlist) -> list[Graph] | None:
    """Return the graphs that a program executes once those are joined that can be; None if none can."""
    if len(program.instructions) < 2 or any(i.opcode != "execute" or i.settings for i in program.instructions):
        return None
    names = [str(i.args[0]) for i in program.instructions]
    if len(set(names)) < len(names):
        return None
    graphs = [netlist.graphs[name] for name in names]
    runs = [list(run) for _, run in groupby(graphs, key=lambda graph: graph.input_count)]
    results = {queue for r in program.results for queue in r.queues}
    found: list[Graph] = []
    for number, run in enumerate(runs):
        label = f"{program.name} (joined)" if len(runs) == 1 else f"{program.name} (joined {number})"
        outside = results.union(*(netlist.read_by(graph) for other in runs if other is not run for graph in other))
        whole = _whole(run, netlist, outside, label) if len(run) > 1 else None
        found += run if whole is None else [whole]
    return found if len(found) < len(graphs) else None


def _whole(graphs: Sequence[Graph], netlist: Netlist, outside: set[str], name: str) -> Graph | None:
    """Return the graph that several are together, under a name; None if they cannot be one.  outside: queues that others read."""
    inner = _inner(graphs, netlist, outside)
    if inner is None:
        return None
    ops = tuple(replace(op, inputs=tuple(inner.get(name, name) for name in op.inputs)) for graph in graphs for op in graph.ops)
    writes = tuple((op, queue) for graph in graphs for op, queue in graph.writes if queue not in inner)
    return replace(graphs[0], name=name, ops=ops, writes=writes, epoch=None)


def _inner(graphs: Sequence[Graph], netlist: Netlist, outside: set[str]) -> dict[str, str] | None:
    """Return the op behind each queue between the graphs; None if the graphs cannot be one.

    A queue that one graph writes and another reads must be one between epochs, written once and before it is read, whose entries pass as
    they are; states and parameters that change must be read before they are written, and parameters in one microbatch: states that
    several microbatches change are read by no other graph.
    """
    inner: dict[str, str] = {}
    written: set[str] = set()
    for graph in graphs:
        read = netlist.read_by(graph).keys()
        for name in read & written:
            queue = netlist.queues[name]
            plain = queue.kind == "edge" and queue.type == "queue" and queue.view is None and queue.alias is None
            if name not in inner or not plain:
                return None
        for op, name in graph.writes:
            queue = netlist.queues[name]
            if name in written or queue.alias is not None or (graph.input_count > 1 and queue.kind in HELD):
                return None
            written.add(name)
            if queue.kind == "edge" and name not in outside:
                inner[name] = op
    later = {name for graph in graphs for op in graph.ops for name in op.inputs}
    return None if any(name not in later for name in inner) else inner
