"""Cutting one graph into several that run one after another, joined by queues."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import field

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from ttc.dialects.core.records import record
from ttc.dialects.netlist.ops import ExecuteOp, GraphOp, NetlistOp, QueueOp, ReadOp, WriteOp, graphs_of, programs_of, queues_of


@record(frozen=False)
class Splitter:
    """Cuts one graph into several, in program order."""

    module: ModuleOp
    graph: GraphOp
    taken: set[str] = field(default_factory=set)  # names of ops and queues, which new queues must not have

    def split(self, sizes: Sequence[int]) -> None:
        """Make a graph of each run of ops.  sizes: ops in each, in order."""
        ops, writes = self.graph.ops, self.graph.writes
        queues = queues_of(self.module)
        self.last = list(queues.values())[-1]
        self.taken.update(queues, (op.sym for graph in graphs_of(self.module).values() for op in graph.ops))
        names = graphs_of(self.module)
        graphs = [self.graph, *[self.new_graph(i, names) for i in range(1, len(sizes))]]
        home: dict[Operation, GraphOp] = {}
        position = 0
        for graph, size in zip(graphs, sizes, strict=True):
            for op in ops[position : position + size]:
                home[op] = graph
            position += size
        self.move(ops, home)
        self.join(ops, home)
        for write in writes:
            owner = write.value.owner
            target = home[owner] if isinstance(owner, NetlistOp) else self.graph
            write.detach()
            target.add(write)
        for read in self.graph.reads:
            if not read.value.uses:
                read.detach()
                read.erase()
        self.extend_programs(graphs)

    def new_graph(self, index: int, taken: Container[str]) -> GraphOp:
        name = free_name(f"{self.graph.sym}_e{index}", taken)
        return GraphOp.build(name, chip=self.graph.chip, input_count=self.graph.input_count, location=self.graph.location)

    def move(self, ops: list[NetlistOp], home: dict[Operation, GraphOp]) -> None:
        """Put ops into their graphs."""
        for op in ops:
            if home[op] is not self.graph:
                op.detach()
                home[op].add(op)

    def join(self, ops: list[NetlistOp], home: dict[Operation, GraphOp]) -> None:
        """Let every op read what another graph holds through a queue."""
        edges: dict[SSAValue, str] = {}
        reads: dict[tuple[GraphOp, SSAValue], SSAValue] = {}
        for op in ops:
            for index, value in enumerate(op.operands):
                owner = value.owner
                if isinstance(owner, ReadOp) and home[op] is not self.graph:
                    edges.setdefault(value, owner.queue)
                elif not (isinstance(owner, NetlistOp) and home[owner] is not home[op]):
                    continue
                elif value not in edges:
                    edges[value] = self.edge(owner, home[owner]).sym
                key = (home[op], value)
                if key not in reads:
                    reads[key] = self.read(home[op], edges[value], value)
                op.operands[index] = reads[key]

    def edge(self, op: NetlistOp, graph: GraphOp) -> QueueOp:
        """Return a queue for the result of an op that a later epoch reads."""
        queue = QueueOp.build(free_name(f"{op.sym}_q", self.taken), "edge", op.result.type, location=op.location)
        self.taken.add(queue.sym)
        self.module.body.block.insert_ops_after([queue], self.last)
        self.last = queue
        graph.add(WriteOp.build(op.result, queue, op.location))
        return queue

    def read(self, graph: GraphOp, queue: str, value: SSAValue) -> SSAValue:
        """Return a value of a graph that it reads from a queue."""
        owner = value.owner
        read = ReadOp.build(queue, value.type, owner.location if isinstance(owner, Operation) else None)
        first = graph.block.first_op
        if first is None:
            graph.add(read)
        else:
            graph.block.insert_ops_before([read], first)
        return read.value

    def extend_programs(self, graphs: list[GraphOp]) -> None:
        """Insert the new graphs behind the old one, in the module and in every program that executes it."""
        after: Operation = self.graph
        for graph in graphs[1:]:
            self.module.body.block.insert_ops_after([graph], after)
            after = graph
        for program in programs_of(self.module).values():
            for op in list(program.walk()):
                if isinstance(op, ExecuteOp) and op.graph == self.graph.sym and op.parent is not None:
                    op.parent.insert_ops_after([ExecuteOp.build(g) for g in graphs[1:]], op)


def free_name(stem: str, taken: Container[str]) -> str:
    """Return the stem, or the stem with a number, whichever is not taken."""
    name, number = stem, 0
    while name in taken:
        number += 1
        name = f"{stem}_{number}"
    return name
