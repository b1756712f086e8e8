"""Packing the ops of an epoch onto the grid: which candidates, where, with which buffers, and what that takes."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import field

import numpy as np

from ttc.dialects.core.records import record
from ttc.dialects.netlist.model import Buffer, Grid
from ttc.passes.tile_to_netlist.blocking import Candidate
from ttc.passes.tile_to_netlist.following import EpochTiming
from ttc.passes.tile_to_netlist.forks import Shortage
from ttc.passes.tile_to_netlist.packing import Request, Shape, pack_requests
from ttc.passes.tile_to_netlist.problem import Problem
from ttc.passes.tile_to_netlist.sharing import Family
from ttc.passes.tile_to_netlist.trading import Market
from ttc.passes.tile_to_netlist.turns import Turn


@record
class Effort:
    """How much work the search may do.

    Args:
        settings: paces, and prices, at which cores are shared out.
        longest: ops of an epoch.
        rounds: of cutting anew with what packing has shown.
        attempts: settings that are packed for one epoch.
        shapes: rectangles that are tried for one op.
        reliefs: times that ops get more cores for the L1 that comes with them.
        overlaps: parts of what epochs could share of their time; ops are cut into epochs under each, the best result is taken.
        repeats: cuts into epochs that are alike, which are tried besides.
        moves: runs of few epochs that are tried besides, whose cuts are moved.
        trades: of cores between the ops of an epoch, one after another, where chips divide tensors.
    """

    settings: int
    longest: int
    rounds: int
    attempts: int
    shapes: int
    reliefs: int
    overlaps: tuple[float, ...] = (1.0, 0.5, 0.1)
    repeats: int = 24
    moves: int = 24
    trades: int = 12


EFFORTS = (
    Effort(settings=32, longest=24, rounds=8, attempts=8, shapes=1, reliefs=1, overlaps=(0.0,), repeats=0, moves=0, trades=0),
    Effort(settings=64, longest=48, rounds=24, attempts=16, shapes=4, reliefs=3),
    Effort(
        settings=256,
        longest=96,
        rounds=400,
        attempts=64,
        shapes=8,
        reliefs=6,
        overlaps=(1.0, 0.75, 0.25, 0.0),
        repeats=64,
        moves=200,
        trades=48,
    ),
)


TRADES = 8
"""The number of trades of cores, those that promise most, of which the best is taken."""
FEW = 16
"""The number of microbatches up to which the first one through a pipeline counts for much."""


@record
class Placed:
    """An op in its epoch: how it runs, where, and its L1 buffers, those for joined paths included."""

    candidate: Candidate
    place: Grid
    buffers: tuple[Buffer, ...]


@record
class PackingVerdict:
    """The ops of an epoch with their final buffers, the cycles by which it makes the run longer, and what L1 lacks where paths join.

    timing: when its ops begin and end; None if not known.
    """

    ops: tuple[Placed, ...]
    cycles: float
    short: tuple[Shortage, ...] = ()
    timing: EpochTiming | None = None


Judge = Callable[[Turn, int, Sequence[Placed]], PackingVerdict]
"""Says what an epoch takes: from where it stands in the run, the number of its first op, and its ops, packed."""


@record
class Packer:
    """Packs epochs.  families: candidates under one pace or one price; judge: says what an epoch takes; None: the quick estimate."""

    problem: Problem
    effort: Effort
    families: Sequence[Family]
    judge: Judge | None
    shapes: dict[tuple[Hashable, int], list[Candidate]] = field(default_factory=dict, compare=False)
    """Alternatives of candidates, by kind of op and address of the candidate."""

    def settle(self, begin: int, end: int) -> PackingVerdict | None:
        """Return the ops of an epoch at their places, and what the epoch takes; None if they do not fit on the grid."""
        placed = self.pack(begin, end)
        if placed is None:
            return None
        best = self.judged(begin, placed)
        for _ in range(self.effort.reliefs if best.short else 0):
            found = self.relieved(begin, best)
            if found is None:
                break
            verdict = self.judged(begin, found)
            if verdict.cycles >= best.cycles:
                break
            best = verdict
        return self.traded(begin, best)

    def traded(self, begin: int, best: PackingVerdict) -> PackingVerdict:
        """Return an epoch whose ops have traded cores, as long as that makes the run shorter: of a single microbatch on chips that divide
        tensors.
        """
        problem = self.problem
        if not (problem.divided and problem.input_count == problem.turns == 1):
            return best
        market = Market.of(problem, begin, len(best.ops))
        for _ in range(self.effort.trades):
            tried = market.trades([p.candidate for p in best.ops])[:TRADES]
            placed = [found for chosen in tried if (found := self.attempt(begin, chosen)) is not None]
            shortest = min((self.judged(begin, found) for found in placed), key=lambda verdict: verdict.cycles, default=best)
            if shortest.cycles >= best.cycles:
                break
            best = shortest
        return best

    def judged(self, begin: int, placed: tuple[Placed, ...]) -> PackingVerdict:
        """Return packed ops with the buffers and the time that the judge gives, or else by the estimate."""
        if self.judge is not None:
            return self.judge(self.problem.turn(begin, len(placed)), begin, placed)
        return PackingVerdict(placed, self.problem.time(begin, [p.candidate for p in placed]))

    def relieved(self, begin: int, verdict: PackingVerdict) -> tuple[Placed, ...] | None:
        """Return the ops with more cores for those whose L1 does not hold what waits there; None if they do not fit on the grid."""
        chosen = [p.candidate for p in verdict.ops]
        usable = self.problem.target.l1_usable_bytes
        for shortage in verdict.short:
            front = self.problem.nodes[begin + shortage.reader].found.front
            larger = [c for c in front if c.cores > chosen[shortage.reader].cores]
            roomy = next((c for c in larger if (usable - c.l1_bytes) * c.cores >= shortage.bytes), larger[-1] if larger else None)
            if roomy is not None:
                chosen[shortage.reader] = roomy
        if chosen == [p.candidate for p in verdict.ops]:
            return None
        return self.attempt(begin, chosen)

    def pack(self, begin: int, end: int) -> tuple[Placed, ...] | None:
        """Return the first settings, best first, whose rectangles fit on the grid."""
        tried: set[tuple[int, ...]] = set()
        for family, setting in self.settings(begin, end):
            chosen = family.chosen(begin, end, setting)
            key = tuple(map(id, chosen))
            if key in tried:
                continue
            if len(tried) >= self.effort.attempts:
                break
            tried.add(key)
            found = self.attempt(begin, chosen)
            if found is not None:
                return self.improved(begin, found)
        return self.attempt(begin, [self.problem.nodes[i].found.front[0] for i in range(begin, end)])

    def improved(self, begin: int, placed: tuple[Placed, ...]) -> tuple[Placed, ...]:
        """Return the ops with free cores given to those that gain by them, the slowest first, as long as rectangles still fit.

        Where many microbatches pass, only the slowest op counts.  An only epoch waits for the programs of more cores, which may take more
        time than they save.
        """
        many = self.problem.input_count >= FEW
        for _ in range(self.effort.attempts):
            free = self.problem.cores - sum(p.candidate.cores for p in placed)
            order = sorted(range(len(placed)), key=lambda i: -placed[i].candidate.busy)
            better = next((new for i in (order[:1] if many else order) if (new := self.faster(begin, placed, i, free)) is not None), None)
            if better is None or (self.problem.is_whole(begin, len(placed)) and self.estimated(better) >= self.estimated(placed)):
                break
            placed = better
        return placed

    def estimated(self, placed: Sequence[Placed]) -> float:
        """Return the quick estimate of an epoch of all ops."""
        return self.problem.time(0, [p.candidate for p in placed])

    def faster(self, begin: int, placed: Sequence[Placed], index: int, free: int) -> tuple[Placed, ...] | None:
        """Return all ops packed anew with one of them on a few more cores; None if there are not enough, or they cannot be placed so."""
        now = placed[index].candidate
        options = [c for c in self.problem.nodes[begin + index].found.front if c.busy < now.busy and c.cores <= now.cores + free]
        for candidate in options[: self.effort.shapes]:
            chosen = [p.candidate for p in placed]
            chosen[index] = candidate
            found = self.attempt(begin, chosen)
            if found is not None:
                return found
        return None

    def settings(self, begin: int, end: int) -> Iterator[tuple[Family, int]]:
        """Yield the settings of all families under which the cores suffice, by the time they give."""
        ranked: list[tuple[float, int, int]] = []
        for number, family in enumerate(self.families):
            times = family.times(self.problem, begin, end - begin)[-1]
            ranked.extend((float(times[k]), number, int(k)) for k in np.flatnonzero(np.isfinite(times)))
        for _, number, setting in sorted(ranked):
            yield self.families[number], setting

    def attempt(self, begin: int, chosen: Sequence[Candidate]) -> tuple[Placed, ...] | None:
        """Pack these candidates, or others of the same ops that are as fast on about as many cores."""
        options = [self.alternatives(begin + i, candidate) for i, candidate in enumerate(chosen)]
        nodes = self.problem.nodes[begin : begin + len(chosen)]
        requests = [
            Request(tuple(_shape(c) for c in cs), node.limits.start, node.limits.transposed)
            for cs, node in zip(options, nodes, strict=True)
        ]
        found = pack_requests(requests, *self.problem.grid)
        if found is None:
            return None
        return tuple(Placed(options[i][number], place, options[i][number].buffers) for i, (number, place) in enumerate(found))

    def alternatives(self, number: int, chosen: Candidate) -> list[Candidate]:
        """Return the candidate, and others of its op that take no longer and few more cores, each of another shape."""
        node = self.problem.nodes[number]
        known = self.shapes.get((node.kind, id(chosen)))
        if known is not None:
            return known
        found: dict[Shape, Candidate] = {_shape(chosen): chosen}
        for candidate in node.found.all:
            if len(found) >= self.effort.shapes or candidate.cores > chosen.cores + chosen.cores // 8 + 1:
                break
            if candidate.busy <= chosen.busy and candidate.streamed_bytes <= chosen.streamed_bytes:
                found.setdefault(_shape(candidate), candidate)
        self.shapes[node.kind, id(chosen)] = list(found.values())
        return self.shapes[node.kind, id(chosen)]


def _shape(candidate: Candidate) -> Shape:
    return candidate.rows, candidate.cols
