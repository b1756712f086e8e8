"""A graph as one list of nodes, each one tile or nn op, over numbered values."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeAlias

from ttc.dialects.core.errors import Error
from ttc.dialects.core.plain.functions import RECOMPUTED, TensorType, Work
from ttc.dialects.netlist.model import Graph, Netlist, Op
from ttc.runtime.engines.native.graph.region import Region

if TYPE_CHECKING:
    pass

SHARED = ("argmax", "argmin", "gather", "tree_ensemble")
"""Mnemonics of ops of dialect nn that the host computes, in formats that the device lacks; native code computes them as the tile op."""


Condition: TypeAlias = tuple[int, bool]
"""A value that is one truth, and what it has to be."""


@dataclass(eq=False)
class Node:
    """One op of the graph, as the native engine plans it.

    Args:
        work: what it computes.
        op: of the netlist, that it is a part of.
        operands: numbers of values; None for one that is absent.
        results: numbers of values.
        region: what is computed of its first result before it is stored; further operands of the region are `extras`.
        parts: the nodes that were joined to this one, itself without a region first; none if it was always one.
        wide: floating-point results stay as they are computed, whatever their format: see `prepare.keep_wide`.
        conditions: under which its results are of use, an outer choice before an inner one; see `prepare.choices`.
    """

    work: Work
    op: Op
    operands: tuple[int | None, ...]
    results: tuple[int, ...]
    region: Region | None = None
    extras: tuple[int, ...] = ()
    parts: tuple[Node, ...] = ()
    wide: bool = False
    conditions: tuple[Condition, ...] = ()

    @property
    def unrounded(self) -> bool:
        """Whether floating-point results stay as the kernel computes them, without rounding to their formats."""
        return self.wide or self.op.rounding == "none"

    @property
    def reads(self) -> tuple[int, ...]:
        """The numbers of the values that the node needs."""
        return (*(i for i in self.operands if i is not None), *self.extras)

    @property
    def where(self) -> str:
        """The node's source as people read it."""
        return " + ".join(self.op.location) or self.op.name


@dataclass
class Flat:
    """The nodes of a graph.

    Args:
        types: of values, by number.
        queues: values that are entries of queues, by the queue's name.
        writes: (value, queue) pairs.
        conditions: values that decide whether nodes run.
    """

    nodes: list[Node] = field(default_factory=list)
    types: list[TensorType] = field(default_factory=list)
    queues: dict[str, int] = field(default_factory=dict)
    writes: list[tuple[int, str]] = field(default_factory=list)
    conditions: set[int] = field(default_factory=set)

    def users(self) -> dict[int, list[Node]]:
        """The nodes that read each value, in order."""
        found: dict[int, list[Node]] = {}
        for node in self.nodes:
            for value in dict.fromkeys(node.reads):
                found.setdefault(value, []).append(node)
        return found


def flatten(graph: Graph, netlist: Netlist) -> Flat:
    """Return the nodes of a graph in order; equal works on equal operands are one, but for those that are recomputed.

    Raises E0601, E0609 as the reference engine does.
    """
    flat = Flat()
    named: dict[str, int] = {}
    known: dict[tuple[object, ...], tuple[int, ...]] = {}
    for op in graph.ops:
        if len(op.work.inputs) != len(op.inputs) or len(op.work.outputs) != 1:
            raise Error("E0609", f"the work of op '{op.name}' does not take its {len(op.inputs)} inputs to one result", graph.name)
        values = [_input(flat, name, named, netlist, graph) for name in op.inputs]
        for work in op.work.works:
            values.extend(_node(flat, work, op, values, known))
        named[op.name] = values[op.work.outputs[0]]
    for name, queue in graph.writes:
        if name not in named or queue not in netlist.queues:
            raise Error("E0601", f"graph '{graph.name}' writes '{name}' to '{queue}', one of which does not exist")
        flat.writes.append((named[name], queue))
    return flat


def _input(flat: Flat, name: str, named: dict[str, int], netlist: Netlist, graph: Graph) -> int:
    if name in named:
        return named[name]
    queue = netlist.queues.get(name)
    if queue is None:
        raise Error("E0601", f"an op reads '{name}', which is neither a queue nor an op before it", graph.name)
    if name not in flat.queues:
        flat.queues[name] = _value(flat, queue.tensor)
    return flat.queues[name]


def _node(flat: Flat, work: Work, op: Op, values: list[int], known: dict[tuple[object, ...], tuple[int, ...]]) -> tuple[int, ...]:
    work = _with_lowering(work)
    operands = tuple(None if i is None else values[i] for i in work.operands)
    again = RECOMPUTED in work.location
    identity = (work.op, operands, repr(work.attrs), repr(work.body), repr(work.bodies), work.results, op.rounding, op.precision, again)
    found = known.get(identity)
    if found is None:
        found = known[identity] = tuple(_value(flat, type_) for type_ in work.results)
        flat.nodes.append(Node(work, op, operands, found))
    return found


def _with_lowering(work: Work) -> Work:
    """Work of the host as that of the tile op that shares its kernel, which native code computes in the host's formats, too."""
    dialect, _, mnemonic = work.op.partition(".")
    return replace(work, op=f"tile.{mnemonic}") if dialect == "nn" and mnemonic in SHARED else work


def _value(flat: Flat, type_: TensorType) -> int:
    flat.types.append(type_)
    return len(flat.types) - 1
