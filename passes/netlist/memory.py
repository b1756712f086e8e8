"""Addresses in one channel, by lifetimes: a search for a low peak over orders of placing and ways of choosing a gap."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.records import record
from ttc.dialects.netlist.occupancy import HeldBytes, most_alive

CLOSE = 1.01
"""The ratio of peak to lower bound at which the search ends."""
BEYOND = 1 << 60
"""An address behind all that a channel has."""


@record(slots=True)
class MemoryBlock:
    """Bytes that need a place in a channel's memory, for some epochs.

    Args:
        size_bytes: a multiple of the channel's alignment.
        first, last: epochs in which they must hold their value, both included.
    """

    size_bytes: int
    first: int
    last: int


@record
class MemoryPacking:
    """Addresses of blocks, in their order, and the bytes from the base to the end of the highest."""

    addresses: tuple[int, ...]
    peak_bytes: int


Order = Callable[[MemoryBlock], tuple[int, ...]]
ORDERS: tuple[Order, ...] = (
    lambda b: (b.first - b.last, -b.size_bytes),
    lambda b: (-b.size_bytes, b.first - b.last),
    lambda b: (-b.size_bytes * (b.last - b.first + 1), b.first),
    lambda b: (b.first, -b.size_bytes),
)
"""Ways to order blocks before they are placed one by one: by length of life, by size, by both, by time."""


def pack(blocks: Sequence[MemoryBlock], base: int) -> MemoryPacking:
    """Return addresses from `base` on at which no two blocks that live together overlap, with a low peak.

    Blocks that live all the time lie at the bottom; the others go, in several orders, each to the lowest or to the tightest gap,
    until the peak is close to the bytes alive at one time.
    """
    span = (min((b.first for b in blocks), default=0), max((b.last for b in blocks), default=0))
    always = [i for i, b in enumerate(blocks) if (b.first, b.last) == span]
    addresses = [0] * len(blocks)
    floor = base
    for index in always:
        addresses[index] = floor
        floor += blocks[index].size_bytes
    held = set(always)
    others = [i for i in range(len(blocks)) if i not in held]
    bound = most_alive(HeldBytes(0, blocks[i].size_bytes, blocks[i].first, blocks[i].last) for i in others)
    best: MemoryPacking | None = None
    for order in ORDERS if others else ():
        for tightest in (False, True):
            found = _place([blocks[i] for i in others], order, floor, tightest=tightest)
            if best is None or found.peak_bytes < best.peak_bytes:
                best = found
            if best.peak_bytes <= CLOSE * bound:
                break
        if best is not None and best.peak_bytes <= CLOSE * bound:
            break
    for index, address in zip(others, best.addresses if best is not None else (), strict=True):
        addresses[index] = address
    return MemoryPacking(tuple(addresses), floor - base + (best.peak_bytes if best is not None else 0))


def _place(blocks: Sequence[MemoryBlock], order: Order, base: int, *, tightest: bool) -> MemoryPacking:
    """Place blocks one by one.  tightest: in the smallest gap that holds a block, otherwise in the lowest."""
    taken = _Taken(len(blocks))
    addresses = [0] * len(blocks)
    for index in sorted(range(len(blocks)), key=lambda i: (*order(blocks[i]), i)):
        addresses[index] = taken.place(blocks[index], base, tightest=tightest)
    peak = max((a + b.size_bytes for a, b in zip(addresses, blocks, strict=True)), default=base) - base
    return MemoryPacking(tuple(addresses), peak)


@record(frozen=False)
class _Taken:
    """Blocks placed so far, by growing address: rows of start, end, first and last epoch."""

    room: int
    rows: NDArray[np.int64] = field(init=False)
    count: int = 0

    def __post_init__(self) -> None:
        self.rows = np.empty((4, self.room), np.int64)

    def place(self, block: MemoryBlock, base: int, *, tightest: bool) -> int:
        """Return the address given to a block, which is taken from now on."""
        rows = self.rows[:, : self.count]
        alive = rows[:, (rows[2] <= block.last) & (rows[3] >= block.first)]
        lows = np.concatenate(([base], np.maximum.accumulate(alive[1])))
        gaps = np.concatenate((alive[0], [BEYOND])) - lows
        fits = gaps >= block.size_bytes
        index = int(np.argmin(np.where(fits, gaps, BEYOND))) if tightest else int(np.argmax(fits))
        address = int(lows[index])
        at = int(np.searchsorted(rows[0], address, side="right"))
        self.rows[:, at + 1 : self.count + 1] = self.rows[:, at : self.count]
        self.rows[:, at] = (address, address + block.size_bytes, block.first, block.last)
        self.count += 1
        return address
