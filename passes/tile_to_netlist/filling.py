"""How the first microbatch passes the ops of epochs, part by part: when each op hands on its first results, and when it is through.

An op begins when the first part of all that it reads is there, and is through when it has worked long enough, and has worked on the
last part that it reads.  Results come out part by part, or late where they are sums, whole at the ends of steps alone.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ttc.runtime.perf.epoch import GRANULES

Floats = NDArray[np.float64]
LEAST = 1e-9
"""The least cycles by which something is divided."""


def filled(reads: Sequence[Sequence[int]], begin: int, busy: Floats, first: Floats) -> Floats:
    """Return the cycles of the first microbatch through the epochs that begin with an op, by number of ops less one (row) and setting.

    Args:
        reads: for each op from `begin` on the numbers of those it reads.
        begin: number of the first op.
        busy, first: cycles of each op (row) for a microbatch, and until its first results come out, at each setting (column).
    """
    soon, late = np.zeros_like(busy), np.zeros_like(busy)  # when results come out, the first ones and all of them
    tail = tails(busy, first)
    nothing = np.zeros(busy.shape[1:])
    for number, sources in enumerate(reads[: len(busy)]):
        inside = [source - begin for source in sources if source >= begin]
        early, whole, rest = (part[inside].max(axis=0) if inside else nothing for part in (soon, late, tail))
        soon[number], late[number] = handed(early, whole, rest, busy[number], first[number])
    return np.maximum.accumulate(late, axis=0)


def fills(reads: Sequence[Sequence[int]], busy: Floats, first: Floats, begins: range, longest: int) -> list[Floats]:
    """Return for each of several consecutive ops what `filled` does for the epochs that begin with it.

    reads, busy, first: of all ops; longest: the most ops of an epoch.
    """
    count, (ops, settings) = len(begins), busy.shape
    last = min(begins.stop - 1 + longest, ops)
    shape = (last - begins.start, count, settings)
    soon, late, through = (np.zeros(shape) for _ in range(3))  # by op, and first op of the epoch
    tail = tails(busy, first)
    for place in range(shape[0]):
        number = begins.start + place
        sources = [source - begins.start for source in reads[number] if source >= begins.start]
        early, whole, rest = (np.zeros(shape[1:]) for _ in range(3))
        for source in sources:  # it is in the epochs that begin with it, or before it
            known = slice(0, source + 1)
            np.maximum(early[known], soon[source, known], out=early[known])
            np.maximum(whole[known], late[source, known], out=whole[known])
            np.maximum(rest[known], tail[source + begins.start], out=rest[known])
        soon[place], late[place] = handed(early, whole, rest, busy[number], first[number])
        through[place] = late[place] if place == 0 else np.maximum(late[place], through[place - 1])
        if 0 < place < count:
            through[place, place:] = late[place, place:]
    return [through[i : i + longest, i] for i in range(count)]


def tails(busy: Floats, first: Floats) -> Floats:
    """Return the part of the results of each op that comes out last, all at once."""
    return first / np.maximum(busy, LEAST)


def handed(soon: Floats, late: Floats, tail: Floats, busy: Floats, first: Floats) -> tuple[Floats, Floats]:
    """Return when an op hands on its first results, and its last ones.

    soon, late: when the first and the last part of what it reads are there; tail: how much of all that last part is; busy, first: its
    cycles, and those until results come out.
    """
    part = busy / GRANULES
    awaited = (first - part) / np.maximum(busy - part, LEAST)  # the part of what it reads, but for the first, before results come out
    out = np.maximum(soon + first, soon + (late - soon) * awaited + part)
    return out, np.maximum(np.maximum(soon + busy, late + busy * tail), out)
