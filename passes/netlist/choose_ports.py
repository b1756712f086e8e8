"""The nodes of DRAM and the NoCs by which cores load weights."""

from __future__ import annotations

from typing import ClassVar

from ttc.dialects.core.ir.to_plain import plain_block
from ttc.dialects.core.records import record
from ttc.dialects.netlist.model import Grid, Op
from ttc.dialects.netlist.ops import GraphOp, NetlistOp, QueueOp, ReadOp, graphs_of, queues_of
from ttc.passes.base import Pass, Rewriter, Unit
from ttc.runtime.perf.movement import crossing_rate
from ttc.runtime.perf.ports import Loading, has_ways, ports_of, rate_of
from ttc.runtime.perf.rates import rates_of
from ttc.runtime.perf.reads import Read, reads_of
from ttc.runtime.perf.traffic import loading_of


@record
class ChoosePorts(Pass):
    """Choose by which node of its DRAM channel, and over which NoC, each buffer of a weight is loaded into L1 before an epoch.

    Answers of DRAM that share a link share its rate.  Buffer by buffer that port is taken with which the busiest link is least busy; a
    channel that sends more than one of its nodes does gets several, whose packets take turns.  A remark says what is gained.  Where one
    microbatch passes, those weights alone are loaded beforehand whose queues say so already, by ports that are empty.  Kernels `buda`
    read as the reference's firmware routes it.

    Before:
        netlist.queue() {buffer_bytes = 4160, buffers = #netlist.addresses<[[0, 83623936]]>, chip = 0, entries = 1, grid = [1, 1],
            blocking = #netlist.blocking<t = 1, mblock = [1, 1], ublock = [1, 1]>, key = "w", kind = "constant", location = "dram",
            sym = "w", type = "ram", tensor = !tile.tensor<"32x32xFloat32", "tiles(32, 32)">} : () -> ()
        netlist.graph() {chip = 0, input_count = 2, sym = "g"} : () -> () {
          %w = netlist.read() {queue = "w"} : () -> !tile.tensor<"32x32xFloat32", "tiles(32, 32)">
          %y = netlist.op(%w) {
              blocking = #netlist.blocking<t = 1, mblock = [1, 1], ublock = [1, 1]>,
              buffers = [#netlist.buffer<role = "in0", tiles = 1, tile_bytes = 4128, copies = 1>,
                         #netlist.buffer<role = "out", tiles = 1, tile_bytes = 4128, copies = 2>],
              place = #netlist.grid<row = 0, col = 0, rows = 1, cols = 1>, sym = "a", type = "map"}
              : (!tile.tensor<"32x32xFloat32", "tiles(32, 32)">) -> !tile.tensor<"32x32xFloat32", "tiles(32, 32)"> {
          ^bb0(%a: !tile.tensor<"32x32xFloat32", "tiles(32, 32)">):
            %b = tile.map(%a) {fn = "relu"}
                : (!tile.tensor<"32x32xFloat32", "tiles(32, 32)">) -> !tile.tensor<"32x32xFloat32", "tiles(32, 32)">
            netlist.yield(%b) : (!tile.tensor<"32x32xFloat32", "tiles(32, 32)">) -> ()
          }
        }
    After:
        netlist.queue() {buffer_bytes = 4160, buffers = #netlist.addresses<[[0, 83623936]]>, chip = 0, entries = 1, grid = [1, 1],
            blocking = #netlist.blocking<t = 1, mblock = [1, 1], ublock = [1, 1]>, key = "w", kind = "constant", location = "dram",
            ports = #netlist.addresses<[[0, 1], [0, 0]]>,
            sym = "w", type = "ram", tensor = !tile.tensor<"32x32xFloat32", "tiles(32, 32)">} : () -> ()
        netlist.graph() {chip = 0, input_count = 2, sym = "g"} : () -> () {
          %w = netlist.read() {queue = "w"} : () -> !tile.tensor<"32x32xFloat32", "tiles(32, 32)">
          %y = netlist.op(%w) {
              blocking = #netlist.blocking<t = 1, mblock = [1, 1], ublock = [1, 1]>,
              buffers = [#netlist.buffer<role = "in0", tiles = 1, tile_bytes = 4128, copies = 1>,
                         #netlist.buffer<role = "out", tiles = 1, tile_bytes = 4128, copies = 2>],
              place = #netlist.grid<row = 0, col = 0, rows = 1, cols = 1>, sym = "a", type = "map"}
              : (!tile.tensor<"32x32xFloat32", "tiles(32, 32)">) -> !tile.tensor<"32x32xFloat32", "tiles(32, 32)"> {
          ^bb0(%a: !tile.tensor<"32x32xFloat32", "tiles(32, 32)">):
            %b = tile.map(%a) {fn = "relu"}
                : (!tile.tensor<"32x32xFloat32", "tiles(32, 32)">) -> !tile.tensor<"32x32xFloat32", "tiles(32, 32)">
            netlist.yield(%b) : (!tile.tensor<"32x32xFloat32", "tiles(32, 32)">) -> ()
          }
        }
    Missed:
        a target of which it is not known where cores and DRAM lie on the NoC: its weights are loaded through any port.
    """

    name: ClassVar[str] = "choose-ports"

    def apply(self, unit: Unit, rewriter: Rewriter) -> None:
        target = unit.target
        if target.is_host or target.kernels != "fused" or not has_ways(target):
            return
        rates, queues = rates_of(target), queues_of(unit.module)
        for name, found in _loadings(list(graphs_of(unit.module).values()), queues).items():
            if not rewriter.allow("choose-ports", queues[name]):
                continue
            queues[name].ports = ports = ports_of(target, found)
            rate, usual = rate_of(target, found, ports), crossing_rate(rates, len(set(found.channels)))
            if rate > usual:
                message = f"loaded before its epoch at {rate:.0f} bytes a cycle, through any ports at {usual:.0f}"
                rewriter.applied(queues[name], message, rate=round(rate, 1), usual=round(usual, 1))


def _loadings(graphs: list[GraphOp], queues: dict[str, QueueOp]) -> dict[str, Loading]:
    """Return what ops load of queues before their epochs; of a queue that several read, the largest reader counts."""
    found: dict[str, Loading] = {}
    for graph in graphs:
        for read in graph.reads:
            queue = queues[read.queue]
            if (graph.input_count == 1 and queue.ports is None) or queue.type != "ram" or queue.space != "dram" or not queue.buffers:
                continue
            for loading in _of_readers(read, queue):
                if read.queue not in found or loading.parts * loading.copies > found[read.queue].parts * found[read.queue].copies:
                    found[read.queue] = loading
    return found


def _of_readers(read: ReadOp, queue: QueueOp) -> list[Loading]:
    """Return what each op on cores loads that takes an entry of a queue as it is."""
    found: list[Loading] = []
    for use in read.value.uses:
        op = use.operation
        if isinstance(op, NetlistOp) and isinstance(op.place, Grid) and op.blocking is not None:
            plain = Op(
                op.sym, op.type, ("",) * len(op.operands), op.place, op.blocking, plain_block(op.work.block), op.buffers, inner=op.inner
            )
            how: Read | None = reads_of(plain)[use.index]
            if how is not None:
                found.append(loading_of(plain, queue.grid or (1, 1), queue.buffers or (), how))
    return found
