"""Buffers where paths of different depth meet: what the shorter one brings waits in L1 for the longer one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ttc.dialects.netlist.model import Buffer


@dataclass(frozen=True, slots=True)
class Member:
    """An op of an epoch, as waiting depends on it.

    Args:
        reads: (number of an op before it in the epoch, operand, tiles a microbatch on one core).
        lag: microbatches that it needs before its first result: all of one if it sums over what it reads.
        out_tiles: of its result on one core, a microbatch.
        buffers: that it has; free_bytes: of L1 left beside them.
    """

    reads: tuple[tuple[int, int, float], ...]
    lag: float
    out_tiles: int
    buffers: tuple[Buffer, ...]
    free_bytes: int


def lags(members: Sequence[Member]) -> list[tuple[int, int, int, float]]:
    """(reader, operand, source, microbatches) for every read that comes before another read of the same op, by how much before."""
    out: list[float] = []
    found: list[tuple[int, int, int, float]] = []
    for number, member in enumerate(members):
        arrival = max((out[source] for source, _, _ in member.reads), default=0.0)
        found.extend((number, operand, source, arrival - out[source]) for source, operand, _ in member.reads if arrival > out[source])
        out.append(arrival + member.lag)
    return found


def buffered(members: Sequence[Member], margin: float) -> list[tuple[Buffer, ...]]:
    """Buffers of every op, those on shorter paths enlarged to hold what waits, as far as L1 of reader and source has room.

    margin: microbatches on top of what waits, so that the source need not wait in turn.
    """
    buffers = [list(member.buffers) for member in members]
    free = [member.free_bytes for member in members]
    for reader, operand, source, lag in lags(members):
        tiles = next(t for s, o, t in members[reader].reads if (s, o) == (source, operand))
        wanted = lag + margin
        wanted -= _share(buffers[source], "out", members[source].out_tiles)
        had = _share(buffers[reader], f"in{operand}", tiles)
        gained, free[reader] = _enlarge(buffers[reader], f"in{operand}", tiles, wanted - had, free[reader])
        _, free[source] = _enlarge(buffers[source], "out", members[source].out_tiles, wanted - had - gained, free[source])
    return [tuple(found) for found in buffers]


def _share(buffers: Sequence[Buffer], role: str, tiles: float) -> float:
    """Microbatches that a buffer holds."""
    return sum(b.tiles * b.copies for b in buffers if b.role == role) / max(tiles, 1)


def _enlarge(buffers: list[Buffer], role: str, tiles: float, microbatches: float, free: int) -> tuple[float, int]:
    """Add copies to a buffer for so many microbatches, as far as bytes are free; microbatches gained, and bytes left."""
    index = next((i for i, b in enumerate(buffers) if b.role == role), None)
    if index is None or microbatches <= 0:
        return 0.0, free
    found = buffers[index]
    one = found.tiles * found.tile_bytes
    copies = min(-(-int(microbatches * tiles + 0.999) // found.tiles), free // one)
    if copies <= 0:
        return 0.0, free
    buffers[index] = replace(found, copies=found.copies + copies)
    return copies * found.tiles / max(tiles, 1), free - copies * one
