"""How fast a loaded program runs: latencies, and where the time of a run goes."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Iterator, Mapping, Sequence
from itertools import repeat
from typing import TYPE_CHECKING, Any

from ttc.dialects.core.records import record
from ttc.reports.profiling import Profile
from ttc.runtime.engines.base import Timed
from ttc.runtime.executor import Executor

if TYPE_CHECKING:
    from ttc.reports.roofline import Roofline

MOST_RUNS = 1_000_000
"""The most latencies that are kept."""
WARM_UP_SHARE = 0.1
"""The share of the time that goes to runs before those that count."""
MOST_PROFILES, PROFILE_SHARE = 20, 0.2
"""Runs that are profiled: as many as this part of the time allows."""
STREAM_SHARE = 0.5
"""The share of the time that goes to runs as a stream."""
JOBS = 1
"""The thread of a trace on which jobs stand, below that of graphs."""


@record
class Latencies:
    """The latencies of runs.  seconds: of each run, in order; warm_up: runs before them that do not count; total: seconds from the first to
    the end of the last.
    """

    seconds: tuple[float, ...]
    warm_up: int
    total: float

    @property
    def figures(self) -> dict[str, float]:
        """Return least, percentiles (nearest rank), most, and mean, in seconds."""
        ordered = sorted(self.seconds)
        ranks = {f"p{p}": ordered[max(math.ceil(p / 100 * len(ordered)) - 1, 0)] for p in (50, 90, 99)}
        return {"min": ordered[0], **ranks, "max": ordered[-1], "mean": statistics.fmean(ordered)}

    @property
    def runs_per_second(self) -> float:
        """The runs in a second, one after the other."""
        return len(self.seconds) / self.total


@record
class OpTime:
    """The time of an op of the netlist: the median over runs of the sum of its jobs.

    Args:
        op: its name.  source: names in the model.  kernels: what computes it.
        steps: names of the engine's steps that changed what computes it.
        seconds: of one run, all microbatches.  flops, bytes: likewise.
    """

    op: str
    source: tuple[str, ...]
    kernels: tuple[str, ...]
    seconds: float
    flops: int
    bytes: int
    steps: tuple[str, ...] = ()

    def roof(self, machine: Roofline) -> float:
        """Return the least time that the op's arithmetic and bytes take, by the time that it takes; over 1 where caches hold its
        operands.
        """
        return machine.seconds(self.flops, self.bytes) / self.seconds if self.seconds else 0.0

    def figures(self, total: float, machine: Roofline) -> dict[str, Any]:
        """Return the figures of an op as plain data; total: seconds of all ops."""
        return {
            "op": self.op,
            "source": list(self.source),
            "kernels": list(self.kernels),
            "steps": list(self.steps),
            "seconds": self.seconds,
            "share": self.seconds / total if total else 0.0,
            "flops": self.flops,
            "bytes": self.bytes,
            "roofline": self.roof(machine),
        }


# ---- measuring ------------------------------------------------------------------------------------------------------------------


def latencies(
    executor: Executor, inputs: Mapping[str, Any], program: str, *, seconds: float, runs: int | None = None, warm_up: int | None = None
) -> Latencies:
    """Run a program for so long, or so often, and return the time of each run.

    Args:
        seconds: that the runs take together, at least one run; without effect if `runs` are given.
        runs: that count.  warm_up: before these; default: for a tenth of `seconds`, at least one.
    Raises: as `Executor.run` does.
    """
    before = _times(executor, inputs, program, seconds * WARM_UP_SHARE, warm_up)
    start = time.perf_counter()
    found = _times(executor, inputs, program, seconds, runs)
    return Latencies(tuple(found), len(before), time.perf_counter() - start)


def _times(executor: Executor, inputs: Mapping[str, Any], program: str, seconds: float, runs: int | None) -> list[float]:
    found: list[float] = []
    begin = time.perf_counter()
    while len(found) < MOST_RUNS if runs is None else len(found) < runs:
        start = time.perf_counter()
        if runs is None and found and start - begin >= seconds:
            break
        executor.run(inputs, program=program)
        found.append(time.perf_counter() - start)
    return found


def streamed(executor: Executor, inputs: Mapping[str, Any], program: str, *, latency: float, seconds: float) -> float:
    """Return runs a second of `Executor.run_many`, over about half of the time.  latency: of a run, in seconds. Raises as `run` does."""
    runs = max(3, min(MOST_RUNS, int(seconds * STREAM_SHARE / max(latency, 1e-9))))
    start = time.perf_counter()
    found = sum(1 for _ in executor.run_many(repeat(inputs, runs), program))
    return found / (time.perf_counter() - start)


def profiles_within(seconds: float, latency: float) -> int:
    """Return how many runs to profile; each takes about its latency."""
    return max(1, min(MOST_PROFILES, int(seconds * PROFILE_SHARE / max(latency, 1e-9))))


# ---- what a profile says --------------------------------------------------------------------------------------------------------


def op_times(profiles: Sequence[Profile]) -> list[OpTime]:
    """Return the times of ops, the slowest first.  profiles: of runs of one program, at least one."""
    spent: dict[str, list[float]] = {}
    jobs: dict[str, list[Timed]] = {}
    for profile in profiles:
        sums: dict[str, int] = {}
        for job in profile.jobs:
            sums[job.op] = sums.get(job.op, 0) + job.end_ns - job.start_ns
        for op, nanoseconds in sums.items():
            spent.setdefault(op, []).append(nanoseconds / 1e9)
    for job in profiles[0].jobs:
        jobs.setdefault(job.op, []).append(job)
    found = [_op_time(jobs[op], statistics.median(seconds)) for op, seconds in spent.items() if op in jobs]
    return sorted(found, key=lambda item: -item.seconds)


def _op_time(jobs: Sequence[Timed], seconds: float) -> OpTime:
    kernels = tuple(dict.fromkeys(job.kernel for job in jobs))
    steps = tuple(dict.fromkeys(step for job in jobs for step in job.steps))
    return OpTime(jobs[0].op, jobs[0].location, kernels, seconds, sum(job.flops for job in jobs), sum(job.bytes for job in jobs), steps)


def as_trace(profile: Profile, name: str, engine: str) -> dict[str, Any]:
    """Return the run in the JSON object form of the Trace Event Format, which Perfetto opens: times in microseconds since it began."""
    origin = min((job.start_ns for job in profile.jobs), default=0)
    threads = {0: "graphs", JOBS: f"jobs of engine {engine}"}
    named = [{"ph": "M", "name": "process_name", "pid": 0, "tid": 0, "args": {"name": name}}]
    named += [{"ph": "M", "name": "thread_name", "pid": 0, "tid": tid, "args": {"name": text}} for tid, text in threads.items()]
    return {"traceEvents": [*named, *_events(profile, origin)], "displayTimeUnit": "ms"}


def _events(profile: Profile, origin: int) -> Iterator[dict[str, Any]]:
    for graph, jobs in profile.graphs:
        if jobs:
            yield _event(graph, 0, jobs[0].start_ns - origin, max(job.end_ns for job in jobs) - jobs[0].start_ns, {"jobs": len(jobs)})
        for job in jobs:
            nanoseconds = job.end_ns - job.start_ns
            rates = {"GFLOP/s": round(job.flops / nanoseconds, 3), "GB/s": round(job.bytes / nanoseconds, 3)} if nanoseconds > 0 else {}
            told = {
                "op": job.op,
                "job": job.job,
                "kernel": job.kernel,
                "steps": list(job.steps),
                "flops": job.flops,
                "bytes": job.bytes,
                **rates,
            }
            yield _event(" + ".join(job.location) or job.op, JOBS, job.start_ns - origin, nanoseconds, told)


def _event(name: str, tid: int, start_ns: int, duration_ns: int, args: dict[str, Any]) -> dict[str, Any]:
    return {"ph": "X", "name": name, "pid": 0, "tid": tid, "ts": start_ns / 1e3, "dur": duration_ns / 1e3, "args": args}
