"""Spreading a program over several chips: a pipeline of stages, each on a chip of its own."""

from __future__ import annotations

from typing import ClassVar

from ttc.dialects.core.machines.chip_rows import require_linked
from ttc.dialects.core.records import record
from ttc.dialects.core.rules.placement import PlacementRule
from ttc.dialects.netlist.ops import programs_of
from ttc.passes.base import Pass, Rewriter, Unit


@record
class AssignChips(Pass):
    """Cut the device ops of a program into consecutive stages, one for each chip, that take about as long by the estimate of placement.

    Graphs are cut where stages meet; what crosses goes through a queue on the chip that reads it, written over Ethernet.  Constants lie
    on every chip that reads them.  A batch that is streamed passes in rounds: the program runs its graphs in a loop, so that each chip
    works on another part of the batch.

    A program of several replicas gets chips for each of them.  The stages are those of the first, whose graphs stand in the module; the
    others are equal to it, each on as many chips.

    Before:
        netlist.queue() {kind = "input", sym = "x", tensor = !tile.tensor<"32x64xFloat32", "tiles(32, 32)">, type = "queue"} : () -> ()
        netlist.queue() {kind = "output", sym = "y", tensor = !tile.tensor<"32x64xFloat32", "tiles(32, 32)">, type = "queue"} : () -> ()
        netlist.graph() {chip = 0, input_count = 4, sym = "g"} : () -> () {
          %x = netlist.read() {queue = "x"} : () -> !tile.tensor<"32x64xFloat32", "tiles(32, 32)">
          %a = netlist.op(%x) {sym = "a", type = "map"}
              : (!tile.tensor<"32x64xFloat32", "tiles(32, 32)">) -> !tile.tensor<"32x64xFloat32", "tiles(32, 32)"> {
          ^bb0(%ia: !tile.tensor<"32x64xFloat32", "tiles(32, 32)">):
            %oa = tile.map(%ia) {fn = "exp"}
                : (!tile.tensor<"32x64xFloat32", "tiles(32, 32)">) -> !tile.tensor<"32x64xFloat32", "tiles(32, 32)">
            netlist.yield(%oa) : (!tile.tensor<"32x64xFloat32", "tiles(32, 32)">) -> ()
          }
          %b = netlist.op(%a) {sym = "b", type = "map"}
              : (!tile.tensor<"32x64xFloat32", "tiles(32, 32)">) -> !tile.tensor<"32x64xFloat32", "tiles(32, 32)"> {
          ^bb0(%ib: !tile.tensor<"32x64xFloat32", "tiles(32, 32)">):
            %ob = tile.map(%ib) {fn = "exp"}
                : (!tile.tensor<"32x64xFloat32", "tiles(32, 32)">) -> !tile.tensor<"32x64xFloat32", "tiles(32, 32)">
            netlist.yield(%ob) : (!tile.tensor<"32x64xFloat32", "tiles(32, 32)">) -> ()
          }
          netlist.write(%b) {queue = "y"} : (!tile.tensor<"32x64xFloat32", "tiles(32, 32)">) -> ()
        }
        netlist.program() {sym = "p"} : () -> () {
          netlist.execute() {graph = "g"} : () -> ()
        }
    After:
        netlist.queue() {kind = "input", sym = "x", tensor = !tile.tensor<"32x64xFloat32", "tiles(32, 32)">, type = "queue"} : () -> ()
        netlist.queue() {kind = "output", sym = "y", tensor = !tile.tensor<"32x64xFloat32", "tiles(32, 32)">, type = "queue"} : () -> ()
        netlist.queue() {kind = "edge", sym = "a_q", tensor = !tile.tensor<"32x64xFloat32", "tiles(32, 32)">, type = "queue"} : () -> ()
        netlist.graph() {chip = 0, input_count = 4, sym = "g"} : () -> () {
          %x = netlist.read() {queue = "x"} : () -> !tile.tensor<"32x64xFloat32", "tiles(32, 32)">
          %a = netlist.op(%x) {sym = "a", type = "map"}
              : (!tile.tensor<"32x64xFloat32", "tiles(32, 32)">) -> !tile.tensor<"32x64xFloat32", "tiles(32, 32)"> {
          ^bb0(%ia: !tile.tensor<"32x64xFloat32", "tiles(32, 32)">):
            %oa = tile.map(%ia) {fn = "exp"}
                : (!tile.tensor<"32x64xFloat32", "tiles(32, 32)">) -> !tile.tensor<"32x64xFloat32", "tiles(32, 32)">
            netlist.yield(%oa) : (!tile.tensor<"32x64xFloat32", "tiles(32, 32)">) -> ()
          }
          netlist.write(%a) {queue = "a_q"} : (!tile.tensor<"32x64xFloat32", "tiles(32, 32)">) -> ()
        }
        netlist.graph() {chip = 1, input_count = 4, sym = "g_e1"} : () -> () {
          %a_q = netlist.read() {queue = "a_q"} : () -> !tile.tensor<"32x64xFloat32", "tiles(32, 32)">
          %b = netlist.op(%a_q) {sym = "b", type = "map"}
              : (!tile.tensor<"32x64xFloat32", "tiles(32, 32)">) -> !tile.tensor<"32x64xFloat32", "tiles(32, 32)"> {
          ^bb0(%ib: !tile.tensor<"32x64xFloat32", "tiles(32, 32)">):
            %ob = tile.map(%ib) {fn = "exp"}
                : (!tile.tensor<"32x64xFloat32", "tiles(32, 32)">) -> !tile.tensor<"32x64xFloat32", "tiles(32, 32)">
            netlist.yield(%ob) : (!tile.tensor<"32x64xFloat32", "tiles(32, 32)">) -> ()
          }
          netlist.write(%b) {queue = "y"} : (!tile.tensor<"32x64xFloat32", "tiles(32, 32)">) -> ()
        }
        netlist.program() {sym = "p"} : () -> () {
          netlist.execute() {graph = "g"} : () -> ()
          netlist.execute() {graph = "g_e1"} : () -> ()
        }
    Missed:
        a program that has states stays on the first chip; one of fewer ops than chips leaves chips without work.

    Args:
        chips: in the order of the stages, each linked to the next; those of one replica after those of another.
        rules: of placement; of these, where a chip is to begin.
    """

    name: ClassVar[str] = "assign-chips"
    chips: tuple[int, ...] = (0,)
    rules: tuple[PlacementRule, ...] = ()

    def apply(self, unit: Unit, rewriter: Rewriter) -> None:
        if unit.target.is_host:
            return
        from ttc.passes.netlist.chip_assigner import ChipAssigner  # with the search for places, which devices alone need
        from ttc.passes.netlist.chip_queues import ChipQueues

        programs = list(programs_of(unit.module).values())
        count = max((program.replicas or 1 for program in programs), default=1)
        chips = self.chips[: len(self.chips) // count]
        for begin in range(0, len(self.chips), len(chips)):
            require_linked(unit.target, self.chips[begin : begin + len(chips)])
        for program in programs:
            ChipAssigner(unit, rewriter, program, chips, self.rules).assign()
            program.replica_chips = self.chips if count > 1 else None
        if len(chips) > 1:
            ChipQueues(unit.module).part(rewriter)
