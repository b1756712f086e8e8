"""Rules for graphs that run together, each on a chip of its own."""

from __future__ import annotations

from collections import defaultdict
from graphlib import CycleError, TopologicalSorter

from ttc.dialects.netlist.model import Graph, Netlist
from ttc.dialects.netlist.violations import Findings


def run_together(a: Graph, b: Graph) -> bool:
    """Return whether ops of one graph may read results of the other's: they share an epoch, on different chips."""
    return a.epoch is not None and a.epoch == b.epoch and a.chip != b.chip


def check_epochs(netlist: Netlist, found: Findings) -> None:
    """Graphs of one epoch lie on different chips, run as many microbatches, and do not wait for each other in a circle."""
    together: dict[int, list[Graph]] = defaultdict(list)
    for graph in netlist.graphs.values():
        if graph.epoch is not None:
            together[graph.epoch].append(graph)
    for epoch, graphs in together.items():
        first, taken = graphs[0], {graphs[0].chip: graphs[0].name}
        for graph in graphs[1:]:
            where = f"graph '{graph.name}'"
            clash = taken.setdefault(graph.chip, graph.name)
            found.require(clash == graph.name, "E0603", where, f"runs on chip {graph.chip} in epoch {epoch}, as graph '{clash}' does")
            message = f"runs {graph.input_count} microbatches, but graph '{first.name}' of the same epoch {first.input_count}"
            found.require(graph.input_count == first.input_count, "E0602", where, message)
        if len(graphs) > 1:
            _check_circles(graphs, f"epoch {epoch}", found)


def _check_circles(graphs: list[Graph], where: str, found: Findings) -> None:
    names = {op.name for graph in graphs for op in graph.ops}
    edges = {op.name: [name for name in op.inputs if name in names] for graph in graphs for op in graph.ops}
    try:
        TopologicalSorter(edges).prepare()
    except CycleError as error:
        shown = ", ".join(f"'{name}'" for name in error.args[1][:4])
        found.add("E0606", where, f"ops wait for each other in a circle: {shown}")
