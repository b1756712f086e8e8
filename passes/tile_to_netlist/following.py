"""Places of epochs that follow each other: early ops of an epoch lie where the epoch before it is through first.

Each core goes on to its next epoch by itself.  Where the first ops of an epoch take the cores that the one before frees first, and the
last ones those that it frees last, programs and weights load while others compute, and epochs overlap.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field, replace
from operator import and_

from ttc.dialects.core.records import record
from ttc.dialects.netlist.model import Grid
from ttc.passes.tile_to_netlist.limits import PlacementLimits
from ttc.runtime.perf.clock import LoadJob, begins_of, load_of, loaded, share_of
from ttc.runtime.perf.epoch import EpochCost
from ttc.runtime.perf.rates import Rates

BESIDE = (0.0, 10.0, 40.0)
"""Numbers of cores that are taken to load beside a core, in orders in which places are sought: none is the order of time."""


@record
class EpochTiming:
    """When the ops of an epoch run, and what they load before.

    Args:
        begins, ends: of each op, when it begins its first and ends its last microbatch, in cycles from when the first op begins.
        jobs: what each loads.
        fill: cycles until the first microbatch has passed.
        cycles: until all have.
        share: part of the ways from DRAM that the epoch takes.
    """

    begins: tuple[float, ...]
    ends: tuple[float, ...]
    jobs: tuple[LoadJob, ...]
    fill: float
    cycles: float
    share: float

    def alone(self, start_cycles: float) -> float:
        """Return cycles of the epoch with nothing beside it.  start_cycles: from a core's start to its first packet."""
        return start_cycles + max(loaded(self.jobs, 0.0, 1.0), default=0.0) + self.cycles

    def least(self, other: EpochTiming) -> float:
        """Return cycles from when this epoch begins until another one can that reads what it writes, microbatch by microbatch."""
        return self.fill + max(self.cycles - self.fill - (other.cycles - other.fill), 0.0)


def timing_of(epoch: EpochCost, rates: Rates) -> EpochTiming:
    """Return when the ops of an epoch run that is costed by itself."""
    ends = tuple(end - epoch.prologue for end in epoch.ends)
    jobs = tuple(load_of(op, rates) for op in epoch.ops)
    return EpochTiming(tuple(begins_of(epoch)), ends, jobs, epoch.fill, epoch.cycles - epoch.prologue, share_of(epoch))


@record
class LyingEpoch:
    """An epoch with places that it could have.  limits: what the user asks of its ops."""

    timing: EpochTiming
    places: tuple[Grid, ...]
    limits: tuple[PlacementLimits, ...]


def following(epochs: Sequence[LyingEpoch], grid: tuple[int, int], rates: Rates) -> list[tuple[tuple[Grid, ...], float]]:
    """Return places for the ops of epochs that run one after another, and the cycles by which each makes the run longer.

    An epoch begins as soon as its cores are free and loaded, and what it reads is written.  Its rectangles keep their sizes; of several
    ways to lie the one is taken with which it begins first.
    """
    found: list[tuple[tuple[Grid, ...], float]] = []
    known: dict[object, tuple[Grid, ...]] = {}
    cores = Cores(grid, rates.start_cycles)
    for epoch in epochs:
        key = (epoch, tuple(map(tuple, cores.rounded())))
        if key not in known:
            known[key] = min(cores.ways(epoch), key=lambda places: cores.loaded(epoch.timing, places))
        before = cores.end
        cores.take(epoch.timing, known[key])
        found.append((known[key], cores.end - before))
    return found


@record(slots=True)
class Spot:
    """Where a rectangle can lie, and when all its cores are free.  lines: its cores in each of its rows, as bits."""

    free: float
    row: int
    col: int
    transposed: bool
    lines: tuple[int, ...]


