"""Cutting graphs into epochs, and giving every op its cores and blocks."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass, field
from typing import ClassVar

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from ttc.dialects.core.errors import Error
from ttc.dialects.core.locations import where
from ttc.dialects.core.targets import Target
from ttc.dialects.netlist.model import Grid, Host
from ttc.dialects.netlist.ops import ExecuteOp, GraphOp, NetlistOp, QueueOp, ReadOp, WriteOp, graphs_of, programs_of, queues_of
from ttc.passes.base import Pass, Rewriter, Unit
from ttc.passes.netlist.view import identity_of, main_op, own_buffers, view_of
from ttc.passes.tile_to_netlist.blocking import Candidate, candidates
from ttc.passes.tile_to_netlist.epochs import cut
from ttc.passes.tile_to_netlist.grouping import is_tile_compute

Placed = tuple[Candidate, Grid]


@dataclass(frozen=True)
class Balance(Pass):
    """Cut each device graph into epochs and place its ops, for the least estimated time of the run; values that cross a cut get queues.

    Each op may take any rectangle of cores that covers its result and fits L1; cut points and core counts are chosen together by
    dynamic programming, and the rectangles are packed onto the grid.  Ops of host graphs are placed on the host.

    Before:
        netlist.graph() {chip = 0, input_count = 1, sym = "g"} : () -> () {
          %x = netlist.read() {queue = "x"} : () -> !tile.tensor<"32x64xFloat32", "tiles(32, 32)">
          %y = netlist.op(%x) {sym = "a", type = "map"}
              : (!tile.tensor<"32x64xFloat32", "tiles(32, 32)">) -> !tile.tensor<"32x64xFloat32", "tiles(32, 32)"> {
          ^bb0(%a: !tile.tensor<"32x64xFloat32", "tiles(32, 32)">):
            %b = tile.map(%a) {fn = "relu"}
                : (!tile.tensor<"32x64xFloat32", "tiles(32, 32)">) -> !tile.tensor<"32x64xFloat32", "tiles(32, 32)">
            netlist.yield(%b) : (!tile.tensor<"32x64xFloat32", "tiles(32, 32)">) -> ()
          }
          netlist.write(%y) {queue = "y"} : (!tile.tensor<"32x64xFloat32", "tiles(32, 32)">) -> ()
        }
    After:
        netlist.graph() {chip = 0, input_count = 1, sym = "g"} : () -> () {
          %x = netlist.read() {queue = "x"} : () -> !tile.tensor<"32x64xFloat32", "tiles(32, 32)">
          %y = netlist.op(%x) {
              blocking = #netlist.blocking<t = 1, mblock = [1, 1], ublock = [1, 1]>,
              buffers = [#netlist.buffer<role = "in0", tiles = 1, tile_bytes = 4128, copies = 2>,
                         #netlist.buffer<role = "out", tiles = 1, tile_bytes = 4128, copies = 2>],
              cycles = 283, place = #netlist.grid<row = 0, col = 0, rows = 1, cols = 2>, sym = "a", type = "map"}
              : (!tile.tensor<"32x64xFloat32", "tiles(32, 32)">) -> !tile.tensor<"32x64xFloat32", "tiles(32, 32)"> {
          ^bb0(%a: !tile.tensor<"32x64xFloat32", "tiles(32, 32)">):
            %b = tile.map(%a) {fn = "relu"}
                : (!tile.tensor<"32x64xFloat32", "tiles(32, 32)">) -> !tile.tensor<"32x64xFloat32", "tiles(32, 32)">
            netlist.yield(%b) : (!tile.tensor<"32x64xFloat32", "tiles(32, 32)">) -> ()
          }
          netlist.write(%y) {queue = "y"} : (!tile.tensor<"32x64xFloat32", "tiles(32, 32)">) -> ()
        }
    Missed:
        an op that fits no core is an error that names its need and the limit.
    """

    name: ClassVar[str] = "balance"

    def apply(self, unit: Unit, rewriter: Rewriter) -> None:
        options = _Options(unit.target)
        for graph in list(graphs_of(unit.module).values()):
            if unit.target.grid is None or _is_host(graph):
                for op in graph.ops:
                    op.place = Host()
                continue
            epochs = cut([options.of(op) for op in graph.ops], unit.target.grid, graph.input_count)
            _assign(graph.ops, epochs, rewriter)
            if len(epochs) > 1 and rewriter.allow("cut-epochs", graph):
                _Splitter(unit.module, graph).split([len(e) for e in epochs])


@dataclass
class _Options:
    """Candidates of ops; worked out once for all ops that are alike."""

    target: Target
    known: dict[tuple[object, ...], list[Candidate]] = field(default_factory=dict)

    def of(self, op: NetlistOp) -> list[Candidate]:
        view = view_of(op)
        key = identity_of(view)
        if key not in self.known:
            try:
                self.known[key] = candidates(view, self.target)
            except Error as error:
                raise error.at(where(op)) from None
        return self.known[key]


def _is_host(graph: GraphOp) -> bool:
    """Whether a graph holds host work: its ops are nn ops, or borders to them."""
    return any(not is_tile_compute(main_op(op)) for op in graph.ops)


def _assign(ops: list[NetlistOp], epochs: list[list[Placed]], rewriter: Rewriter) -> None:
    placed = [(number, *entry) for number, epoch in enumerate(epochs) for entry in epoch]
    for op, (number, candidate, place) in zip(ops, placed, strict=True):
        op.place = place
        op.blocking = candidate.blocking
        op.buffers = own_buffers(op, candidate.buffers)
        op.inner = candidate.inner
        op.cycles = candidate.cycles
        rewriter.analysis(
            op,
            f"epoch {number}: {candidate.rows} x {candidate.cols} cores, {candidate.cycles:,} cycles a microbatch",
            cores=candidate.cores,
            cycles=candidate.cycles,
            l1_bytes=sum(b.size_bytes for b in candidate.buffers),
        )


@dataclass
class _Splitter:
    """Cuts one graph into several, in program order."""

    module: ModuleOp
    graph: GraphOp
    taken: set[str] = field(default_factory=set)  # names of ops, which queues must not have

    def split(self, sizes: list[int]) -> None:
        """Make a graph of each run of ops.  sizes: ops in each, in order."""
        ops, writes = self.graph.ops, self.graph.writes
        self.taken.update(op.sym for graph in graphs_of(self.module).values() for op in graph.ops)
        graphs = [self.graph, *[self.new_graph(i) for i in range(1, len(sizes))]]
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

    def new_graph(self, index: int) -> GraphOp:
        name = free_name(f"{self.graph.sym}_e{index}", graphs_of(self.module))
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
        """A queue for the result of an op that a later epoch reads."""
        names = queues_of(self.module)
        queue = QueueOp.build(free_name(f"{op.sym}_q", names.keys() | self.taken), "edge", op.result.type, location=op.location)
        last = list(names.values())[-1]
        self.module.body.block.insert_ops_after([queue], last)
        graph.add(WriteOp.build(op.result, queue, op.location))
        return queue

    def read(self, graph: GraphOp, queue: str, value: SSAValue) -> SSAValue:
        """A value of a graph that it reads from a queue."""
        owner = value.owner
        read = ReadOp.build(queue, value.type, owner.location if isinstance(owner, Operation) else None)
        first = graph.block.first_op
        if first is None:
            graph.add(read)
        else:
            graph.block.insert_ops_before([read], first)
        return read.value

    def extend_programs(self, graphs: list[GraphOp]) -> None:
        """Put the new graphs behind the old one, in the module and in every program that executes it."""
        after: Operation = self.graph
        for graph in graphs[1:]:
            self.module.body.block.insert_ops_after([graph], after)
            after = graph
        for program in programs_of(self.module).values():
            for op in list(program.walk()):
                if isinstance(op, ExecuteOp) and op.graph == self.graph.sym and op.parent is not None:
                    op.parent.insert_ops_after([ExecuteOp.build(g) for g in graphs[1:]], op)


def free_name(stem: str, taken: Container[str]) -> str:
    """The stem, or the stem with a number, whichever is not taken."""
    name, number = stem, 0
    while name in taken:
        number += 1
        name = f"{stem}_{number}"
    return name
