"""Dealing epochs out among chips in turn, where one sample passes through all of them."""

from __future__ import annotations

from typing import ClassVar

from ttc.dialects.core.records import record
from ttc.dialects.netlist.ops import ProgramOp, graphs_of, programs_of
from ttc.passes.base import Pass, Rewriter, Unit
from ttc.passes.netlist.view import on_host


@record
class DealEpochs(Pass):
    """Let each device graph of a program run on the next chip, so that chips load programs while others compute.

    What crosses goes through a queue on the chip that reads it, written over Ethernet; inputs come from the host to each chip that reads
    them.  Constants lie on every chip that reads them.

    Before:
        netlist.queue() {kind = "input", sym = "x", tensor = !tile.tensor<"32x64xFloat32", "tiles(32, 32)">, type = "queue"} : () -> ()
        netlist.queue() {kind = "edge", sym = "a_q", tensor = !tile.tensor<"32x64xFloat32", "tiles(32, 32)">, type = "queue"} : () -> ()
        netlist.queue() {kind = "output", sym = "y", tensor = !tile.tensor<"32x64xFloat32", "tiles(32, 32)">, type = "queue"} : () -> ()
        netlist.graph() {chip = 0, input_count = 1, sym = "g"} : () -> () {
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
        netlist.graph() {chip = 0, input_count = 1, sym = "g_e1"} : () -> () {
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
    After:
        netlist.queue() {kind = "input", sym = "x", tensor = !tile.tensor<"32x64xFloat32", "tiles(32, 32)">, type = "queue"} : () -> ()
        netlist.queue() {kind = "edge", sym = "a_q", tensor = !tile.tensor<"32x64xFloat32", "tiles(32, 32)">, type = "queue"} : () -> ()
        netlist.queue() {kind = "output", sym = "y", tensor = !tile.tensor<"32x64xFloat32", "tiles(32, 32)">, type = "queue"} : () -> ()
        netlist.graph() {chip = 0, input_count = 1, sym = "g"} : () -> () {
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
        netlist.graph() {chip = 1, input_count = 1, sym = "g_e1"} : () -> () {
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
        a program with several microbatches, replicas or states stays as it is.

    Args:
        chips: in turn; nothing is dealt out among fewer than two.
    """

    name: ClassVar[str] = "deal-epochs"
    chips: tuple[int, ...] = ()

    def apply(self, unit: Unit, rewriter: Rewriter) -> None:
        if unit.target.is_host or len(self.chips) < 2:
            return
        from ttc.passes.netlist.chip_queues import ChipQueues  # with the search for places, which devices alone need

        dealt = [self._deal(unit, program, rewriter) for program in programs_of(unit.module).values()]
        if any(dealt):
            ChipQueues(unit.module, from_host=True).part(rewriter)

    def _deal(self, unit: Unit, program: ProgramOp, rewriter: Rewriter) -> bool:
        """Give the device graphs of a program their chips; returns whether they have several."""
        every = graphs_of(unit.module)
        names = dict.fromkeys(str(step.args[0]) for step in program.instructions() if step.opcode == "execute")
        graphs = [every[name] for name in names if not on_host(every[name])]
        whole = program.replicas is None and all(result.updates is None for result in program.outputs)
        if len(graphs) < 2 or not whole or any(graph.input_count > 1 for graph in graphs):
            rewriter.missed(program, "its epochs stay where they are: there is one, or it has several microbatches, replicas or states")
            return False
        if not rewriter.allow("deal-epochs", program):
            return False
        for number, graph in enumerate(graphs):
            graph.chip = self.chips[number % len(self.chips)]
        used = min(len(graphs), len(self.chips))
        rewriter.analysis(program, f"{len(graphs)} epochs are dealt out among {used} chips in turn", chips=used, epochs=len(graphs))
        return True
