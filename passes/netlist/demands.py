"""What each queue asks of memory: sizes, lifetimes, bytes moved through it, distance to who reads it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field
from math import prod

from xdsl.dialects.builtin import ModuleOp

from ttc.dialects.core.ir.to_plain import plain_block
from ttc.dialects.core.machines.targets import Target
from ttc.dialects.core.records import record
from ttc.dialects.netlist.model import Grid, Op
from ttc.dialects.netlist.occupancy import align
from ttc.dialects.netlist.ops import GraphOp, NetlistOp, QueueOp, graphs_of, queues_of
from ttc.passes.netlist.channels import ChannelDemand, Noc
from ttc.passes.netlist.lifetimes import Span, epochs_of
from ttc.runtime.perf.reads import dims, reads_of


@record(frozen=False)
class QueueUse:
    """The ops that read and write a queue, and how often they do.

    traffic: entries that pass in each phase; readers, writers: places of the ops that do; written: first epoch in which one does.
    An epoch has two phases: L1 is filled with what stays in it, then microbatches stream.
    """

    traffic: dict[int, float] = field(default_factory=dict)
    readers: list[Grid] = field(default_factory=list)
    writers: list[Grid] = field(default_factory=list)
    written: int | None = None
    on_device: bool = False

    def moved(self, epochs: Iterable[int], entries: float, *, streams: bool = True) -> None:
        """Return how many entries are moved in epochs, as they stream or before."""
        for epoch in epochs:
            phase = 2 * epoch + streams
            self.traffic[phase] = self.traffic.get(phase, 0) + entries


def uses_of(module: ModuleOp) -> dict[str, QueueUse]:
    """Return which ops read and write each queue, and how many entries pass."""
    found: dict[str, QueueUse] = {}
    epochs = epochs_of(module)
    in_place = {name for name, queue in queues_of(module).items() if queue.type == "ram"}
    for graph in graphs_of(module).values():
        when, on_device = epochs.get(graph.sym, []), _on_device(graph)
        for read in graph.reads:
            use = found.setdefault(read.queue, QueueUse())
            readers = [(u.operation, u.index) for u in read.value.uses if isinstance(u.operation, NetlistOp)]
            for op, index in readers:
                entries, stays = entries_read(op, index, kept=read.queue in in_place)
                use.moved(when, entries * (1 if stays else graph.input_count), streams=not stays)
            use.readers += _places(op for op, _ in readers)
            use.on_device |= on_device
        for write in graph.writes:
            use = found.setdefault(write.queue, QueueUse())
            use.moved(when, graph.input_count)
            use.writers += _places([write.value.owner])
            use.written = when[0] if when else None
            use.on_device |= on_device
    return found


def entries_read(op: NetlistOp, index: int, *, kept: bool) -> tuple[float, bool]:
    """Return how many entries' worth of bytes an op reads of one input, several reads counted as often, and whether it reads them only
    once.

    kept: whether every microbatch reads the same entry, which is read once where L1 holds it.
    """
    if not isinstance(op.place, Grid) or op.blocking is None:
        return 1.0, False
    plain = Op(op.sym, op.type, ("",) * len(op.operands), op.place, op.blocking, plain_block(op.work.block), op.buffers)
    read = reads_of(plain)[index]
    if read is None:
        return 0.0, kept
    stays = sum(b.tiles * b.copies for b in op.buffers if b.role == f"in{index}") >= read.tiles and not read.chosen
    parts = min(max(round(1.0 / read.part.fraction), 1), op.place.rows * op.place.cols)
    return parts * (read.tiles if stays else read.passes) / prod(dims(read.tensor)), kept and stays


def _places(ops: Iterable[object]) -> list[Grid]:
    return [op.place for op in ops if isinstance(op, NetlistOp) and isinstance(op.place, Grid)]


def _on_device(graph: GraphOp) -> bool:
    return any(isinstance(op.place, Grid) for op in graph.ops)


@record(frozen=False)
class Demands:
    """Computes what queues ask of memory.  horizon: epochs of the longest program."""

    target: Target
    uses: dict[str, QueueUse]
    horizon: int
    known: dict[tuple[Grid, ...], tuple[int, ...]] = field(default_factory=dict)

    def of(self, queue: QueueOp, span: Span | None, channel: int | None) -> ChannelDemand:
        """Return what a queue asks for.  channel: the one it must lie in, None: any."""
        rows, cols = queue.grid or (1, 1)
        first, last = span or (0, self.horizon - 1)
        size, use = queue.buffer_bytes or 0, self.uses.get(queue.sym, QueueUse())
        entry = size // max(queue.entries or 1, 1)
        return ChannelDemand(
            queue.sym,
            align(size, self.target.alignment_bytes),
            rows * cols,
            first,
            last,
            tuple((phase, int(entry * count)) for phase, count in sorted(use.traffic.items())),
            self._hops(tuple(dict.fromkeys(use.readers or use.writers))),
            None if use.written is None else use.written % 2,
            channel,
        )

    def _hops(self, places: tuple[Grid, ...]) -> tuple[int, ...]:
        """Distance of each channel from the middle of the cores of some ops, all together."""
        target = self.target
        if target.noc_size is None or len(target.dram_nodes) != target.dram_channels or len(target.columns) < (target.grid or (0, 0))[1]:
            return ()
        if places not in self.known:
            noc = Noc(target.noc_size, target.dram_nodes)
            each = [noc.hops(*self._middle(place)) for place in places]
            self.known[places] = tuple(sum(hops) for hops in zip(*each, strict=True)) if each else ()
        return self.known[places]

    def _middle(self, place: Grid) -> tuple[int, int]:
        """NoC coordinates of the core in the middle of a grid."""
        rows, cols = (place.cols, place.rows) if place.transposed else (place.rows, place.cols)
        return self.target.columns[place.col + (cols - 1) // 2], self.target.rows[place.row + (rows - 1) // 2]
