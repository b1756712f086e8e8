"""Cutting graphs into epochs, and giving every op its cores and blocks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ttc.dialects.core.placement_rules import PlacementRule
from ttc.dialects.netlist.model import Host
from ttc.dialects.netlist.ops import GraphOp, NetlistOp, graphs_of, queues_of
from ttc.passes.base import Pass, Rewriter, Unit
from ttc.passes.netlist.nodes import Builder
from ttc.passes.netlist.overrides import Overrides
from ttc.passes.netlist.reasons import considered, decided
from ttc.passes.netlist.split_graph import Splitter
from ttc.passes.netlist.trial import Trial
from ttc.passes.netlist.view import main_op
from ttc.passes.tile_to_netlist.epochs import EFFORTS, Epoch, cut
from ttc.passes.tile_to_netlist.grouping import is_tile_compute
from ttc.passes.tile_to_netlist.problem import Problem

LADDER = 2
"""Effort from which on what less effort finds is found too, and the best is taken."""


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
              cycles = 313, place = #netlist.grid<row = 0, col = 0, rows = 1, cols = 2>, sym = "a", type = "map"}
              : (!tile.tensor<"32x64xFloat32", "tiles(32, 32)">) -> !tile.tensor<"32x64xFloat32", "tiles(32, 32)"> {
          ^bb0(%a: !tile.tensor<"32x64xFloat32", "tiles(32, 32)">):
            %b = tile.map(%a) {fn = "relu"}
                : (!tile.tensor<"32x64xFloat32", "tiles(32, 32)">) -> !tile.tensor<"32x64xFloat32", "tiles(32, 32)">
            netlist.yield(%b) : (!tile.tensor<"32x64xFloat32", "tiles(32, 32)">) -> ()
          }
          netlist.write(%y) {queue = "y"} : (!tile.tensor<"32x64xFloat32", "tiles(32, 32)">) -> ()
        }
    Missed:
        an op that fits no core is an error that names its need and the limit; so is a rule that cannot hold.

    Args:
        effort: from 0, quick and simple, to 3; counted in candidates, sharings of cores and packings that are tried, not in time.
        rules: what the user asks of single ops.
    """

    name: ClassVar[str] = "balance"
    effort: int = 1
    rules: tuple[PlacementRule, ...] = ()

    def apply(self, unit: Unit, rewriter: Rewriter) -> None:
        efforts = (self.effort,) if self.effort < LADDER else range(self.effort + 1)
        builders = [Builder(unit, Overrides(self.rules, effort)) for effort in efforts]
        for graph in list(graphs_of(unit.module).values()):
            if unit.target.grid is None or _is_host(graph):
                for op in graph.ops:
                    if rewriter.allow("place-op", op, required=True):
                        op.place = Host()
                continue
            limits = {i: builders[-1].overrides.limits(op) for i, op in enumerate(graph.ops)} if self.rules else {}
            trial = Trial(unit, graph, graph.ops, queues_of(unit.module), limits)
            found = [self.solved(builder, graph, trial, rewriter) for builder in builders]
            problem, epochs = min(found, key=lambda solution: sum(epoch.cycles for epoch in solution[1]))
            with rewriter.part("assign"):
                _assign(graph.ops, problem, epochs, rewriter)
            if len(epochs) > 1 and rewriter.allow("cut-epochs", graph, required=True):
                with rewriter.part("cut"):
                    Splitter(unit.module, graph).split([len(e.ops) for e in epochs])
        if not unit.target.is_host:
            builders[-1].overrides.require_matched()

    def solved(self, builder: Builder, graph: GraphOp, trial: Trial, rewriter: Rewriter) -> tuple[Problem, list[Epoch]]:
        """A graph's problem and the epochs found for it."""
        with rewriter.part("candidates"):
            problem = builder.problem(graph)
        with rewriter.part("epochs"):
            return problem, cut(problem, EFFORTS[builder.overrides.effort], trial.judge)


def _is_host(graph: GraphOp) -> bool:
    """Whether a graph holds host work: its ops are nn ops, or borders to them."""
    return any(not is_tile_compute(main_op(op)) for op in graph.ops)


def _assign(ops: list[NetlistOp], problem: Problem, epochs: list[Epoch], rewriter: Rewriter) -> None:
    """Write down what was chosen, with remarks on what else was considered."""
    for number, epoch in enumerate(epochs):
        for op, node, entry in zip(ops[epoch.begin :], problem.nodes[epoch.begin :], epoch.ops, strict=False):
            candidate = entry.candidate
            if not rewriter.allow("place-op", op, required=True):
                continue
            op.place = entry.place
            op.blocking = candidate.blocking
            op.buffers = entry.buffers
            op.inner = candidate.inner
            op.cycles = candidate.cycles
            rewriter.analysis(
                op,
                f"epoch {number}: {candidate.text}, {candidate.busy:,} cycles a microbatch; {decided(candidate, epoch)}",
                cores=candidate.cores,
                cycles=candidate.busy,
                l1_bytes=sum(b.size_bytes for b in entry.buffers),
                candidates=considered(node.found, candidate, epoch, problem),
            )
