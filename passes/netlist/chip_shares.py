"""Places and epochs of a graph whose ops several chips share: found for one chip, the same on all, where the chips compute alike."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import field

from xdsl.ir import SSAValue

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.locations import CHIP, marked_chip, source_names, where
from ttc.dialects.core.machines.ways import ways_from
from ttc.dialects.core.records import record
from ttc.dialects.netlist.ops import GraphOp, NetlistOp, QueueOp, ReceiveOp, WriteOp, graphs_of, queues_of
from ttc.passes.base import Unit
from ttc.passes.netlist.split_graph import Splitter

Key = tuple[tuple[str, ...], int]
"""What the same op of several chips has in common: its source names but for the chip, and which op of these names it is."""


def is_shared(graph: GraphOp, chips: int) -> bool:
    """Return whether source names of its ops put them on several chips, of so many that there are."""
    marks = {marked_chip(op.location) for op in graph.ops} - {None} if chips > 1 else set()
    return len(marks) > 1 and max(chip or 0 for chip in marks) < chips


@record(frozen=False)
class ChipShares:
    """The ops of a graph by the chip that they run on.

    pattern: the ops of the first chip as a graph of their own, in which results of other chips are those of its own ops that are alike.
    steps: for a pair of such ops, the writer's name and the reader's, the most steps to a chip whose result the reader takes.
    """

    unit: Unit
    graph: GraphOp
    shares: dict[int, dict[Key, NetlistOp]] = field(default_factory=dict)
    keys: dict[NetlistOp, Key] = field(default_factory=dict)
    steps: dict[tuple[str, str], int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        counts: Counter[tuple[int, tuple[str, ...]]] = Counter()
        for op in self.graph.ops:
            chip = marked_chip(op.location) or 0
            names = tuple(name for name in source_names(op.location) if CHIP.fullmatch(name) is None)
            key = names, counts[chip, names]
            counts[chip, names] += 1
            self.keys[op] = key
            self.shares.setdefault(chip, {})[key] = op
        first = max(self.shares.values(), key=len)
        for chip, share in self.shares.items():
            other = next((op for key, op in share.items() if key not in first or first[key].result.type != op.result.type), None)
            if other is not None:
                raise Error("E0503", f"chip {chip} computes what no other chip does", where=where(other))
        self.first = first
        self.pattern = self.made()

    def made(self) -> GraphOp:
        """Return the first chip's ops as a graph that stands alone."""
        graph = self.graph
        values: dict[SSAValue, SSAValue] = {}
        pattern = GraphOp.build(graph.sym, chip=graph.chip, input_count=graph.input_count, location=graph.location)
        for read in graph.reads:
            copy = read.clone()
            pattern.add(copy)
            values[read.value] = copy.value
        mine: dict[SSAValue, SSAValue] = {}
        for op in self.first.values():
            operands = {value: self.own(value, values, mine) for value in op.operands}
            for value in op.operands:
                self.count_steps(value, op)
            copy = op.clone(dict(operands))
            pattern.add(copy)
            mine[op.result] = copy.result
        for write in graph.writes:
            if write.value in mine:
                pattern.add(WriteOp.build(mine[write.value], queues_of(self.unit.module)[write.queue], write.location))
        return pattern

    def own(self, value: SSAValue, reads: Mapping[SSAValue, SSAValue], mine: Mapping[SSAValue, SSAValue]) -> SSAValue:
        """Return what stands for an operand in the pattern."""
        owner = value.owner
        if not isinstance(owner, NetlistOp):
            return reads[value]
        return mine[self.first[self.keys[owner]].result]

    def count_steps(self, value: SSAValue, reader: NetlistOp) -> None:
        """Note how far the chip that computes a value is from the chip of an op that reads it."""
        owner = value.owner
        if not isinstance(owner, NetlistOp):
            return
        here, there = (marked_chip(op.location) or 0 for op in (reader, owner))
        way = ways_from(self.unit.target.links, there).get(here, ())
        if here != there:
            pair = self.first[self.keys[owner]].sym, reader.sym
            self.steps[pair] = max(self.steps.get(pair, 0), len(way), 1)

    @property
    def lists(self) -> list[list[NetlistOp | None]]:
        """For each chip its ops in the order of the pattern's; None where it has none."""
        return [[share.get(key) for key in self.first] for share in self.shares.values()]

    def cut(self, sizes: Sequence[int], groups: Sequence[Sequence[int]] = ()) -> None:
        """Make a graph of each epoch on each chip.

        sizes: ops of the first chip in each epoch; groups: of chips that take epochs in turn, the first those that ops are marked with.
        """
        module = self.unit.module
        begins, position = {}, 0
        keys = list(self.first)
        for number, size in enumerate(sizes):
            begins |= dict.fromkeys(keys[position : position + size], number)
            position += size
        runs = [
            (number, chip, [op for key, op in share.items() if begins[key] == number])
            for number in range(len(sizes))
            for chip, share in self.shares.items()
        ]
        runs = [run for run in runs if run[2]]
        for op in (op for _, _, ops in runs for op in ops):
            op.detach()
            self.graph.add(op)
        before = list(graphs_of(module))
        base = 1 + max((graph.epoch for graph in graphs_of(module).values() if graph.epoch is not None), default=-1)
        first = before.index(self.graph.sym)
        Splitter(module, self.graph).split([len(ops) for _, _, ops in runs])
        graphs = list(graphs_of(module).values())[first : first + len(runs)]
        for graph, (number, chip, _) in zip(graphs, runs, strict=True):
            graph.epoch = base + number
            graph.chip = groups[graph.epoch % len(groups)][groups[0].index(chip)] if groups else chip
        self.receive(graphs)

    def receive(self, graphs: Sequence[GraphOp]) -> None:
        """Let ops take results of their own epoch straight from the chips that compute them, without a queue."""
        queues = queues_of(self.unit.module)
        writers = {write.queue: (graph, write) for graph in graphs for write in graph.writes}
        readers: Counter[str] = Counter()
        for graph in graphs_of(self.unit.module).values():
            for read in graph.reads:
                source, write = writers.get(read.queue, (None, None))
                if write is None or source is None or source.epoch != graph.epoch or not isinstance(write.value.owner, NetlistOp):
                    readers[read.queue] += 1
                    continue
                received = ReceiveOp.build(write.value.owner.sym, read.value.type, read.location)
                graph.block.insert_ops_before([received], read)
                read.value.replace_all_uses_with(received.value)
                read.detach()
                read.erase()
        for name, (_, write) in writers.items():
            if not readers[name] and queues[name].kind == "edge":
                write.detach()
                write.erase()
                _drop(queues[name])


def _drop(queue: QueueOp) -> None:
    queue.detach()
    queue.erase()
