"""Has plans record their runs and jobs, for as long as somebody profiles."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext

from numpy.typing import NDArray

from ttc.dialects.core.records import record
from ttc.runtime.engines.base import Plan, ProfiledPlan, Timed
from ttc.runtime.program import Program
from ttc.runtime.tracing import Event, add, path_of_regions, recordings, span


def run_of(name: str, program: Program) -> AbstractContextManager[None]:
    """Record what is inside as a run of a program, if somebody records.  name: of the entry program."""
    return _run_of(name, program) if recordings() else nullcontext()


def watched(plan: Plan, graph: str) -> Plan:
    """Return the plan itself, or one that records its runs and their jobs if somebody records."""
    return _WatchedPlan(graph, plan) if recordings() else plan


@record
class _WatchedPlan:
    graph: str
    plan: Plan

    def run(self, entries: Mapping[str, NDArray], into: Mapping[str, NDArray] | None = None) -> dict[str, NDArray]:
        """Run the plan, and record its jobs; see `Plan.run`."""
        with span("graph", self.graph):
            if not isinstance(self.plan, ProfiledPlan):
                return self.plan.run(entries, into)
            found, jobs = self.plan.timed(entries, into)
        for job in jobs:
            _note_job(job)
        return found


@contextmanager
def _run_of(name: str, program: Program) -> Iterator[None]:
    for recording in recordings():
        recording.programs[id(program)] = program
    with span("run", name, program=id(program)):
        yield


def _note_job(job: Timed) -> None:
    told = {
        "op": job.op,
        "kernel": job.kernel,
        "region": path_of_regions(),
        "flops": job.flops,
        "bytes": job.bytes,
        "steps": list(job.steps),
    }
    add(Event("job", " + ".join(job.location) or job.op, threading.get_native_id(), job.start_ns, job.end_ns, told))
