"""How queues fill the memory of chips: peak, lower bound, fragmentation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ttc.dialects.core.records import record
from ttc.dialects.netlist.model import Chip, Netlist

MAX_CHANNELS = 1024
"""The most channels that are listed one by one."""
ALWAYS = (0, 1 << 62)
"""The lifetime of a queue that holds its value all the time."""


def align(size_bytes: int, alignment_bytes: int) -> int:
    """Return a size rounded up to whole units of alignment."""
    return -(-size_bytes // alignment_bytes) * alignment_bytes


@record(slots=True)
class HeldBytes:
    """Bytes [start, end) of a channel, held in epochs [first, last]."""

    start: int
    end: int
    first: int
    last: int


@record(slots=True)
class ChannelUse:
    """The use of one DRAM channel's memory.

    Args:
        channel: its number.
        peak_bytes: from its first usable byte to the end of the highest range.
        bound_bytes: the most bytes alive in it at one time: no addresses of the same ranges in this channel have a lower peak.
    """

    channel: int
    peak_bytes: int
    bound_bytes: int

    @property
    def fragmentation(self) -> float:
        """The share of the channel's peak that other addresses of the same ranges would save."""
        return 1.0 - self.bound_bytes / self.peak_bytes if self.peak_bytes else 0.0


@record(slots=True)
class MemoryUse:
    """The DRAM of one chip.

    Args:
        chip: its number.
        channels: all of its channels.
        bound_bytes: the most bytes alive at one time in all channels: no choice of channels and addresses takes fewer in all.
        room_bytes: what queues may take of all channels.
    """

    chip: int
    channels: tuple[ChannelUse, ...]
    bound_bytes: int
    room_bytes: int

    @property
    def peak_bytes(self) -> int:
        """Bytes that all channels take, each at its own peak."""
        return sum(channel.peak_bytes for channel in self.channels)

    @property
    def fragmentation(self) -> float:
        """The share of the chip's peak that other channels and addresses could save."""
        return 1.0 - self.bound_bytes / self.peak_bytes if self.peak_bytes else 0.0


def occupancy(netlist: Netlist) -> tuple[MemoryUse, ...]:
    """Use of each chip's DRAM that queues lie in, by growing chip; also of a netlist that nobody has checked."""
    machine = netlist.chip
    unit = max(machine.alignment_bytes, 1)
    ranges: dict[int, dict[int, list[HeldBytes]]] = {}
    for queue in netlist.queues.values():
        if queue.location != "dram" or not queue.buffer_bytes:
            continue
        size = align(queue.buffer_bytes, unit)
        for channel, address in queue.buffers:
            held = HeldBytes(address, address + size, *(queue.lifetime or ALWAYS))
            ranges.setdefault(queue.chip, {}).setdefault(channel, []).append(held)
    room = machine.dram_channels * (machine.dram_channel_bytes - machine.dram_reserved_bytes)
    numbers = channel_numbers(machine)
    return tuple(use_of(chip, ranges[chip], numbers, machine.dram_reserved_bytes, room) for chip in sorted(ranges))


def channel_numbers(machine: Chip) -> range:
    """Return numbers of a chip's DRAM channels."""
    return range(min(max(machine.dram_channels, 0), MAX_CHANNELS))


def use_of(chip: int, ranges: Mapping[int, Sequence[HeldBytes]], channels: Iterable[int], base: int, room_bytes: int) -> MemoryUse:
    """Return the use of one chip's channels, by what each holds.  base: first usable address of a channel."""
    uses = []
    for channel in channels:
        held = ranges.get(channel, ())
        peak = max((r.end for r in held), default=base) - base
        uses.append(ChannelUse(channel, peak, most_alive(held)))
    return MemoryUse(chip, tuple(uses), most_alive([r for held in ranges.values() for r in held]), room_bytes)


def most_alive(ranges: Iterable[HeldBytes]) -> int:
    """Return the most bytes that are alive in one epoch."""
    changes: dict[int, int] = {}
    for held in ranges:
        size = held.end - held.start
        changes[held.first] = changes.get(held.first, 0) + size
        changes[held.last + 1] = changes.get(held.last + 1, 0) - size
    most = alive = 0
    for epoch in sorted(changes):
        alive += changes[epoch]
        most = max(most, alive)
    return most
