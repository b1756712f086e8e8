"""Where buffers of a run lie: one after the other or in each other's place, by when they are needed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ttc.dialects.core.records import record
from ttc.runtime.engines.native.tensors import ALIGNMENT, Buffer


@record
class Arena:
    """Offsets of buffers in bytes, and the size of all."""

    offsets: Mapping[Buffer, int]
    size_bytes: int


def plan_arena(lifetimes: Mapping[Buffer, tuple[int, int]]) -> Arena:
    """Places for buffers.

    Args:    lifetimes: first and last step that uses each, both included.
    Returns: offsets such that no two buffers that are alive at the same step overlap.  The largest are placed first, each at the
             lowest place where it fits.
    """
    placed: list[tuple[int, int, int, int]] = []
    offsets: dict[Buffer, int] = {}
    order = sorted(lifetimes, key=lambda b: (-b.size_bytes, lifetimes[b]))
    for buffer in order:
        first, last = lifetimes[buffer]
        taken = sorted((start, end) for start, end, born, died in placed if born <= last and first <= died)
        offset = _lowest(taken, buffer.size_bytes)
        offsets[buffer] = offset
        placed.append((offset, offset + _rounded(buffer.size_bytes), first, last))
    return Arena(offsets, max((end for _, end, _, _ in placed), default=0))


def lower_bound(lifetimes: Mapping[Buffer, tuple[int, int]]) -> int:
    """Bytes alive at the step where most are: no plan takes less."""
    changes: dict[int, int] = {}
    for buffer, (first, last) in lifetimes.items():
        changes[first] = changes.get(first, 0) + _rounded(buffer.size_bytes)
        changes[last + 1] = changes.get(last + 1, 0) - _rounded(buffer.size_bytes)
    most = alive = 0
    for step in sorted(changes):
        alive += changes[step]
        most = max(most, alive)
    return most


def _lowest(taken: Sequence[tuple[int, int]], size_bytes: int) -> int:
    place = 0
    for start, end in taken:
        if place + size_bytes <= start:
            return place
        place = max(place, end)
    return place


def _rounded(size_bytes: int) -> int:
    return -(-size_bytes // ALIGNMENT) * ALIGNMENT
