"""Cores that ops of an epoch trade: one that holds up the first microbatch gets more, of others that have time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.records import record
from ttc.passes.tile_to_netlist.blocking import Candidate
from ttc.passes.tile_to_netlist.problem import FIGURES, Problem, figures_of

FURTHER = 6
"""The number of faster candidates that are tried for an op, the next ones first."""
WORTH = 0.998
"""The share of an epoch's estimated time that may be left for a trade to be worth a try."""
CORES = FIGURES.index("cores")

Picks = NDArray[np.int64]
"""For each of several options (row) and each op (column) the number of a candidate among those of the op."""


@record
class Market:
    """The ops of an epoch whose cores are traded.

    figures: of the candidates of each op, by growing number of cores: `FIGURES` x ops x candidates; counts: how many each op has.
    """

    problem: Problem
    begin: int
    fronts: Sequence[Sequence[Candidate]]
    figures: NDArray[np.float64]
    counts: Picks

    @staticmethod
    def of(problem: Problem, begin: int, count: int) -> Market:
        """Return the market of so many ops, from one of them on."""
        fronts = [node.found.front for node in problem.nodes[begin : begin + count]]
        counts = np.array([len(front) for front in fronts])
        figures = np.zeros((len(FIGURES), count, int(counts.max())))
        for number, front in enumerate(fronts):
            figures[:, number, : len(front)] = figures_of(front)
        return Market(problem, begin, fronts, figures, counts)

    def trades(self, chosen: Sequence[Candidate]) -> list[list[Candidate]]:
        """Return other candidates of the ops with which the epoch is estimated to make the run less longer, the best first.

        One op takes a faster candidate, and the others those with fewer cores that cost least until the chip's cores suffice.
        """
        now = np.array([self.pick(number, candidate) for number, candidate in enumerate(chosen)])
        picks, raised = self.raised(now)
        picks = self.afforded(picks, raised)
        times = self.times(np.concatenate([now[None], picks]))
        order = np.argsort(times[1:], kind="stable")
        return [self.chosen(picks[i]) for i in order if times[1 + i] < times[0] * WORTH]

    def pick(self, number: int, candidate: Candidate) -> int:
        """Return the number of the last candidate of an op that has no more cores than one of its candidates."""
        return max(sum(c.cores <= candidate.cores for c in self.fronts[number]) - 1, 0)

    def chosen(self, picks: Picks) -> list[Candidate]:
        """Return the candidates of an option."""
        return [front[pick] for front, pick in zip(self.fronts, picks, strict=True)]

    def raised(self, now: Picks) -> tuple[Picks, NDArray[np.bool_]]:
        """Return the options in which an op, or all that are like it, takes a faster candidate, and which ops that are."""
        rows: list[Picks] = []
        raised: list[NDArray[np.bool_]] = []
        for members in self.alike(now):
            number = int(np.flatnonzero(members)[0])
            for more in range(now[number] + 1, min(now[number] + 1 + FURTHER, int(self.counts[number]))):
                rows.append(np.where(members, more, now))
                raised.append(members)
        return np.array(rows, np.int64).reshape(-1, len(now)), np.array(raised, np.bool_).reshape(-1, len(now))

    def alike(self, now: Picks) -> list[NDArray[np.bool_]]:
        """Return sets of ops: each alone, and those that are alike together, such as the products that make keys and values."""
        kinds = [node.kind for node in self.problem.nodes[self.begin : self.begin + len(now)]]
        pairs = list(zip(kinds, map(int, now), strict=True))
        together = [np.array([pair == other for other in pairs]) for pair in dict.fromkeys(pairs)]
        return [*np.eye(len(now), dtype=np.bool_), *(members for members in together if members.sum() > 1)]

    def afforded(self, picks: Picks, raised: NDArray[np.bool_]) -> Picks:
        """Return those of the options for which the cores suffice once other ops have given some; `raised`: the ops that give none."""
        done: list[Picks] = []
        while len(picks):
            enough = self.of_picks(picks)[CORES].sum(axis=0) <= self.problem.cores
            done.append(picks[enough])
            picks, raised = self.lowered(picks[~enough], raised[~enough])
        return np.concatenate(done) if done else picks

    def lowered(self, picks: Picks, raised: NDArray[np.bool_]) -> tuple[Picks, NDArray[np.bool_]]:
        """Return options in which the op that loses least by it has its next smaller candidate; without those that have none left."""
        option, giver = np.nonzero((picks > 0) & ~raised)
        lower = picks[option]
        lower[np.arange(len(lower)), giver] -= 1
        times = np.full(picks.shape, np.inf)
        if len(lower):
            times[option, giver] = self.times(lower)
        best, kept = times.argmin(axis=1), np.isfinite(times.min(axis=1))
        found = picks.copy()
        found[np.arange(len(picks)), best] -= 1
        return found[kept], raised[kept]

    def times(self, picks: Picks) -> NDArray[np.float64]:
        """Return the estimated cycles by which the epoch makes the run longer with each option."""
        return self.problem.times(self.begin, self.of_picks(picks))

    def of_picks(self, picks: Picks) -> NDArray[np.float64]:
        """Return the figures of options: `FIGURES` x ops x options."""
        return self.figures[:, np.arange(picks.shape[1])[:, None], picks.T]
