"""Channels and addresses of the queues of one memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

from ttc.dialects.core.records import record
from ttc.dialects.netlist.occupancy import HeldBytes
from ttc.passes.netlist.channels import ChannelDemand, Channels
from ttc.passes.netlist.memory import MemoryBlock, MemoryPacking, pack

ROUNDS = 16
"""How often buffers that found no room are given other channels."""
BY_SIZE = ("traffic", "greatest_capacity", "closest")
"""Policies under which the longest lived and largest queues choose first; the others go by the order of queues."""


@record
class ChannelMemory:
    """Memory of a chip or of the host.

    Args:
        bases, limits: first usable address of each channel, and the end of what is usable.
        policy: one of `numerics.DRAM_PLACEMENTS`.
        first_channel: number of the first channel.
    """

    bases: tuple[int, ...]
    limits: tuple[int, ...]
    policy: str
    first_channel: int = 0


@record(frozen=False)
class Arrangement:
    """The outcome: (channel, address) of every buffer by queue, what each channel holds, and queues that found no room."""

    places: dict[str, tuple[tuple[int, int], ...]] = field(default_factory=dict)
    held: dict[int, list[HeldBytes]] = field(default_factory=dict)
    failed: list[str] = field(default_factory=list)


@record
class _Run:
    """Buffers `numbers` of a queue, which lie one after another in one channel."""

    demand: ChannelDemand
    numbers: tuple[int, ...]


def arrange(demands: Sequence[ChannelDemand], memory: ChannelMemory, epochs: int) -> Arrangement:
    """Give every buffer of every queue a channel and an address.

    Channels are chosen buffer by buffer; then each channel is packed.  What ends beyond a channel's limit goes to another channel.
    """
    channels = Channels([limit - base for base, limit in zip(memory.bases, memory.limits, strict=True)], epochs, memory.policy)
    order = sorted(demands, key=lambda d: (d.first - d.last, -d.size_bytes * d.count)) if memory.policy in BY_SIZE else demands
    chosen: dict[tuple[ChannelDemand, int], int] = {}
    found = Arrangement()
    for demand in order:
        for number in range(demand.count):
            channel = channels.choose(demand)
            if channel is None:
                found.failed.append(demand.name)
                break
            chosen[demand, number] = channel
    if found.failed:
        return found
    return _packed(chosen, memory, channels)


def _packed(chosen: dict[tuple[ChannelDemand, int], int], memory: ChannelMemory, channels: Channels) -> Arrangement:
    found = Arrangement()
    stale = set(range(len(memory.bases)))
    banned: dict[tuple[ChannelDemand, int], set[int]] = {}
    layouts: dict[int, tuple[list[_Run], MemoryPacking]] = {}
    beyond: dict[int, list[_Run]] = {}
    for _ in range(ROUNDS):
        layouts |= {channel: _layout(chosen, channel, memory) for channel in sorted(stale)}
        beyond = {channel: _beyond(*layouts[channel], memory.limits[channel]) for channel in sorted(stale)}
        stale = set()
        for channel, runs in beyond.items():
            for key in [(run.demand, number) for run in runs for number in run.numbers]:
                banned.setdefault(key, set()).add(channel)
                other = channels.choose(key[0], frozenset(banned[key]))
                if other is None:
                    found.failed.append(key[0].name)
                    return found
                channels.live[channel, key[0].first : key[0].last + 1] -= key[0].size_bytes
                chosen[key] = other
                stale |= {channel, other}
        if not stale:
            return _gathered(layouts, memory)
    found.failed.append(next(run.demand.name for runs in beyond.values() for run in runs))
    return found


def _layout(chosen: dict[tuple[ChannelDemand, int], int], channel: int, memory: ChannelMemory) -> tuple[list[_Run], MemoryPacking]:
    """Pack one channel: the buffers of a queue in one piece, or piece by piece where they do not fit so."""
    members: dict[ChannelDemand, list[int]] = {}
    for (demand, number), where in chosen.items():
        if where == channel:
            members.setdefault(demand, []).append(number)
    whole = [_Run(demand, tuple(numbers)) for demand, numbers in members.items()]
    packing = _pack(whole, memory.bases[channel])
    if memory.bases[channel] + packing.peak_bytes <= memory.limits[channel]:
        return whole, packing
    pieces = [_Run(demand, (number,)) for demand, numbers in members.items() for number in numbers]
    return pieces, _pack(pieces, memory.bases[channel])


def _pack(runs: Sequence[_Run], base: int) -> MemoryPacking:
    return pack([MemoryBlock(r.demand.size_bytes * len(r.numbers), r.demand.first, r.demand.last) for r in runs], base)


def _beyond(runs: list[_Run], packing: MemoryPacking, limit: int) -> list[_Run]:
    return [r for r, a in zip(runs, packing.addresses, strict=True) if a + r.demand.size_bytes * len(r.numbers) > limit]


def _gathered(layouts: dict[int, tuple[list[_Run], MemoryPacking]], memory: ChannelMemory) -> Arrangement:
    found = Arrangement()
    places: dict[str, dict[int, tuple[int, int]]] = {}
    for index, (runs, packing) in sorted(layouts.items()):
        channel = memory.first_channel + index
        held = found.held.setdefault(channel, [])
        for run, address in zip(runs, packing.addresses, strict=True):
            size = run.demand.size_bytes
            held.append(HeldBytes(address, address + size * len(run.numbers), run.demand.first, run.demand.last))
            for position, number in enumerate(run.numbers):
                places.setdefault(run.demand.name, {})[number] = (channel, address + position * size)
    found.places = {name: tuple(spots[number] for number in sorted(spots)) for name, spots in places.items()}
    return found
