"""Sharing a chip's cores among the ops of an epoch: which candidate each op takes under one price or one pace for all of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.records import record
from ttc.passes.tile_to_netlist.blocking import Candidate
from ttc.passes.tile_to_netlist.filling import filled, fills
from ttc.passes.tile_to_netlist.problem import Problem

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
IMPOSSIBLE = 1 << 40
"""The number of cores that stands for an op that cannot keep a pace."""


@record
class Family:
    """For each op (row) the candidate it takes at each of several settings (column), and what that comes to.

    picks: numbers into `fronts`; cores, busy, first, streamed, held: of those candidates.
    """

    fronts: Sequence[Sequence[Candidate]]
    picks: Ints
    cores: Ints
    busy: Floats
    first: Floats
    streamed: Floats
    held: Floats

    @staticmethod
    def of(fronts: Sequence[Sequence[Candidate]], picks: Ints, possible: Bools) -> Family:
        """Return the family in which op i takes `fronts[i][picks[i, k]]` at setting k, where that is possible."""
        figures = np.zeros((*picks.shape, 5))
        for i, front in enumerate(fronts):
            figures[i] = np.array([(c.cores, c.busy, c.first, c.streamed_bytes, c.held_bytes) for c in front], np.float64)[picks[i]]
        cores = np.where(possible, figures[..., 0], IMPOSSIBLE).astype(np.int64)
        return Family(fronts, picks, cores, *(figures[..., i] for i in range(1, 5)))

    def chosen(self, begin: int, end: int, setting: int) -> list[Candidate]:
        """Return the candidates of some ops at a setting."""
        return [self.fronts[i][self.picks[i, setting]] for i in range(begin, end)]

    def fills(self, problem: Problem, begins: range, longest: int) -> list[Floats]:
        """Return for each of several ops the cycles of the first microbatch through the epochs that begin with it, by number of ops (row)
        and setting.
        """
        return fills([node.reads for node in problem.nodes], self.busy, self.first, begins, longest)

    def times(self, problem: Problem, begin: int, ends: int) -> Floats:
        """Return the estimated cycles of epochs that begin with an op, by number of ops (row) and setting; inf where cores do not
        suffice.
        """
        rows = slice(begin, begin + ends)
        fill = filled([node.reads for node in problem.nodes[rows]], begin, self.busy[rows], self.first[rows])
        return self.timed([problem], begin, fill)[0]

    def timed(self, readings: Sequence[Problem], begin: int, fill: Floats) -> list[Floats]:
        """Return what `times` does under several readings of how far epochs overlap.

        fill: cycles of the first microbatch through the epochs, by number of ops (row) and setting.
        """
        problem, ends = readings[0], len(fill)
        rows = slice(begin, begin + ends)
        traffic = np.array([(t.read_bytes + t.write_bytes) for t in problem.traffic(begin, ends)], np.float64)
        held = np.cumsum(self.held[rows], axis=0) * problem.load_cycles_per_byte
        load = (np.cumsum(self.streamed[rows], axis=0) + traffic[:, None]) * problem.cycles_per_byte
        prologue = held if problem.holds else 0.0
        load = load if problem.holds else load + held
        interval = np.maximum(np.maximum.accumulate(self.busy[rows], axis=0) + problem.rates.microbatch_cycles, load)
        cores = np.cumsum(self.cores[rows], axis=0)
        used = np.minimum(cores, problem.cores)  # where there are more the epoch is impossible
        figures = [np.broadcast_to(part, cores.shape) for part in (np.maximum(fill, load), interval, used, prologue, load)]
        found: list[Floats] = []
        for reading in readings:
            times = reading.turn(begin, 0).time(*figures)
            if begin + ends == len(problem.nodes):
                times[-1] = reading.turn(begin, ends).time(*(part[-1] for part in figures))
            found.append(np.where(cores <= problem.cores, times, np.inf))
        return found


def paced(fronts: Sequence[Sequence[Candidate]], settings: int) -> Family:
    """Return the family in which every op takes the fewest cores that keep a pace, in cycles a microbatch: those paces that candidates
    have.
    """
    paces = thinned(sorted({c.busy for front in fronts for c in front}), settings)
    picks = np.zeros((len(fronts), len(paces)), np.int64)
    possible = np.zeros(picks.shape, np.bool_)
    for i, front in enumerate(fronts):
        slower = np.array([-c.busy for c in front])  # growing, as each has more cores than the one before
        found = np.searchsorted(slower, -paces)
        possible[i] = found < len(front)
        picks[i] = np.minimum(found, len(front) - 1)
    return Family.of(fronts, picks, possible)


def priced(fronts: Sequence[Sequence[Candidate]], settings: int) -> Family:
    """Return the family in which every op takes the candidate with the least of cycles and cores, at prices in cycles a core, from dear to
    cheap.
    """
    dearest = max((front[0].busy for front in fronts), default=1)
    prices = np.geomspace(max(dearest, 2), 1.0, settings)
    picks = np.zeros((len(fronts), settings), np.int64)
    for i, front in enumerate(fronts):
        cost = np.array([c.busy for c in front])[:, None] + np.array([c.cores for c in front])[:, None] * prices[None, :]
        picks[i] = np.argmin(cost, axis=0)
    return Family.of(fronts, picks, np.ones(picks.shape, np.bool_))


def thinned(values: Sequence[int], count: int) -> Ints:
    """Return at most so many of growing values, the first and the last among them, the others at equal ratios."""
    array = np.array(values, np.int64)
    if len(array) <= count:
        return array
    wanted = np.geomspace(array[0], array[-1], count)
    return array[np.unique(np.minimum(np.searchsorted(array, wanted), len(array) - 1))]
