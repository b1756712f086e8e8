"""Entries, grids and blocks of queues."""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import ModuleOp

from ttc.dialects.core.errors import Error, nearest
from ttc.dialects.core.ir.locations import source_names
from ttc.dialects.core.ir.to_plain import plain_type
from ttc.dialects.core.machines.targets import Target
from ttc.dialects.core.plain.functions import TensorType
from ttc.dialects.core.records import record
from ttc.dialects.core.rules.queues import QueueRule, names_of, settle
from ttc.dialects.netlist.chips import chip
from ttc.dialects.netlist.model import Blocking, Grid
from ttc.dialects.netlist.ops import GraphOp, NetlistOp, QueueOp, graphs_of, queues_of
from ttc.dialects.netlist.sizes import queue_buffer_bytes
from ttc.passes.base import Pass, Rewriter, Unit
from ttc.passes.netlist.lifetimes import rounds_of
from ttc.passes.tile_to_netlist.layouts import splits


@record
class SizeQueues(Pass):
    """Give every queue its entries and the blocks in which its entries lie.

    What a device op writes lies as the op computes it, one buffer a core.  What the host fills is cut along its longer side into a
    buffer for each DRAM channel, or lies in one piece in host memory if the user wants it there.  A queue holds every microbatch of a
    call; parameters, constants and states hold one entry; a stash holds as many as it was made with, or those of one call if nobody said.
    It lies on the chip that reads it.

    Before:
        netlist.queue() {kind = "input", sym = "x", type = "queue", tensor = !tile.tensor<"32x64xFloat32", "tiles(32, 32)">} : () -> ()
    After:
        netlist.queue() {
            blocking = #netlist.blocking<t = 1, mblock = [1, 1], ublock = [1, 1]>, buffer_bytes = 4160, chip = 0, entries = 1,
            grid = [1, 2], kind = "input", location = "dram", sym = "x", type = "queue",
                tensor = !tile.tensor<"32x64xFloat32", "tiles(32, 32)">} : () -> ()
    Missed:
        never; a rule that cannot hold is an error that says why.

    Args:
        rules: memory and chips that the user asks for.
    """

    name: ClassVar[str] = "size-queues"
    rules: tuple[QueueRule, ...] = ()

    def apply(self, unit: Unit, rewriter: Rewriter) -> None:
        machine = chip(unit.target)
        graphs = list(graphs_of(unit.module).values())
        writers = {write.queue: write.value.owner for graph in graphs for write in graph.writes}
        counts, homes = _counts(unit.module), _homes(graphs)
        queues = queues_of(unit.module)
        _check_rules(self.rules, queues)
        for name, queue in queues.items():
            if not rewriter.allow("size-queue", queue, required=True):
                continue
            tensor = plain_type(queue.tensor)
            writer = writers.get(name)
            asked = settle(self.rules, _names(queue))
            in_flight = queue.entries if queue.kind == "stash" else None
            queue.entries = in_flight or (1 if queue.type == "ram" else counts.get(name, 1))
            queue.chip = homes.get(name, 0)
            _lay_out(queue, tensor, writer if isinstance(writer, NetlistOp) else None, unit.target, asked.location)
            _check_asked(queue, asked, name in homes)
            queue.buffer_bytes = queue_buffer_bytes(tensor, queue.entries, queue.blocking, machine)


def _counts(module: ModuleOp) -> dict[str, int]:
    """Return how many entries each queue needs.

    The host fills and reads a queue once a call: it holds what passes in all rounds of the loops around its graphs.  An edge holds what
    one round passes, and of each round by which a chip may be ahead of the one that reads it.
    """
    graphs = graphs_of(module)
    turns = rounds_of(module)
    stage = {chip: number for number, chip in enumerate(dict.fromkeys(graph.chip for graph in graphs.values()))}
    ends: dict[str, set[int]] = {}
    counts: dict[str, tuple[int, int]] = {}
    for name, graph in graphs.items():
        for port in (*graph.reads, *graph.writes):
            ends.setdefault(port.queue, set()).add(stage[graph.chip])
            count, most = counts.get(port.queue, (1, 1))
            counts[port.queue] = max(count, graph.input_count), max(most, turns.get(name, 1))
    edges = {name for name, queue in queues_of(module).items() if queue.kind == "edge"}
    return {
        name: count * (min(most, max(ends[name]) - min(ends[name]) + 1) if name in edges else most)
        for name, (count, most) in counts.items()
    }


def _homes(graphs: list[GraphOp]) -> dict[str, int]:
    """Return the chip of each queue that a device graph touches: of the graph that reads it, else of the one that writes it."""
    on_device = [graph for graph in graphs if any(isinstance(op.place, Grid) for op in graph.ops)]
    written = {write.queue: graph.chip for graph in on_device for write in graph.writes}
    return written | {read.queue: graph.chip for graph in on_device for read in graph.reads}


def _lay_out(queue: QueueOp, tensor: TensorType, writer: NetlistOp | None, target: Target, location: str | None) -> None:
    if tensor.layout == "rows":
        queue.space, queue.grid, queue.blocking = "host", (1, 1), None
        return
    queue.space = location or "dram"
    if writer is not None and isinstance(writer.place, Grid):
        queue.grid, queue.blocking = (writer.place.rows, writer.place.cols), writer.blocking
        return
    queue.grid, queue.blocking = spread(tensor, target.dram_channels if queue.space == "dram" else 1, even=target.kernels == "buda")


def spread(tensor: TensorType, channels: int, *, even: bool = False) -> tuple[tuple[int, int], Blocking]:
    """Return grid and blocks of a tensor that the host fills: its longer side cut into a buffer for each channel, as far as it has tiles.

    even: into equal parts without padding, as Buda asks for.
    """
    t, rows, cols = tensor.tile_dims()
    longer = max(rows, cols)
    ways = [(parts, share) for parts, share in splits(longer, channels) if not even or parts * share == longer]
    parts, share = ways[-1]
    if cols >= rows:
        return (1, parts), Blocking(t, (rows, share), (1, 1))
    return (parts, 1), Blocking(t, (share, cols), (1, 1))


# ---- what the user asks for --------------------------------------------------------------------------------------------------------------


def _names(queue: QueueOp) -> tuple[str, ...]:
    return names_of(queue.sym, queue.kind, source_names(queue.location))


def _check_rules(rules: tuple[QueueRule, ...], queues: dict[str, QueueOp]) -> None:
    """Every rule is about some queue.  Raises E0504."""
    for rule in rules:
        if not any(rule.matches(_names(queue)) for queue in queues.values()):
            raise Error("E0504", f"no queue matches '{rule.queue}'", hint=nearest(rule.queue, queues))


def _check_asked(queue: QueueOp, asked: QueueRule, touched: bool) -> None:
    """Raises E0504 for a memory or chip that the queue cannot have."""
    if asked.location not in (None, queue.space):
        message = f"it cannot lie in {asked.location}: its tensor is in row layout, which only the host reads and writes"
        raise Error("E0504", message, where=f"queue '{queue.sym}'")
    if asked.chip is not None and asked.chip != queue.chip:
        why = f"chip {queue.chip} reads it" if touched else "no chip touches it"
        raise Error("E0504", f"it cannot lie on chip {asked.chip}: {why}", where=f"queue '{queue.sym}'")
