"""Places of epochs that follow each other: early ops of an epoch lie where the epoch before it is through first.

Each core goes on to its next epoch by itself.  Where the first ops of an epoch take the cores that the one before frees first, and the
last ones those that it frees last, programs and weights load while others compute, and epochs overlap.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import field, replace
from operator import itemgetter

from ttc.dialects.core.records import record
from ttc.dialects.netlist.model import Grid
from ttc.passes.tile_to_netlist.limits import PlacementLimits
from ttc.runtime.perf.clock import begins_of, ends_of, entry_of, paced_ends, share_of
from ttc.runtime.perf.epoch import EpochCost
from ttc.runtime.perf.loading import CoreTimes, LoadJob, load_of, loads_of, ready
from ttc.runtime.perf.rates import Rates

BESIDE = (0.0, 10.0, 40.0)
"""Numbers of cores that are taken to load beside a core, in orders in which places are sought: none is the order of time."""

STEPS = 4
"""How often the span within which an epoch can begin is halved in search of places."""
CLOSE = 0.01
"""The part of an epoch's cycles below which such a span is not halved any more."""
SHARED = (0.0, 2.0, 6.0)
"""Numbers of loads that are taken to share the ways from DRAM with a core's own, where ops are placed by when their cores are due."""


@record
class EpochTiming:
    """When the ops of an epoch run, and what they load before.

    Args:
        begins, ends: of each op, when it begins its first and ends its last microbatch, in cycles from when the first op begins.
        jobs: what each loads.
        fill: cycles until the first microbatch has passed.
        cycles: until all have.
        share: part of the ways from DRAM that the epoch takes.
        entries: when each op has its first entry.
        paced: when each ends its last microbatch if it takes one with every interval.
        lasts: cycles of each for its last microbatch.
        rooms: bytes of L1 that each leaves on its cores for what these load ahead of time.
        crossing: cycles that results of epochs before take to come from chip to chip.
    """

    begins: tuple[float, ...]
    ends: tuple[float, ...]
    jobs: tuple[LoadJob, ...]
    fill: float
    cycles: float
    share: float
    entries: tuple[float, ...]
    paced: tuple[float, ...]
    lasts: tuple[float, ...]
    rooms: tuple[float, ...] = ()
    crossing: float = 0.0

    @property
    def moved(self) -> float:
        """Cycles that the ways from DRAM take for all that the epoch loads, reads and writes."""
        return self.share * self.cycles + loads_of(self.jobs)

    def alone(self, start_cycles: float) -> float:
        """Return cycles of the epoch with nothing beside it.  start_cycles: from a core's start to its first packet."""
        free = [{CoreTimes(): job.cores} for job in self.jobs]
        return start_cycles + max(ready(self.jobs, free, 0.0, 1.0), default=0.0) + self.cycles


def timing_of(epoch: EpochCost, rates: Rates, usable_bytes: int = 0, crossing: float = 0.0) -> EpochTiming:
    """Return when the ops of an epoch run that is costed by itself.

    usable_bytes: of L1, for buffers and what is loaded ahead; crossing: as `EpochTiming` has it.
    """
    begins = begins_of(epoch)
    return EpochTiming(
        tuple(begins),
        tuple(ends_of(epoch)),
        tuple(load_of(op, rates, begin) for op, begin in zip(epoch.ops, begins, strict=True)),
        epoch.fill,
        epoch.cycles - epoch.prologue,
        share_of(epoch),
        tuple(entry_of(epoch, number) for number in range(len(epoch.ops))),
        tuple(paced_ends(epoch)),
        tuple(op.total for op in epoch.ops),
        tuple(float(usable_bytes - op.l1_bytes) for op in epoch.ops) if rates.ahead else (),
        crossing,
    )


@record
class LyingEpoch:
    """An epoch with places that it could have.

    limits: what the user asks of its ops; reads: of each, how many ops before the epoch's first one those stand whose results it reads.
    """

    timing: EpochTiming
    places: tuple[Grid, ...]
    limits: tuple[PlacementLimits, ...]
    reads: tuple[tuple[int, ...], ...]


def following(epochs: Sequence[LyingEpoch], grid: tuple[int, int], rates: Rates) -> list[tuple[tuple[Grid, ...], float]]:
    """Return places for the ops of epochs that run one after another, and the cycles by which each makes the run longer.

    An epoch begins as soon as its cores are free and loaded, and what it reads is written.  Its rectangles keep their sizes; of several
    ways to lie the one is taken with which it begins first.
    """
    found: list[tuple[tuple[Grid, ...], float]] = []
    known: dict[object, tuple[Grid, ...]] = {}
    cores = Cores(grid, rates.start_cycles, rates.ahead)
    for epoch in epochs:
        key = (epoch, cores.rounded())
        if key not in known:
            known[key] = cores.best(epoch)
        before = cores.end
        cores.take(epoch, known[key])
        found.append((known[key], cores.end - before))
    return found


