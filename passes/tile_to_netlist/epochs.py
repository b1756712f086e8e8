"""Cutting a sequence of ops into epochs, each with its cores shared out and its rectangles packed, for the least time of the run."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from math import inf

import numpy as np

from ttc.dialects.core.errors import Error
from ttc.dialects.netlist.model import Buffer, Grid
from ttc.passes.tile_to_netlist.blocking import Candidate
from ttc.passes.tile_to_netlist.packing import Request, Shape, pack_requests
from ttc.passes.tile_to_netlist.problem import Problem, Traffic
from ttc.passes.tile_to_netlist.sharing import Family, paced, priced


@dataclass(frozen=True)
class Effort:
    """How much work the search may do.

    Args:
        settings: paces, and prices, at which cores are shared out.
        longest: ops of an epoch.
        rounds: of cutting anew with what packing has shown.
        attempts: settings that are packed for one epoch.
        shapes: rectangles that are tried for one op.
    """

    settings: int
    longest: int
    rounds: int
    attempts: int
    shapes: int


EFFORTS = (
    Effort(settings=32, longest=24, rounds=8, attempts=8, shapes=1),
    Effort(settings=96, longest=48, rounds=60, attempts=16, shapes=4),
    Effort(settings=256, longest=96, rounds=400, attempts=64, shapes=8),
    Effort(settings=768, longest=192, rounds=2000, attempts=256, shapes=16),
)


@dataclass(frozen=True)
class Placed:
    """An op in its epoch: how it runs, where, and its L1 buffers, those for joined paths included."""

    candidate: Candidate
    place: Grid
    buffers: tuple[Buffer, ...]


@dataclass(frozen=True)
class Epoch:
    """Ops from `begin` on, placed.  cycles: estimated, of the whole epoch and the switch to it."""

    begin: int
    ops: tuple[Placed, ...]
    cycles: float


Judge = Callable[[int, Sequence[Placed]], tuple[tuple[Placed, ...], float]]
"""Number of the first op and ops of an epoch, packed -> the ops with their final buffers, and the cycles of the epoch."""


def cut(problem: Problem, effort: Effort, judge: Judge | None = None) -> list[Epoch]:
    """Epochs of consecutive ops for the least estimated time of the run.  judge: says what an epoch costs; None: the quick estimate.

    Dynamic programming over cut points.  The time of an epoch is at first that of the best sharing of cores by their number alone; where
    a cut is chosen its rectangles are packed, and the cuts are chosen anew with the time that this gives, until all chosen ones are packed.
    """
    return _Search(problem, effort, judge).run() if problem.nodes else []


@dataclass
class _Search:
    problem: Problem
    effort: Effort
    judge: Judge | None
    families: list[Family] = field(default_factory=list)
    times: list[list[float]] = field(default_factory=list)
    packed: dict[Hashable, tuple[tuple[Placed, ...], float] | None] = field(default_factory=dict)
    exact: dict[tuple[int, int], tuple[Placed, ...]] = field(default_factory=dict)

    def run(self) -> list[Epoch]:
        self.families = self.made_families()
        self.times = [self.bounds(begin) for begin in range(len(self.problem.nodes))]
        best: tuple[float, list[Epoch]] = inf, []
        for _ in range(self.effort.rounds):
            path = self.path()
            new = [window for window in path if window not in self.exact]
            for window in new:
                self.settle(window)
            epochs = [
                Epoch(begin, self.exact[begin, end], self.times[begin][end - begin - 1])
                for begin, end in path
                if (begin, end) in self.exact
            ]
            total = sum(e.cycles for e in epochs)
            if len(epochs) == len(path) and total < best[0]:
                best = total, epochs
            if not new:
                break
        return best[1]

    def made_families(self) -> list[Family]:
        """Candidates by pace and by price: all, and where some read weights all the time, those that hold them."""
        nodes, settings = self.problem.nodes, self.effort.settings
        fronts = [node.found.front for node in nodes]
        held = [node.found.held or node.found.front for node in nodes]
        found = [paced(fronts, settings)]
        if held != fronts:
            found.append(paced(held, settings))
        if self.problem.input_count < FEW:
            found.append(priced(fronts, settings))
        return found

    def bounds(self, begin: int) -> list[float]:
        """Least time of the epochs that begin with an op, by number of ops; they end before the next op that must begin one."""
        nodes = self.problem.nodes
        ends = min(self.effort.longest, len(nodes) - begin, self.problem.cores)
        ends = next((i for i in range(1, ends) if nodes[begin + i].breaks), ends)
        return list(np.min([family.times(self.problem, begin, ends).min(axis=1) for family in self.families], axis=0))

    def path(self) -> list[tuple[int, int]]:
        """The cuts of the least time, as (begin, end) of each epoch."""
        count = len(self.problem.nodes)
        best = np.full(count + 1, inf)
        start = np.zeros(count + 1, np.int64)
        best[0] = 0.0
        for begin in range(count):
            times = np.array(self.times[begin]) + best[begin]
            span = slice(begin + 1, begin + 1 + len(times))
            better = times < best[span]
            best[span] = np.where(better, times, best[span])
            start[span] = np.where(better, begin, start[span])
        if best[count] == inf:
            raise Error("E0502", "no epoch holds some of these ops")
        bounds: list[tuple[int, int]] = []
        end = count
        while end > 0:
            bounds.append((int(start[end]), end))
            end = int(start[end])
        return bounds[::-1]

    def settle(self, window: tuple[int, int]) -> None:
        """Pack an epoch's rectangles, and put what its time is then in place of its bound."""
        begin, end = window
        traffic = self.problem.traffic(begin, end - begin)[-1]
        key = (tuple(node.kind for node in self.problem.nodes[begin:end]), traffic)
        if key not in self.packed:
            self.packed[key] = self.judged(begin, self.pack(begin, end), traffic)
        placed = self.packed[key]
        if placed is None:
            self.times[begin][end - begin - 1] = inf
            return
        self.exact[window], self.times[begin][end - begin - 1] = placed

    def judged(self, begin: int, placed: tuple[Placed, ...] | None, traffic: Traffic) -> tuple[tuple[Placed, ...], float] | None:
        """Packed ops with the buffers and the time that the judge gives, or else by the estimate."""
        if placed is None:
            return None
        if self.judge is not None:
            return self.judge(begin, placed)
        return placed, self.problem.time([p.candidate for p in placed], traffic)

    def pack(self, begin: int, end: int) -> tuple[Placed, ...] | None:
        """The first settings, best first, whose rectangles fit on the grid."""
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
        """The same with cores that are left given to ops that gain by them, the slowest first, as long as rectangles still fit.

        Where many microbatches pass, only the slowest op counts.
        """
        many = self.problem.input_count >= FEW
        for _ in range(self.effort.attempts):
            free = self.problem.cores - sum(p.candidate.cores for p in placed)
            order = sorted(range(len(placed)), key=lambda i: -placed[i].candidate.busy)
            better = next((new for i in (order[:1] if many else order) if (new := self.faster(begin, placed, i, free)) is not None), None)
            if better is None:
                break
            placed = better
        return placed

    def faster(self, begin: int, placed: Sequence[Placed], index: int, free: int) -> tuple[Placed, ...] | None:
        """All ops packed anew with one of them on a few more cores; None if there are not enough, or they do not lie as it takes."""
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
        """Settings of all families under which the cores suffice, by the time they give."""
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
        """The candidate, and others of its op that take no longer and few more cores, each of another shape."""
        found: dict[Shape, Candidate] = {_shape(chosen): chosen}
        for candidate in self.problem.nodes[number].found.all:
            if len(found) >= self.effort.shapes or candidate.cores > chosen.cores + chosen.cores // 8 + 1:
                break
            if candidate.busy <= chosen.busy and candidate.streamed_bytes <= chosen.streamed_bytes:
                found.setdefault(_shape(candidate), candidate)
        return list(found.values())


FEW = 16
"""Microbatches up to which the first one through a pipeline counts for much."""


def _shape(candidate: Candidate) -> Shape:
    return candidate.rows, candidate.cols
