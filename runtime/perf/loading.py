"""What cores load before they work, and when that is done.

A core loads the program of its next op as soon as it is free, and the weights that are its alone.  Weights that several cores take in at
the same time come when the last of them is free.  What loads at the same time shares the ways from DRAM, and has only what the epoch
that still runs leaves of them.

That is what the reference's firmware does.  With kernels `fused` cores load in turn, epoch by epoch, those first whose ops begin first:
one after another they have all of the ways, so that nothing takes longer.  Kernels come once for all cores of an op.  Cores also load
ahead: as soon as an op runs, they take in what their next op needs, as far as L1 has room for that beside all buffers of the op that runs;
the rest comes when that is through.  TT-Metalium does so with kernels (its dispatcher sends each to all cores of a program, while the one
before runs) and with weights (`ttnn.dram_prefetcher`).

Source: tt-metal, pull request 16244 (weights are taken into L1 while ops run); tt_metal/impl/dispatch (programs are queued ahead).
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import NamedTuple

from ttc.runtime.perf.costs import OpCost
from ttc.runtime.perf.movement import crossing_rate
from ttc.runtime.perf.rates import Rates

LEAST_LEFT = 0.05
"""Part of the ways from DRAM that loads have at least, however busy the epoch beside them is."""


@dataclass(frozen=True, slots=True)
class LoadJob:
    """What an op loads before it works, or some of its cores.

    Args:
        arrival: when all of these cores are free.
        cores: how many.
        cycles: of the ways from DRAM, for what each core loads by itself.
        least: of one core.
        shared: cycles of the ways from DRAM for what several cores take in at the same time.
        begin: of the op in its epoch, by which cores take turns.
        need: bytes that a core loads; without end if it cannot load ahead of time.
        whole: bytes of these that come as one piece.
    """

    arrival: float
    cores: int
    cycles: float
    least: float
    shared: float = 0.0
    begin: float = 0.0
    need: float = inf
    whole: float = 0.0

    def parts(self, cores: Mapping[CoreTimes, int]) -> list[LoadJob]:
        """Return the same as loads that begin at their own moments.  cores: how many there are of each kind."""
        each = self.cycles if len(cores) > 1 else self.cycles + self.shared
        found = [part for core, count in cores.items() for part in self.pieces(core, count, each * count / self.cores)]
        if self.shared and len(cores) > 1:
            all_ = CoreTimes(*map(max, zip(*cores, strict=True)))._replace(room=min(core.room for core in cores))
            found += self.pieces(all_, self.cores, self.shared)
        return found

    def pieces(self, core: CoreTimes, count: int, cycles: float) -> Iterator[LoadJob]:
        """Yield what cores of one kind load ahead of time, and what they load when they are free.  count, cycles: of all of them."""
        ahead = 0.0 if core.room < self.whole or core.ahead >= core.free else min(core.room / self.need, 1.0)
        for moment, part in ((core.ahead, ahead), (core.free, 1.0 - ahead)):
            if part:
                yield LoadJob(moment, count, cycles * part, self.least * part, begin=self.begin)


class CoreTimes(NamedTuple):
    """A core between its ops.

    free: when its op is through; ahead: when it can load for the next one, room: bytes of L1 that it has for that.
    """

    free: float = 0.0
    ahead: float = inf
    room: float = 0.0

    def later(self, cycles: float) -> CoreTimes:
        """Return the same so many cycles later."""
        return CoreTimes(self.free + cycles, self.ahead + cycles, self.room)


def load_of(op: OpCost, rates: Rates, begin: float = 0.0, *, ahead: bool = True) -> LoadJob:
    """Return what an op loads.  begin: of the op in its epoch; ahead: whether what it reads is there before the run."""
    held = [stream for stream in op.streams if stream.held]
    size = rates.program_bytes + sum(stream.core_bytes for stream in held)
    own, shared = rates.program_cycles(op.cores), 0.0
    if rates.ahead and op.cores > 1:
        shared = rates.program_cycles(1) * rates.kernel_bytes / rates.program_bytes
        own -= shared * op.cores
    for stream in held:
        cycles = stream.total_bytes / (stream.load_rate or crossing_rate(rates, stream.channels))
        own, shared = (own, shared + cycles) if stream.copies > 1 else (own + cycles, shared)
    least = size / rates.absorb_core + rates.prologue_cycles * len(held)
    return LoadJob(0.0, op.cores, own, least, shared, begin, size if ahead else inf, rates.program_bytes)


def loads_of(jobs: Iterable[LoadJob]) -> float:
    """Return cycles that the ways from DRAM take for several loads."""
    return sum(job.cycles + job.shared for job in jobs)


def ready(
    jobs: Sequence[LoadJob], cores: Sequence[Mapping[CoreTimes, int]], until: float, left: float, since: float | None = None
) -> list[float]:
    """Return when each of several ops has all that it loads.

    cores: how many of its cores there are of each kind; since: where cores load in turn, when the loads of epochs before are done.
    """
    parts = [job.parts(kinds) for job, kinds in zip(jobs, cores, strict=True)]
    every = [part for found in parts for part in found]
    done = iter(loaded(every, until, left) if since is None else in_turn(every, until, left, since))
    return [max(next(done) for _ in found) for found in parts]


def in_turn(jobs: Sequence[LoadJob], until: float, left: float, since: float = 0.0) -> list[float]:
    """Return when each of several loads is done if of those that wait the one begins first whose op does.

    The next one begins as soon as those before it leave some of the ways from DRAM, which they have a part of before `until`.
    since: when the loads of epochs before are done.
    """
    order = sorted(range(len(jobs)), key=lambda i: jobs[i].arrival)
    done = [0.0] * len(jobs)
    waiting: list[tuple[float, int]] = []
    now, number = since, 0
    while number < len(order) or waiting:
        if not waiting:
            now = max(now, jobs[order[number]].arrival)
        while number < len(order) and jobs[order[number]].arrival <= now:
            heapq.heappush(waiting, (jobs[order[number]].begin, order[number]))
            number += 1
        _, i = heapq.heappop(waiting)
        begin, work = now, jobs[i].cycles + jobs[i].shared
        slow = min(work / left, max(until - now, 0.0))
        now += slow + max(work - slow * left, 0.0)
        done[i] = max(now, begin + jobs[i].least)
    return done


def loaded(jobs: Sequence[LoadJob], until: float, left: float) -> list[float]:
    """Return when each of several loads is done.  They share the ways from DRAM by their cores; before `until` they have a part of these.

    `passed` counts the cycles of the ways that a core has had since the first load began: a load is done when it has had its own.
    """
    order = sorted(range(len(jobs)), key=lambda i: jobs[i].arrival)
    done = [job.arrival + job.least for job in jobs]
    waiting: list[tuple[float, int]] = []
    now, passed, cores, number = 0.0, 0.0, 0, 0
    while number < len(order) or waiting:
        if not waiting:
            now, cores = max(now, jobs[order[number]].arrival), 0
        while number < len(order) and jobs[order[number]].arrival <= now:
            job = jobs[order[number]]
            heapq.heappush(waiting, (passed + (job.cycles + job.shared) / job.cores, order[number]))
            cores, number = cores + job.cores, number + 1
        rate = left if now < until else 1.0
        next_arrival = jobs[order[number]].arrival if number < len(order) else inf
        event = min(next_arrival, until if now < until else inf)
        end = now + (waiting[0][0] - passed) * cores / rate
        if end > event:
            passed, now = passed + (event - now) * rate / cores, event
            continue
        passed, now = waiting[0][0], end
        while waiting and waiting[0][0] <= passed:
            _, i = heapq.heappop(waiting)
            done[i], cores = max(done[i], now), cores - jobs[i].cores
    return done
