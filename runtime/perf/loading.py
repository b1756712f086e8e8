"""What cores load before they work, and when that is done.

A core loads the program of its next op as soon as it is free, and the weights that are its alone.  Weights that several cores take in at
the same time come when the last of them is free.  What loads at the same time shares the ways from DRAM, and has only what the epoch
that still runs leaves of them.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf

from ttc.runtime.perf.costs import OpCost
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
    """

    arrival: float
    cores: int
    cycles: float
    least: float
    shared: float = 0.0

    def parts(self, free: Mapping[float, int]) -> list[LoadJob]:
        """Return the same as loads that begin at their own moments.  free: how many cores are free from each moment on."""
        if len(free) == 1 or not self.shared:
            share = (self.cycles + self.shared) / self.cores
            return [LoadJob(moment, cores, share * cores, self.least) for moment, cores in free.items()]
        share = self.cycles / self.cores
        own = [LoadJob(moment, cores, share * cores, self.least) for moment, cores in free.items()]
        return [*own, LoadJob(max(free), self.cores, self.shared, self.least)]


def load_of(op: OpCost, rates: Rates) -> LoadJob:
    """Return what an op loads."""
    held = [stream for stream in op.streams if stream.held]
    most = (rates.program_bytes + sum(stream.core_bytes for stream in held)) / rates.absorb_core
    own, shared = rates.program_cycles(op.cores), 0.0
    for stream in held:
        cycles = stream.total_bytes / min(stream.channels * rates.dram_channel, rates.dram_links * rates.link)
        own, shared = (own, shared + cycles) if stream.copies > 1 else (own + cycles, shared)
    return LoadJob(0.0, op.cores, own, most + rates.prologue_cycles * len(held), shared)


def ready(jobs: Sequence[LoadJob], free: Sequence[Mapping[float, int]], until: float, left: float) -> list[float]:
    """Return when each of several ops has all that it loads.  free: how many of its cores are free from each moment on."""
    parts = [job.parts(moments) for job, moments in zip(jobs, free, strict=True)]
    done = iter(loaded([part for found in parts for part in found], until, left))
    return [max(next(done) for _ in found) for found in parts]


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
