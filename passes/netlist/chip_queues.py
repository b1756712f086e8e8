"""Queues of programs on several chips: each chip reads queues of its own."""

from __future__ import annotations

from dataclasses import field, replace

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue

from ttc.dialects.core.ir.to_plain import plain_type
from ttc.dialects.core.records import record
from ttc.dialects.netlist.ops import GraphOp, NetlistOp, QueueOp, ReadOp, WriteOp, YieldOp, graphs_of, programs_of, queues_of
from ttc.dialects.tile.eltwise import MapOp
from ttc.passes.base import Rewriter
from ttc.passes.netlist.split_graph import free_name
from ttc.passes.netlist.view import on_host

COPIED = ("constant", "parameter")
"""Kinds of queues whose contents every chip that reads them holds."""
KEPT = ("fidelity", "precision", "intermediate", "accumulate")
"""Settings that an op which only passes a value on takes from its neighbours."""


@record(frozen=False)
class ChipQueues:
    """Gives every chip queues of its own.

    What is constant lies on every chip that reads it.  A value that chips besides the first read is written to a queue of each; an input
    comes to the first chip that reads it, where an op passes it on to the others, or from the host to each.

    from_host: whether the host gives an input to each chip that reads it.
    """

    module: ModuleOp
    from_host: bool = False
    taken: set[str] = field(default_factory=set)  # names of ops and queues, which new ones must not have
    written: dict[str, SSAValue] = field(default_factory=dict)  # what the first graph that writes a queue puts into it
    last: dict[str, NetlistOp] = field(default_factory=dict)  # the op behind all others of a graph that passes a value on

    def part(self, rewriter: Rewriter) -> None:
        """Part the queues that graphs of several chips read."""
        queues = queues_of(self.module)
        self.taken.update(queues)
        for graph in graphs_of(self.module).values():
            self.taken.update(op.sym for op in graph.ops)
            for write in graph.writes:
                self.written.setdefault(write.queue, write.value)
        every = self.readers()
        for queue in queues.values():
            readers = every.get(queue.sym, {})
            if len(readers) < 2 or plain_type(queue.tensor).layout == "rows":  # rows lie in the host's memory, which all chips reach
                continue
            if not rewriter.allow("part-queue", queue, required=True):
                continue
            first, *others = readers
            given = queue.kind in COPIED or (self.from_host and queue.kind == "input")
            value = None if given else self.value(queue, readers[first][0])
            copies: list[str] = []
            for chip in others:
                copy = self.copy(queue, chip, value)
                copies.append(copy.sym)
                for read in readers[chip]:
                    read.set("queue", copy.sym)
            if given and queue.kind == "input":
                self.give(queue.sym, copies)

    def give(self, queue: str, copies: list[str]) -> None:
        """Let arguments that the queue carries be carried by its copies, too."""
        for program in programs_of(self.module).values():
            given = tuple(replace(a, replicas=(*a.replicas, *copies)) if a.queue == queue else a for a in program.arguments)
            program.set("arguments", given or None)

    def readers(self) -> dict[str, dict[int, list[ReadOp]]]:
        """Return the reads of each queue by device graphs, by chip, in order of the graphs."""
        found: dict[str, dict[int, list[ReadOp]]] = {}
        for graph in graphs_of(self.module).values():
            for read in () if on_host(graph) else graph.reads:
                found.setdefault(read.queue, {}).setdefault(graph.chip, []).append(read)
        return found

    def value(self, queue: QueueOp, read: ReadOp) -> SSAValue:
        """Return what fills the queues of other chips: what is written to the first one, or else what an op passes on there."""
        written = self.written.get(queue.sym)
        if written is not None:
            return written
        return self.passing(_graph_of(read), read.value, queue).result

    def passing(self, graph: GraphOp, value: SSAValue, queue: QueueOp) -> NetlistOp:
        """Return an op behind a graph's ops that copies a value."""
        work = Block(arg_types=[value.type])
        copy = MapOp.build(work.args[0], location=queue.location, fn="identity")
        work.add_op(copy)
        work.add_op(YieldOp.build(copy.results[0]))
        last = self.last.get(graph.sym) or graph.ops[-1]
        settings = {key: text for key in KEPT if (text := last.get(key)) is not None}
        op = NetlistOp.build(self.fresh(f"{queue.sym}_pass"), [value], work, queue.location, type="map", **settings)
        graph.block.insert_ops_after([op], last)
        self.last[graph.sym] = op
        return op

    def copy(self, queue: QueueOp, chip: int, value: SSAValue | None) -> QueueOp:
        """Return the queue of one more chip; filled as the first is, or with a value of a graph."""
        name = self.fresh(f"{queue.sym}_chip{chip}")
        if value is None:
            made = QueueOp.build(name, queue.kind, queue.tensor, type=queue.type, location=queue.location, key=queue.key)
        else:
            made = QueueOp.build(name, "edge", queue.tensor, location=queue.location)
            if queue.kind == "stash":
                made.kind, made.entries = queue.kind, queue.entries
            owner = value.owner
            if isinstance(owner, Operation):
                _graph_of(owner).add(WriteOp.build(value, made, queue.location))
        self.module.body.block.insert_ops_after([made], queue)
        return made

    def fresh(self, stem: str) -> str:
        """Return a name that no queue or op has."""
        name = free_name(stem, self.taken)
        self.taken.add(name)
        return name


def _graph_of(op: Operation) -> GraphOp:
    graph = op.parent_op()
    if not isinstance(graph, GraphOp):
        raise TypeError(f"{op.name} is in no graph")
    return graph
