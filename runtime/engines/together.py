"""Graphs of one epoch whose ops read each other's results, as one graph each: what one machine runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from graphlib import TopologicalSorter

from ttc.dialects.netlist.model import Graph, Netlist, Op


def together(netlist: Netlist) -> Netlist:
    """Return the netlist with graphs of one epoch whose ops read each other's results as one graph, in the place of the first of them."""
    members: dict[int, list[Graph]] = {}
    for graph in netlist.graphs.values():
        if graph.epoch is not None:
            members.setdefault(graph.epoch, []).append(graph)
    graphs = dict(netlist.graphs)
    gone: set[str] = set()
    for entries in members.values():
        home = {op.name: graph.name for graph in entries for op in graph.ops}
        if all(home.get(name, graph.name) == graph.name for graph in entries for op in graph.ops for name in op.inputs):
            continue
        first, *others = entries
        writes = tuple(write for graph in entries for write in graph.writes)
        graphs[first.name] = replace(first, ops=_in_order([op for graph in entries for op in graph.ops]), writes=writes, epoch=None)
        gone.update(graph.name for graph in others)
    if not gone:
        return netlist
    programs = {
        name: replace(program, instructions=tuple(i for i in program.instructions if i.opcode != "execute" or i.args[0] not in gone))
        for name, program in netlist.programs.items()
    }
    return replace(netlist, graphs={name: graph for name, graph in graphs.items() if name not in gone}, programs=programs)


def _in_order(ops: Sequence[Op]) -> tuple[Op, ...]:
    """Return ops in an order in which each comes behind those it reads."""
    names = {op.name: op for op in ops}
    order = TopologicalSorter({op.name: [name for name in op.inputs if name in names] for op in ops}).static_order()
    return tuple(names[name] for name in order)
