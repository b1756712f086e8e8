"""Cutting graphs into epochs, and giving every op its cores and blocks."""

from __future__ import annotations

from typing import ClassVar

from ttc.dialects.core.errors import Error
from ttc.dialects.core.records import record
from ttc.dialects.core.rules.placement import PlacementRule
from ttc.dialects.netlist.model import Host
from ttc.dialects.netlist.ops import GraphOp, graphs_of
from ttc.passes.base import Pass, Rewriter, Unit
from ttc.passes.netlist.view import on_host


@record
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
        effort: from 0, quick and simple, to 2; counted in candidates, sharings of cores and packings that are tried, not in time.
        rules: what the user asks of single ops.
        chips: of all groups that take epochs in turn, one group after another; each epoch that several chips share goes to the next group.
        turns: how many groups there are; 1: epochs stay on their chips.
    Raises: E0101 for another effort, E05xx for what finds no place.
    """

    name: ClassVar[str] = "balance"
    effort: int = 1
    rules: tuple[PlacementRule, ...] = ()
    chips: tuple[int, ...] = ()
    turns: int = 1

    def apply(self, unit: Unit, rewriter: Rewriter) -> None:
        graphs = list(graphs_of(unit.module).values())
        if unit.target.is_host:
            for graph in graphs:
                _place_on_host(graph, rewriter)
            return
        from ttc.passes.netlist.balancer import EFFORTS, Balancer  # with the search for places, which devices alone need
        from ttc.passes.netlist.chip_queues import ChipQueues

        if self.effort not in range(len(EFFORTS)):
            raise Error("E0101", f"there is no effort {self.effort}", hint=f"from 0 to {len(EFFORTS) - 1}")
        balancer = Balancer(unit, rewriter, self.effort, self.rules, self.chips, self.turns)
        for graph in graphs:
            if on_host(graph):
                _place_on_host(graph, rewriter)
            else:
                balancer.place(graph)
        balancer.overrides.require_matched()
        if balancer.shared:
            ChipQueues(unit.module, from_host=True).part(rewriter)


def _place_on_host(graph: GraphOp, rewriter: Rewriter) -> None:
    for op in graph.ops:
        if rewriter.allow("place-op", op, required=True):
            op.place = Host()
