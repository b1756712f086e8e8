"""Addresses of queues in DRAM and host memory, by their lifetimes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import ClassVar

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.locations import source_names
from ttc.dialects.core.machines.targets import Target
from ttc.dialects.core.records import record
from ttc.dialects.core.rules.queues import QueueRule, names_of, settle
from ttc.dialects.netlist.occupancy import MemoryUse, use_of
from ttc.dialects.netlist.ops import QueueOp, graphs_of, programs_of, queues_of
from ttc.passes.base import Pass, Rewriter, Unit
from ttc.passes.netlist.arrange import Arrangement, ChannelMemory, arrange
from ttc.passes.netlist.demands import Demands, uses_of
from ttc.passes.netlist.lifetimes import Span, epochs_of, horizon, lifetimes
from ttc.passes.netlist.shortage import shortage

Places = tuple[tuple[int, int], ...]
"""The channel and address of each buffer of a queue."""
PRIVATE_BYTES = 1 << 48
"""The size, in bytes, of memory that the program has to itself: more than any program needs."""


@record
class AllocateMemory(Pass):
    """Give every buffer of every queue a channel and an address; queues that are never alive together may share addresses.

    Positions in time are the executes of a program, counted from 0.  Parameters, constants, states, stashes and queues between chips live
    throughout; inputs from the start of their program, outputs to its end, edges from the graph that writes them to the last that reads
    them, and through the loops that would need them again.  Queues of the host that cores read or write lie in the channels of host
    memory that the chip reaches, the others in memory of the program alone.

    Before:
        netlist.queue() {buffer_bytes = 4160, chip = 0, grid = [1, 2], kind = "constant", location = "dram", sym = "w", type = "ram",
            tensor = !tile.tensor<"32x64xFloat32", "tiles(32, 32)">} : () -> ()
    After:
        netlist.queue() {buffer_bytes = 4160, buffers = #netlist.addresses<[[0, 83623936], [1, 83623936]]>, chip = 0, grid = [1, 2],
            kind = "constant", location = "dram", sym = "w", type = "ram",
                tensor = !tile.tensor<"32x64xFloat32", "tiles(32, 32)">} : () -> ()
    Missed:
        what does not fit is an error that lists the largest queues and what would help.

    Args:
        placement: how the channel of a buffer is chosen, one of `numerics.DRAM_PLACEMENTS`.
        rules: channels that the user asks for.
        static_ports: whether inputs and outputs live throughout as well, so that the host may fill and read them at any time.
    """

    name: ClassVar[str] = "allocate-memory"
    placement: str = "traffic"
    rules: tuple[QueueRule, ...] = ()
    static_ports: bool = False

    def apply(self, unit: Unit, rewriter: Rewriter) -> None:
        queues = queues_of(unit.module)
        with rewriter.part("lifetimes"):
            spans = lifetimes(unit.module, static_ports=self.static_ports)
        with rewriter.part("addresses"):
            places = self._places(list(queues.values()), _Allocator(unit, self.rules, rewriter, spans))
        for name, queue in queues.items():
            if rewriter.allow("allocate-queue", queue, required=True):
                queue.lifetime, queue.buffers = spans[name], places[name]

    def _places(self, queues: list[QueueOp], allocator: _Allocator) -> dict[str, Places]:
        """Channel and address of every buffer, by queue."""
        chips = sorted({queue.chip or 0 for queue in queues if queue.space == "dram"})
        for chip in chips:
            members = [q for q in queues if q.space == "dram" and (q.chip or 0) == chip]
            allocator.dram(members, chip, self.placement, len(chips))
        on_host = [q for q in queues if q.space != "dram"]
        allocator.host([q for q in on_host if allocator.is_reached(q)])
        allocator.private([q for q in on_host if not allocator.is_reached(q)])
        return allocator.found


class _Allocator:
    """Finds places for the queues of one memory after another."""

    def __init__(self, unit: Unit, rules: tuple[QueueRule, ...], rewriter: Rewriter, spans: Mapping[str, Span | None]) -> None:
        self.unit = unit
        self.rules = rules
        self.rewriter = rewriter
        self.spans = spans
        self.found: dict[str, Places] = {}
        self.uses = uses_of(unit.module)
        executed = [epoch for epochs in epochs_of(unit.module).values() for epoch in epochs]
        self.demands = Demands(unit.target, self.uses, max(horizon(list(spans.values())), max(executed, default=0) + 1))

    def is_reached(self, queue: QueueOp) -> bool:
        """Return whether cores read or write a queue."""
        return queue.sym in self.uses and self.uses[queue.sym].on_device

    def dram(self, queues: Sequence[QueueOp], chip: int, placement: str, chips: int) -> None:
        """Place queues in the DRAM of a chip, and remark how full it is."""
        target = self.unit.target
        count, base, limit = target.dram_channels, target.dram_reserved_bytes, target.dram_channel_bytes
        place = f"DRAM of {target.name}" + (f", chip {chip}" if chips > 1 else "")
        found = self._place(queues, ChannelMemory((base,) * count, (limit,) * count, placement), place, chips)
        self._remark(use_of(chip, found.held, range(count), base, count * (limit - base)))

    def host(self, queues: Sequence[QueueOp]) -> None:
        """Place queues in the host's memory that chips reach."""
        target = self.unit.target
        if not queues:
            return
        reserved = target.host_reserved_bytes or (0,) * target.host_channels
        limits = tuple(target.host_channel_bytes - size for size in reserved)
        if not limits:
            raise Error("E0503", f"{target.name} reaches no memory of the host", where=f"queue '{queues[0].sym}'")
        self._place(queues, ChannelMemory((0,) * len(limits), limits, "greatest_capacity"), f"host memory that {target.name} reaches", 1)

    def private(self, queues: Sequence[QueueOp]) -> None:
        """Place queues in memory of the program alone."""
        memory = ChannelMemory((0,), (PRIVATE_BYTES,), "greatest_capacity", self.unit.target.host_channels)
        self._place(queues, memory, "memory of the program", 1)

    def _place(self, queues: Sequence[QueueOp], memory: ChannelMemory, place: str, chips: int) -> Arrangement:
        demands = [self.demands.of(q, self.spans[q.sym], _channel(q, self.rules, memory, self.unit.target)) for q in queues]
        found = arrange(demands, memory, self.demands.horizon)
        if found.failed:  # where memory is short, room alone counts
            found = arrange(demands, replace(memory, policy="greatest_capacity"), self.demands.horizon)
        if found.failed:
            room = [limit - base for base, limit in zip(memory.bases, memory.limits, strict=True)]
            raise shortage(queues, found.failed, room, place, self.unit.target, chips)
        self.found |= found.places
        return found

    def _remark(self, use: MemoryUse) -> None:
        anchor = next(iter(programs_of(self.unit.module).values()), None) or next(iter(graphs_of(self.unit.module).values()), None)
        if anchor is None:
            return
        self.rewriter.analysis(
            anchor,
            f"DRAM of chip {use.chip}: peak {use.peak_bytes:,} bytes, at least {use.bound_bytes:,} are alive at one time, "
            f"{100 * use.fragmentation:.1f} % fragmented",
            chip=use.chip,
            peak_bytes=use.peak_bytes,
            bound_bytes=use.bound_bytes,
            channels=tuple(channel.peak_bytes for channel in use.channels),
        )


def _channel(queue: QueueOp, rules: tuple[QueueRule, ...], memory: ChannelMemory, target: Target) -> int | None:
    """Return the channel that rules ask for, counted from the memory's first.  Raises E0504 for one that is not there."""
    asked = settle(rules, names_of(queue.sym, queue.kind, source_names(queue.location))).channel
    if asked is None or asked - memory.first_channel in range(len(memory.bases)):
        return None if asked is None else asked - memory.first_channel
    last = memory.first_channel + len(memory.bases) - 1
    kind = "DRAM" if queue.space == "dram" else "host memory"
    message = f"there is no channel {asked} of {kind} for it: {target.name} has {memory.first_channel} to {last}"
    raise Error("E0504", message, where=f"queue '{queue.sym}'")