@record(slots=True)
class Spot:
    """Where a rectangle can lie, and when all its cores are free.  cores: of the grid, row by row, as bits."""

    free: float
    row: int
    col: int
    transposed: bool
    cores: int


@record(frozen=False)
class Cores:
    """When each core of a grid is free, in cycles.

    Args:
        start_cycles: from a core's start to its first packet.
        turns: whether cores load in turn.
        end: when the last epoch ends; last: that epoch; loads: when all of it was loaded.
        moved: cycles that the ways from DRAM have taken for all epochs until now.
        written: when each op of the epochs until now has its first and its last entry.
    """

    grid: tuple[int, int]
    start_cycles: float
    turns: bool = False
    end: float = 0.0
    loads: float = 0.0
    moved: float = 0.0
    last: EpochTiming | None = None
    written: list[tuple[float, float]] = field(default_factory=list)
    free: list[list[float]] = field(default_factory=list)
    times: list[list[CoreTimes]] = field(default_factory=list)
    known: dict[tuple[int, int, bool | None], list[Spot]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.free = self.free or [[0.0] * self.grid[1] for _ in range(self.grid[0])]
        self.times = [[CoreTimes(moment) for moment in line] for line in self.free]

    def rounded(self) -> tuple[tuple[int, ...], ...]:
        """Return when cores are free, and can load ahead, in cycles after the first that is free; and what they have room for."""
        first = min(map(min, self.free))
        return tuple(
            (round(core.free - first), round(min(core.ahead, core.free) - first), round(core.room)) for line in self.times for core in line
        )

    def latest(self, place: Grid) -> float:
        """Return when all cores of a rectangle are free."""
        rows, cols = extent(place)
        return max(max(line[place.col : place.col + cols]) for line in self.free[place.row : place.row + rows])

    def kinds(self, place: Grid) -> Counter[CoreTimes]:
        """Return how many cores of each kind a rectangle has."""
        rows, cols = extent(place)
        found: Counter[CoreTimes] = Counter()
        for line in self.times[place.row : place.row + rows]:
            found.update(line[place.col : place.col + cols])
        return found

    def filled(self, timing: EpochTiming, places: Sequence[Grid]) -> list[float]:
        """Return when each op of an epoch has all that it loads, at such places."""
        left = 1.0 if self.last is None else 1.0 - self.last.share
        return ready(timing.jobs, list(map(self.kinds, places)), self.end, left, self.loads if self.turns else None)

    def loaded(self, timing: EpochTiming, places: Sequence[Grid]) -> float:
        """Return when an epoch can begin at such places, for its cores and all that they load."""
        found = zip(self.filled(timing, places), places, timing.begins, strict=True)
        return self.start_cycles + max((max(moment, self.latest(place)) - begin for moment, place, begin in found), default=0.0)

    def best(self, epoch: LyingEpoch) -> tuple[Grid, ...]:
        """Return places with which an epoch begins early.

        Of the quick ways to lie the best is taken; and then, for ever earlier moments as long as that succeeds, each op gets cores that are
        free just in time to load what it needs then, so that those that are free soon are left to ops that need them soon.  One microbatch
        alone is hardly worth that: an epoch waits for all of what it reads.
        """
        timing = epoch.timing
        found = min(self.ways(epoch), key=lambda places: self.loaded(timing, places))
        if timing.cycles <= timing.fill or any(limit.start is not None for limit in epoch.limits):
            return found
        best = high = self.loaded(timing, found)
        low = min(map(min, self.free)) + self.start_cycles
        low = max(low, min(self.passing(epoch, ends) for ends in (timing.ends, timing.paced)))
        for _ in range(STEPS):
            if high - low < CLOSE * timing.cycles:
                break
            middle = (low + high) / 2
            for places in self.timely(epoch, middle):
                begin = self.loaded(timing, places)
                if begin < best:
                    found, best = places, begin
            low, high = (low, best) if best < high else (middle, high)
        return found

    def timely(self, epoch: LyingEpoch, origin: float) -> Iterator[tuple[Grid, ...]]:
        """Yield places for an epoch that is to begin at a moment."""
        timing, numbers = epoch.timing, range(len(epoch.places))
        due = [origin + begin - self.start_cycles for begin in timing.begins]
        for shared in (None, *SHARED) if self.turns else SHARED:
            loads = [0.0 if shared is None else job.least + shared * job.cycles for job in timing.jobs]
            moments = [moment - load for moment, load in zip(due, loads, strict=True)]
            large = sorted(numbers, key=lambda i: (-max(extent(epoch.places[i])), -area(epoch.places[i]), moments[i]))
            for order in (large, sorted(numbers, key=lambda i: moments[i])):
                found = self.fitted(epoch, order, moments)
                if found is not None:
                    yield found

    def fitted(self, epoch: LyingEpoch, order: Sequence[int], due: Sequence[float]) -> tuple[Grid, ...] | None:
        """Return places in the order given, each where its cores are free latest before they are due, or else soonest behind that."""

        def in_time(number: int, spots: list[Spot]) -> Iterable[Spot]:
            split = bisect_right(spots, due[number], key=lambda spot: spot.free)
            return (*spots[:split][::-1], *spots[split:])

        return self.placed(epoch, order, in_time)

    def passing(self, epoch: LyingEpoch, ends: Sequence[float]) -> float:
        """Return the earliest moment at which an epoch can begin for what it reads, if its ops end their last microbatches so."""
        timing, moments = epoch.timing, [0.0]
        for begin, end, last, reads in zip(timing.begins, ends, timing.lasts, epoch.reads, strict=True):
            for behind in reads:
                first_entry, last_entry = self.written[-behind]
                moments.append(max(first_entry - begin, last_entry - max(end - last, begin)) + timing.crossing)
        return max(moments)

    def take(self, epoch: LyingEpoch, places: Sequence[Grid]) -> None:
        """Let an epoch run at such places."""
        timing, filled, ready = epoch.timing, self.filled(epoch.timing, places), self.loaded(epoch.timing, places)
        self.loads = max([self.loads, *filled])
        origin, ends = min(((max(ready, self.passing(epoch, ends)), ends) for ends in (timing.ends, timing.paced)), key=itemgetter(0))
        self.moved += timing.moved
        origin = max(origin, self.moved - timing.cycles)
        moments = [max(moment, self.latest(place)) + self.start_cycles for moment, place in zip(filled, places, strict=True)]
        for place, end, moment, room in zip(places, ends, moments, timing.rooms or (0.0,) * len(places), strict=True):
            rows, cols = extent(place)
            core = CoreTimes(origin + end, max(moment, self.loads), room)
            for row in range(place.row, place.row + rows):
                self.free[row][place.col : place.col + cols] = [core.free] * cols
                self.times[row][place.col : place.col + cols] = [core] * cols
        self.written += [(origin + entry, origin + end) for entry, end in zip(timing.entries, ends, strict=True)]
        self.end, self.last = max(origin + timing.cycles, self.end), timing
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
        first = min(map(min, self.free))

        def just_free(number: int, spots: list[Spot]) -> Iterable[Spot]:
            due = first + epoch.timing.begins[number]
            return sorted(spots, key=lambda spot: max(spot.free - due, (due - spot.free) / 2))  # early is better than late

        return self.placed(epoch, order, just_free if late else lambda number, spots: spots)

    def placed(
        self, epoch: LyingEpoch, order: Sequence[int], preferred: Callable[[int, list[Spot]], Iterable[Spot]]
    ) -> tuple[Grid, ...] | None:
        """Return places in the order given, each the first of an op's spots that is open; None if an op has none.

        preferred: gives an op's spots, the soonest first, in the order in which they are wanted.
        """
        taken = 0
        found: dict[int, Grid] = {}
        for number in order:
            place = epoch.places[number]
            best = _open(preferred(number, self.spots(place.rows, place.cols, epoch.limits[number].transposed)), taken)
            if best is None:
                return None
            taken |= best.cores
            found[number] = Grid(best.row, best.col, place.rows, place.cols, best.transposed)
        return tuple(found[i] for i in range(len(found)))

    def spots(self, rows: int, cols: int, transposed: bool | None) -> list[Spot]:
        """Return where a rectangle can lie, upright or on its side, by when its cores are free."""
        key = rows, cols, transposed
        if key not in self.known:
            sides = ((False, True) if rows != cols else (False,)) if transposed is None else (transposed,)
            found = [spot for side in sides for spot in self.spots_of(*((cols, rows) if side else (rows, cols)), side)]
            self.known[key] = sorted(found, key=lambda spot: spot.free)
        return self.known[key]

    def spots_of(self, height: int, width: int, side: bool) -> Iterator[Spot]:
        """Yield where a rectangle of cores can lie.  side: whether the op lies on its side in it."""
        across = range(self.grid[1] - width + 1)
        shape = sum(((1 << width) - 1) << down * self.grid[1] for down in range(height))
        latest = [[max(line[col : col + width]) for col in across] for line in self.free]
        for row in range(self.grid[0] - height + 1):
            for col, free in enumerate(map(max, zip(*latest[row : row + height], strict=True)) if height > 1 else latest[row]):
                yield Spot(free, row, col, side, shape << row * self.grid[1] + col)

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


def _open(spots: Iterable[Spot], taken: int) -> Spot | None:
    """Return the first spot of which no core is taken.  taken: cores of the grid, as bits."""
    return next((spot for spot in spots if not spot.cores & taken), None)


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
