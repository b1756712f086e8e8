"""Cuts into few epochs that the estimate of the whole run favours, moved where that makes the run shorter.

The time by which a single epoch makes a run longer cannot say that one which ends late holds up a short one behind it.  Where a run has few
epochs that decides, so whole runs are estimated, from when each epoch has its cores and what it reads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from math import inf
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.records import record
from ttc.passes.tile_to_netlist.filling import filled
from ttc.passes.tile_to_netlist.problem import Problem
from ttc.passes.tile_to_netlist.repeating import Window
from ttc.passes.tile_to_netlist.sharing import Family

MOST = 4
"""The most epochs of a run whose cuts are moved."""
STEPS = (2, 1)
"""By how many ops a cut is moved, one after another."""
PLACES = {2: 64, 3: 48, 4: 20}
"""Between how many groups of ops a run is cut into a number of epochs."""
APART = 2
"""The number of ops by which cuts differ at least that are both tried."""

Begins = tuple[int, ...]
"""The first op of each epoch."""
Run = TypeVar("Run")


@record
class EpochFigures:
    """What epochs may take, by their first op (row) and number of ops (column): cycles of the first microbatch, and between two.

    Without end where no sharing of cores is possible.
    """

    fill: NDArray[np.float64]
    interval: NDArray[np.float64]

    @staticmethod
    def of(problem: Problem, families: Sequence[Family], longest: int) -> EpochFigures:
        """Return the figures of the sharings of cores with which each epoch makes the run least longer."""
        count = len(problem.nodes)
        fill, interval = (np.full((count, longest + 1), inf) for _ in range(2))
        for begin in range(count):
            ends = min(longest, count - begin)
            least = np.full(ends, inf)
            for family in families:
                rows = slice(begin, begin + ends)
                first = filled([node.reads for node in problem.nodes[rows]], begin, family.busy[rows], family.first[rows])
                times = family.timed([problem], begin, first)[0]
                chosen = np.arange(ends), np.argmin(times, axis=1)
                better = times[chosen] < least
                least = np.where(better, times[chosen], least)
                for table, values in ((fill, first), (interval, np.maximum.accumulate(family.busy[rows], axis=0))):
                    table[begin, 1 : ends + 1] = np.where(better, values[chosen], table[begin, 1 : ends + 1])
        return EpochFigures(fill, interval)

    def run(self, begins: Begins, input_count: int) -> float:
        """Return estimated cycles of a run, loading left out.

        An epoch begins when the first cores of the one before are through, not before that has its first microbatch, and so late that it
        finds the last microbatch when it comes to that.
        """
        count, origin, end, interval, fill = len(self.fill), 0.0, 0.0, 0.0, 0.0
        for first, last in windows_of(begins, count):
            if last - first >= self.fill.shape[1]:
                return inf
            before, ready = interval, origin + fill
            fill, interval = float(self.fill[first, last - first]), float(self.interval[first, last - first])
            origin = max(origin + input_count * before, end - (input_count - 1) * interval, ready) if first else 0.0
            end = origin + fill + (input_count - 1) * interval
        return end


def windows_of(begins: Begins, count: int) -> tuple[Window, ...]:
    """Return the (begin, end) of each epoch of so many ops."""
    return tuple(zip(begins, (*begins[1:], count), strict=True))


def likely(figures: EpochFigures, input_count: int, wanted: int) -> list[Begins]:
    """Return the cuts into few epochs with the least estimated runs, the best first, no two of them nearly the same."""
    count = len(figures.fill)
    ranked = sorted((figures.run(begins, input_count), begins) for begins in _cuts(count))
    found: list[Begins] = []
    for cycles, begins in ranked:
        if cycles == inf or len(found) == wanted:
            break
        if all(len(begins) != len(other) or max(abs(a - b) for a, b in zip(begins, other, strict=True)) > APART for other in found):
            found.append(begins)
    return found


def _cuts(count: int) -> Iterator[Begins]:
    for number, places in PLACES.items():
        step = max(-(-count // places), 1)
        for later in combinations(range(step, count, step), number - 1):
            yield 0, *later


def moved(starts: Sequence[Begins], count: int, tries: int, timed: Callable[[tuple[Window, ...]], tuple[float, Run] | None]) -> Run | None:
    """Return the shortest run that is found from several cuts, moving one cut at a time; None if none of them is possible.

    count: of ops; tries: runs that are timed at most; timed: gives the cycles of a run with such epochs, None if they are not possible.
    """
    known: dict[Begins, tuple[float, Run] | None] = {}

    def cycles(begins: Begins) -> float:
        if begins not in known:
            if len(known) >= tries:
                return inf
            known[begins] = timed(windows_of(begins, count))
        found = known[begins]
        return inf if found is None else found[0]

    best = min(starts, key=cycles, default=())
    for step in STEPS:
        better = True
        while better:
            better = False
            for place in range(1, len(best)):
                for by in (step, -step):
                    other = (*best[:place], best[place] + by, *best[place + 1 :])
                    if all(begin < end for begin, end in windows_of(other, count)) and cycles(other) < cycles(best):
                        best, better = other, True
    found = known.get(best)
    return None if found is None else found[1]
