"""Programs that run their graphs one after the other, as one graph each: what an engine does not need kept apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ttc.dialects.netlist.instructions import executed_graphs
from ttc.dialects.netlist.model import Graph, Instruction, Netlist, Program
from ttc.runtime.engines.base import HELD


def joined(netlist: Netlist) -> Netlist:
    """Return the netlist with the graphs of each program that can be one joined to one.

    Such a program executes several graphs, each once and as often as the others, and what it writes is read by later graphs of its own
    alone (then no queue is needed), or by none of them.  Others stay as they are.
    """
    graphs, programs = dict(netlist.graphs), dict(netlist.programs)
    for name, program in netlist.programs.items():
        whole = _whole(program, netlist)
        if whole is not None:
            graphs[whole.name] = whole
            programs[name] = replace(program, instructions=(Instruction("execute", (whole.name,)),))
    used = {name for program in programs.values() for name in executed_graphs(program)}
    return replace(netlist, graphs={name: graph for name, graph in graphs.items() if name in used}, programs=programs)


def _whole(program: Program, netlist: Netlist) -> Graph | None:
    if len(program.instructions) < 2 or any(i.opcode != "execute" or i.settings for i in program.instructions):
        return None
    names = [str(i.args[0]) for i in program.instructions]
    graphs = [netlist.graphs[name] for name in names]
    if len(set(names)) < len(names) or len({graph.input_count for graph in graphs}) > 1:
        return None
    inner = _inner(graphs, netlist, {queue for r in program.results for queue in r.queues})
    if inner is None:
        return None
    ops = tuple(replace(op, inputs=tuple(inner.get(name, name) for name in op.inputs)) for graph in graphs for op in graph.ops)
    writes = tuple((op, queue) for graph in graphs for op, queue in graph.writes if queue not in inner)
    return replace(graphs[0], name=f"{program.name} (joined)", ops=ops, writes=writes, epoch=None)


def _inner(graphs: Sequence[Graph], netlist: Netlist, results: set[str]) -> dict[str, str] | None:
    """Return the op behind each queue between the graphs; None if the graphs cannot be one.

    A queue that one graph writes and another reads must be one between epochs, written once and before it is read, whose entries pass as
    they are; states and parameters that change must be read before they are written, and in one microbatch.
    """
    inner: dict[str, str] = {}
    written: set[str] = set()
    for graph in graphs:
        read = netlist.read_by(graph).keys()
        for name in read & written:
            queue = netlist.queues[name]
            plain = queue.kind == "edge" and queue.type == "queue" and queue.view is None and queue.alias is None
            if name not in inner or not plain or name in results:
                return None
        for op, name in graph.writes:
            queue = netlist.queues[name]
            if name in written or queue.alias is not None or (graph.input_count > 1 and queue.kind in (*HELD, "state")):
                return None
            written.add(name)
            if queue.kind == "edge":
                inner[name] = op
    later = {name for graph in graphs for op in graph.ops for name in op.inputs}
    early = [name for name in inner if name not in later or name in results]
    return None if early else inner
