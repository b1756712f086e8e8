"""Cutting a sequence of ops into epochs for the least time of the run."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import field, replace
from math import inf

import numpy as np

from ttc.dialects.core.errors import Error
from ttc.dialects.core.records import record
from ttc.passes.tile_to_netlist.following import EpochTiming, LyingEpoch, following
from ttc.passes.tile_to_netlist.moving import MOST, EpochFigures, likely, moved
from ttc.passes.tile_to_netlist.packer import EFFORTS, FEW, Effort, Judge, Packer, PackingVerdict, Placed
from ttc.passes.tile_to_netlist.problem import Problem
from ttc.passes.tile_to_netlist.repeating import Window, period_of, repeating
from ttc.passes.tile_to_netlist.sharing import Family, paced, priced

__all__ = ["EFFORTS", "Effort", "EpochRange", "Judge", "Placed", "PackingVerdict", "cut"]

SHOWN = 4
"""The number of first epochs by whose places cuts into epochs that are alike are compared."""
KEPT = 2
"""The number of such cuts of several microbatches, for each number of layers, of which all epochs get places."""
FEWER = 6
"""By how much fewer cuts into epochs that are alike are tried for a single microbatch, which is worth less."""
AT_ONCE = 64
"""The number of ops for which the epochs that begin with them are estimated together."""


@record
class EpochRange:
    """An epoch of the ops from `begin` on, placed.

    cycles: by which it makes the run longer, estimated; timing: when its ops begin and end, None if not known.
    """

    begin: int
    ops: tuple[Placed, ...]
    cycles: float
    timing: EpochTiming | None = None


Review = Callable[[Sequence[EpochRange]], list[EpochRange] | None]
"""Returns the epochs of a whole run timed anew, knowing how what they read from each other lies; None if one comes to a standstill."""


def cut(problem: Problem, effort: Effort, judge: Judge | None = None, review: Review | None = None) -> list[EpochRange]:
    """Return epochs of consecutive ops for the least estimated time of the run.  judge: says what an epoch costs; None: the quick estimate.

    Dynamic programming over cut points.  The time of an epoch is at first that of the best sharing of cores by their number alone; where
    a cut is chosen its rectangles are packed, and the cuts are chosen anew with the time that this gives, until all chosen ones are packed.
    How far epochs overlap shows when they all have their places: of several readings of it the one counts with which the run is shortest,
    or cuts into epochs that are alike, where layers are.  Cuts of a run of few epochs are moved besides, and its epochs timed by `review`.
    Raises E0502 if some op finds no place on the grid.
    """
    if not problem.nodes:
        return []
    overlaps = effort.overlaps if judge is not None and problem.turns == 1 else (0.0,)
    ends = overlaps[-1:] if problem.loads else (overlaps[0], overlaps[-1])  # loads before ops are tried besides, in less time
    chosen = overlaps if problem.input_count > 1 else dict.fromkeys(ends)
    readings = [replace(problem, overlap=overlap) for overlap in chosen]
    families = made_families(problem, effort)
    bounds = [list(times) for times in zip(*all_bounds(readings, families, effort), strict=True)]
    searches = [_Search(reading, effort, judge, families, times) for reading, times in zip(readings, bounds, strict=True)]
    found = [in_time(search.problem, search.run()) for search in searches]
    for alike in searches[0].repeated():
        alike.sort(key=lambda epochs: shown(problem, epochs))
        found += [in_time(problem, epochs) for epochs in alike[: KEPT if problem.input_count > 1 else 1]]
    shortest = min(found, key=total_of)
    return (searches[0].moved(shortest, review) if review is not None else None) or shortest


def total_of(epochs: Sequence[EpochRange]) -> float:
    """Return cycles of a run."""
    return sum(epoch.cycles for epoch in epochs)


def shown(problem: Problem, epochs: Sequence[EpochRange]) -> float:
    """Return estimated cycles of a run whose epochs are alike: the first ones get places, those behind take as long as the last of them."""
    first = in_time(problem, list(epochs[:SHOWN]))
    return sum(epoch.cycles for epoch in first) + first[-1].cycles * (len(epochs) - len(first))


def in_time(problem: Problem, epochs: list[EpochRange]) -> list[EpochRange]:
    """Return epochs with places such that each begins while the one before it ends, and the cycles that this gives.

    Epochs that are not timed, or that chips take in turn, stay as they are.
    """
    timings = [epoch.timing for epoch in epochs if epoch.timing is not None]
    if len(timings) < len(epochs) or problem.turns > 1:
        return epochs
    lying = [
        LyingEpoch(
            timing,
            tuple(entry.place for entry in epoch.ops),
            tuple(node.limits for node in nodes),
            tuple(tuple(epoch.begin - source for source in node.reads if source < epoch.begin) for node in nodes),
        )
        for epoch, timing in zip(epochs, timings, strict=True)
        for nodes in [problem.nodes[epoch.begin : epoch.begin + len(epoch.ops)]]
    ]
    found: list[EpochRange] = []
    for epoch, (places, cycles) in zip(epochs, following(lying, problem.grid, problem.rates), strict=True):
        ops = tuple(replace(entry, place=place) for entry, place in zip(epoch.ops, places, strict=True))
        found.append(replace(epoch, ops=ops, cycles=cycles))
    return found


def made_families(problem: Problem, effort: Effort) -> list[Family]:
    """Return candidates by pace and by price: all, and where some read weights all the time, those that hold them."""
    fronts = [node.found.front for node in problem.nodes]
    held = [node.found.held or node.found.front for node in problem.nodes]
    found = [paced(fronts, effort.settings)]
    if held != fronts:
        found.append(paced(held, effort.settings))
    if problem.input_count < FEW:
        found.append(priced(fronts, effort.settings))
    return found


def all_bounds(readings: Sequence[Problem], families: Sequence[Family], effort: Effort) -> Iterator[list[list[float]]]:
    """Yield for each op the least times, under several readings of a problem, of the epochs that begin with it, by number of ops.

    Epochs end before the next op that must begin one.
    """
    nodes, cores = readings[0].nodes, readings[0].cores
    for start in range(0, len(nodes), AT_ONCE):
        begins = range(start, min(start + AT_ONCE, len(nodes)))
        known = [family.fills(readings[0], begins, effort.longest) for family in families]
        for begin in begins:
            ends = min(effort.longest, len(nodes) - begin, cores)
            ends = next((i for i in range(1, ends) if nodes[begin + i].breaks), ends)
            found = [
                family.timed(readings, begin, fill[begin - start][:ends]) for family, fill in zip(families, known, strict=True)
            ]  # by family and reading
            yield [list(np.min([times.min(axis=1) for times in each], axis=0)) for each in zip(*found, strict=True)]


@record(frozen=False)
class _Search:
    problem: Problem
    effort: Effort
    judge: Judge | None
    families: Sequence[Family]
    times: list[list[float]]
    """Least time of the epochs that begin with each op, by number of ops."""
    settled: dict[Hashable, PackingVerdict | None] = field(default_factory=dict)
    exact: dict[Window, PackingVerdict] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.packer = Packer(self.problem, self.effort, self.families, self.judge)

    def run(self) -> list[EpochRange]:
        """Return the epochs of the best cuts that were found."""
        best: tuple[float, list[EpochRange]] = inf, []
        self.survey()
        for _ in range(self.effort.rounds):
            path = self.path()
            new = [window for window in path or () if window not in self.exact]
            for window in new:
                self.settle(window)
            epochs = self.epochs(path or ())
            total = sum(e.cycles for e in epochs)
            if path and len(epochs) == len(path) and total < best[0]:
                best = total, epochs
            if not new:
                break
        return best[1] or self.from_settled()

    def survey(self) -> None:
        """Pack every epoch of at most one period's ops, where ops repeat and chips take epochs in turn.

        Estimates tell little of epochs that are short, and whose ops have few candidates: cuts within a layer are compared when packed.
        """
        wanted = self.judge is not None and self.effort.repeats and self.problem.turns > 1
        period = period_of([node.kind for node in self.problem.nodes]) if wanted else None
        if period is None:
            return
        middle = (len(self.problem.nodes) - period) // 2
        order = [*range(middle, middle + period), *range(middle), *range(middle + period, len(self.problem.nodes))]
        for place, begin in enumerate(order):
            for size in range(1, min(period, len(self.times[begin])) + 1):
                window = begin, begin + size
                if self.times[begin][size - 1] < inf and (place < period or self.key(*window) in self.settled):
                    self.settle(window)

    def repeated(self) -> Iterator[list[list[EpochRange]]]:
        """Yield for each number of periods the best cuts into epochs that are alike, if ops repeat; fewer cuts of a single microbatch."""
        wanted = self.effort.repeats if self.judge is not None and self.problem.turns == 1 else 0
        wanted = wanted if self.problem.input_count > 1 else wanted // FEWER
        period = period_of([node.kind for node in self.problem.nodes]) if wanted else None
        for cuts in repeating(self.times, period, wanted) if period is not None else ():
            for window in (window for windows in cuts for window in windows if window not in self.exact):
                self.settle(window)
            yield [self.epochs(windows) for windows in cuts if all(window in self.exact for window in windows)]

    def moved(self, found: Sequence[EpochRange], review: Review) -> list[EpochRange] | None:
        """Return the shortest run of few epochs, with its places, whose cuts are moved from those of a run that was found and from likely
        ones; None where that is not tried: with kernels `buda`, one microbatch, or chips in turn.
        """
        count, problem = len(self.problem.nodes), self.problem
        few = 1 < len(found) <= MOST and problem.input_count > 1 and problem.turns == 1
        if not few or not problem.rates.ahead or not self.effort.moves:
            return None
        figures = EpochFigures.of(problem, self.families, self.effort.longest)
        starts = [tuple(epoch.begin for epoch in found), *likely(figures, problem.input_count, self.effort.moves // 3)]

        def timed(windows: tuple[Window, ...]) -> tuple[float, list[EpochRange]] | None:
            if any(end - begin > len(self.times[begin]) for begin, end in windows):
                return None
            for begin, end in windows:
                if (begin, end) not in self.exact and self.times[begin][end - begin - 1] < inf:
                    self.settle((begin, end))
            epochs = review(self.epochs(windows))
            if epochs is None or len(epochs) < len(windows):
                return None
            epochs = in_time(problem, epochs)
            return total_of(epochs), epochs

        return moved(starts, count, self.effort.moves, timed)

    def from_settled(self) -> list[EpochRange]:
        """Return the best cuts of epochs that are packed already, or that hold one op."""
        for begin in range(len(self.problem.nodes)):
            self.settle((begin, begin + 1))
            known = range(1, len(self.times[begin]) + 1)
            self.times[begin] = [self.times[begin][n - 1] if (begin, begin + n) in self.exact else inf for n in known]
        path = self.path()
        if path is None:
            raise Error("E0502", f"an op finds no place on the {self.problem.grid[0]} x {self.problem.grid[1]} cores")
        return self.epochs(path)

    def epochs(self, path: Sequence[Window]) -> list[EpochRange]:
        """Return those epochs of a path that are packed."""
        known = [(window, self.exact[window]) for window in path if window in self.exact]
        return [EpochRange(begin, verdict.ops, verdict.cycles, verdict.timing) for (begin, _), verdict in known]

    def path(self) -> list[Window] | None:
        """The cuts of the least time, as (begin, end) of each epoch; None if no cuts are possible."""
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
            return None
        bounds: list[Window] = []
        end = count
        while end > 0:
            bounds.append((int(start[end]), end))
            end = int(start[end])
        return bounds[::-1]

    def settle(self, window: Window) -> None:
        """Pack an epoch's rectangles, and put what its time is then in place of its bound."""
        begin, end = window
        key = self.key(begin, end)
        if key not in self.settled:
            self.settled[key] = self.packer.settle(begin, end)
        verdict = self.settled[key]
        if verdict is None or verdict.cycles == inf:
            self.forbid(begin, end)
            return
        self.exact[window] = verdict
        self.times[begin][end - begin - 1] = verdict.cycles

    def key(self, begin: int, end: int) -> Hashable:
        """Equal for epochs that are packed and judged alike."""
        nodes = self.problem.nodes[begin:end]
        reads = tuple(tuple(source - begin for source in node.reads if source >= begin) for node in nodes)
        turn = self.problem.turn(begin, end - begin)
        return tuple(node.kind for node in nodes), reads, self.problem.traffic(begin, end - begin)[-1], turn.first, turn.last

    def forbid(self, begin: int, end: int) -> None:
        """No epoch has all of these ops: they do not fit, or wait for each other, and the less so with more ops beside them."""
        for first in range(max(end - self.effort.longest, 0), begin + 1):
            for size in range(end - first, len(self.times[first]) + 1):
                if (first, first + size) not in self.exact:
                    self.times[first][size - 1] = inf
