"""Buffers where paths of different depth meet: what the shorter one brings waits in L1 for the longer one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ttc.dialects.core.records import record
from ttc.dialects.netlist.model import Buffer

Reads = tuple[tuple[int, int, float], ...]


@record(slots=True)
class ForkMember:
    """What waiting at forks depends on of an op of an epoch.

    Args:
        reads: (number of an op before it in the epoch, operand, tiles a microbatch on one core).
        lag: microbatches that it needs before its first result: all of one if it sums over what it reads.
        out_tiles: of its result on one core, a microbatch.
        buffers: that it has; free_bytes: of L1 left beside them on one core; cores: that it runs on.
    """

    reads: Reads
    lag: float
    out_tiles: int
    buffers: tuple[Buffer, ...]
    free_bytes: int
    cores: int = 1


@record(slots=True)
class Wait:
    """What one operand brings before another one of the same op: how many microbatches, and from where."""

    reader: int
    operand: int
    source: int
    tiles: float
    microbatches: float


@record(slots=True)
class Shortage:
    """An op that lacks L1, with its source, for what waits for it.  bytes: that it would have to have, all cores together."""

    reader: int
    bytes: int


def waits(members: Sequence[ForkMember]) -> list[Wait]:
    """Return every read that comes before another read of the same op."""
    out: list[float] = []
    found: list[Wait] = []
    for number, member in enumerate(members):
        arrival = max((out[source] for source, _, _ in member.reads), default=0.0)
        early = [(source, operand, tiles) for source, operand, tiles in member.reads if arrival > out[source]]
        found.extend(Wait(number, operand, source, tiles, arrival - out[source]) for source, operand, tiles in early)
        out.append(arrival + member.lag)
    return found


def buffered(members: Sequence[ForkMember], margin: float) -> tuple[list[tuple[Buffer, ...]], list[Shortage]]:
    """Return the buffers of every op, those on shorter paths enlarged to hold what waits, as far as L1 of reader and source has room.

    margin: microbatches on top of what waits, so that the source need not wait in turn.
    """
    buffers = [list(member.buffers) for member in members]
    free = [member.free_bytes for member in members]
    short: list[Shortage] = []
    for wait in waits(members):
        reader, source = members[wait.reader], members[wait.source]
        role = f"in{wait.operand}"
        wanted = wait.microbatches + margin - held(buffers[wait.source], "out", source.out_tiles)
        lacking = wanted - held(buffers[wait.reader], role, wait.tiles)
        gained, free[wait.reader] = enlarge(buffers[wait.reader], role, wait.tiles, lacking, free[wait.reader])
        more, free[wait.source] = enlarge(buffers[wait.source], "out", source.out_tiles, lacking - gained, free[wait.source])
        if lacking - gained - more > 1e-6:
            size = next((b.tile_bytes for b in reader.buffers if b.role == role), 0)
            short.append(Shortage(wait.reader, int(wanted * wait.tiles * size * reader.cores)))
    return [tuple(found) for found in buffers], short


def held(buffers: Sequence[Buffer], role: str, tiles: float) -> float:
    """Return how many microbatches a buffer holds.  tiles: of one microbatch."""
    return sum(b.tiles * b.copies for b in buffers if b.role == role) / max(tiles, 1)


def enlarge(buffers: list[Buffer], role: str, tiles: float, microbatches: float, free: int) -> tuple[float, int]:
    """Add copies to a buffer for so many microbatches, as far as bytes are free; returns the microbatches gained, and the bytes left."""
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