@record(frozen=False)
class Cores:
    """When each core of a grid is free, in cycles.

    Args:
        start_cycles: from a core's start to its first packet.
        origin, end: when the last epoch begins, and ends; last: that epoch.
    """

    grid: tuple[int, int]
    start_cycles: float
    origin: float = 0.0
    end: float = 0.0
    last: EpochTiming | None = None
    free: list[list[float]] = field(default_factory=list)
    known: dict[tuple[int, int, bool | None], list[Spot]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.free = self.free or [[0.0] * self.grid[1] for _ in range(self.grid[0])]

    def rounded(self) -> list[list[int]]:
        """Return when cores are free, in cycles after the first that is."""
        first = min(map(min, self.free))
        return [[round(moment - first) for moment in line] for line in self.free]

    def latest(self, place: Grid) -> float:
        """Return when all cores of a rectangle are free."""
        rows, cols = extent(place)
        return max(max(line[place.col : place.col + cols]) for line in self.free[place.row : place.row + rows])

    def loaded(self, timing: EpochTiming, places: Sequence[Grid]) -> float:
        """Return when an epoch can begin at such places, for all that its cores load as soon as they are free."""
        jobs = [replace(job, arrival=self.latest(place)) for job, place in zip(timing.jobs, places, strict=True)]
        ready = loaded(jobs, self.end, 1.0 if self.last is None else 1.0 - self.last.share)
        return self.start_cycles + max((moment - begin for moment, begin in zip(ready, timing.begins, strict=True)), default=0.0)

    def take(self, timing: EpochTiming, places: Sequence[Grid]) -> None:
        """Let an epoch run at such places."""
        read = 0.0 if self.last is None else self.origin + self.last.least(timing)
        self.origin = max(self.loaded(timing, places), read)
        for place, end in zip(places, timing.ends, strict=True):
            rows, cols = extent(place)
            for row in range(place.row, place.row + rows):
                self.free[row][place.col : place.col + cols] = [self.origin + end] * cols
        self.end, self.last = max(self.origin + timing.cycles, self.end), timing
        self.known.clear()

    def ways(self, epoch: LyingEpoch) -> Iterator[tuple[Grid, ...]]:
        """Yield the ways an epoch may lie: as it does, mirrored, and packed anew in the order of time or of size."""
        yield epoch.places
        if any(limit.start is not None for limit in epoch.limits):
            return
        base = [epoch.places, *mirrored(epoch.places, self.grid)]
        numbers, begins = range(len(epoch.places)), epoch.timing.begins
        loads = [job.cycles / job.cores for job in epoch.timing.jobs]
        soon = [sorted(numbers, key=lambda i: begins[i] - beside * loads[i]) for beside in BESIDE]
        large = sorted(numbers, key=lambda i: (-max(extent(epoch.places[i])), -area(epoch.places[i]), begins[i]))
        larger = sorted(numbers, key=lambda i: (-area(epoch.places[i]), begins[i]))
        for order in (*soon, soon[0][::-1], large, larger):
            for late in (False, True):
                found = self.packed(epoch, order, late=late)
                if found is not None:
                    base.append(found)
        for places in base:
            yield self.exchanged(epoch, places)

    def packed(self, epoch: LyingEpoch, order: Sequence[int], *, late: bool) -> tuple[Grid, ...] | None:
        """Return places in the order given, each where its cores are free soonest, or where they are just free when it begins."""
        taken = [0] * self.grid[0]
        first = min(map(min, self.free))
        found: dict[int, Grid] = {}
        for number in order:
            place, due = epoch.places[number], first + epoch.timing.begins[number]
            spots = self.spots(place.rows, place.cols, epoch.limits[number].transposed)
            if late:
                spots = sorted(spots, key=lambda spot: max(spot.free - due, (due - spot.free) / 2))  # early is better than late
            best = next((spot for spot in spots if not any(map(and_, taken[spot.row : spot.row + len(spot.lines)], spot.lines))), None)
            if best is None:
                return None
            for row, line in enumerate(best.lines, best.row):
                taken[row] |= line
            found[number] = Grid(best.row, best.col, place.rows, place.cols, best.transposed)
        return tuple(found[i] for i in range(len(found)))

    def spots(self, rows: int, cols: int, transposed: bool | None) -> list[Spot]:
        """Return where a rectangle can lie, upright or on its side, by when its cores are free."""
        key = rows, cols, transposed
        if key not in self.known:
            sides = ((False, True) if rows != cols else (False,)) if transposed is None else (transposed,)
            places = [
                Grid(row, col, rows, cols, side)
                for side in sides
                for row in range(self.grid[0] - (cols if side else rows) + 1)
                for col in range(self.grid[1] - (rows if side else cols) + 1)
            ]
            found = [Spot(self.latest(p), p.row, p.col, p.transposed, (_line(p),) * extent(p)[0]) for p in places]
            self.known[key] = sorted(found, key=lambda spot: spot.free)
        return self.known[key]

    def exchanged(self, epoch: LyingEpoch, places: Sequence[Grid]) -> tuple[Grid, ...]:
        """Return places with those of equal rectangles exchanged, so that the op which begins first has the one that is free first."""
        alike: dict[object, list[int]] = {}
        for number, place in enumerate(places):
            alike.setdefault((place.rows, place.cols, extent(place)), []).append(number)
        found = list(places)
        for numbers in alike.values():
            spots = sorted((places[i] for i in numbers), key=self.latest)
            for number, spot in zip(sorted(numbers, key=lambda i: epoch.timing.begins[i]), spots, strict=True):
                found[number] = spot
        return tuple(found)


def extent(place: Grid) -> tuple[int, int]:
    """Return rows and columns of the chip that a place covers."""
    return (place.cols, place.rows) if place.transposed else (place.rows, place.cols)


def _line(place: Grid) -> int:
    """Return the cores of a place in each of its rows, as bits."""
    return ((1 << extent(place)[1]) - 1) << place.col


def area(place: Grid) -> int:
    """Return the number of cores of a place."""
    return place.rows * place.cols


def mirrored(places: Sequence[Grid], grid: tuple[int, int]) -> Iterator[tuple[Grid, ...]]:
    """Yield places upside down, from right to left, and both."""
    for down, across in ((True, False), (False, True), (True, True)):
        found: list[Grid] = []
        for place in places:
            rows, cols = extent(place)
            row = grid[0] - place.row - rows if down else place.row
            found.append(replace(place, row=row, col=grid[1] - place.col - cols if across else place.col))
        yield tuple(found)
