"""Order of computation: of ops in a graph, and which graphs run together."""

from __future__ import annotations

from collections.abc import Iterator

from ttc.dialects.core.errors import Error
from ttc.dialects.netlist.buda.form import BudaGraph, BudaNetlist, BudaOp
from ttc.dialects.netlist.order import stable_order


def ordered(graph: BudaGraph) -> Iterator[BudaOp]:
    """Yield the ops of a graph, each after those it reads, otherwise as written.  Raises E0606 for ops that wait for each other."""
    ops = {op.name: op for op in graph.ops}
    order = stable_order({name: [other for other in op.inputs if other in ops] for name, op in ops.items()})
    yield from (ops[name] for name in order)
    if len(order) < len(ops):
        stuck = next(name for name in ops if name not in order)
        raise Error("E0606", f"op '{stuck}' waits for its own result", where=f"graph '{graph.name}'")


def epochs_of(form: BudaNetlist) -> dict[str, int]:
    """Epochs of the graphs that exchange values directly: name -> number, that of the first graph of each epoch in the file.

    The reference also lets epochs that follow each other on other chips run at the same time; that changes no value.
    """
    names = list(form.graphs)
    number = {name: index for index, name in enumerate(names)}
    home = {op.name: number[graph.name] for graph in form.graphs.values() for op in graph.ops}
    parent = list(range(len(names)))

    def root(index: int) -> int:
        while parent[index] != index:
            parent[index] = parent[parent[index]]
            index = parent[index]
        return index

    crossing: set[int] = set()
    for graph in form.graphs.values():
        own = number[graph.name]
        for other in {home[name] for op in graph.ops for name in op.inputs if home.get(name, own) != own}:
            crossing |= {own, other}
            a, b = root(own), root(other)
            parent[max(a, b)] = min(a, b)
    return {names[index]: root(index) for index in sorted(crossing)}
