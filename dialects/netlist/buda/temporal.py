"""Order of computation: of ops in a graph, and which graphs run together."""

from __future__ import annotations

from collections.abc import Iterator
from heapq import heapify, heappop, heappush

from ttc.dialects.core.errors import Error
from ttc.dialects.netlist.buda.form import BudaGraph, BudaNetlist, BudaOp


def ordered(graph: BudaGraph) -> Iterator[BudaOp]:
    """The ops of a graph, each after those it reads, otherwise as written.  Raises E0606 for ops that wait for each other."""
    place = {op.name: index for index, op in enumerate(graph.ops)}
    waits = [len({name for name in op.inputs if name in place}) for op in graph.ops]
    readers: list[list[int]] = [[] for _ in graph.ops]
    for index, op in enumerate(graph.ops):
        for name in {name for name in op.inputs if name in place}:
            readers[place[name]].append(index)
    ready = [index for index, count in enumerate(waits) if count == 0]
    heapify(ready)
    done = 0
    while ready:
        index = heappop(ready)
        done += 1
        yield graph.ops[index]
        for reader in readers[index]:
            waits[reader] -= 1
            if waits[reader] == 0:
                heappush(ready, reader)
    if done < len(graph.ops):
        stuck = next(op.name for op, count in zip(graph.ops, waits, strict=True) if count)
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
