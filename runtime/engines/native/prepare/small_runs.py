"""Which runs are too small for several threads: waking them takes longer than they save."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ttc.runtime.engines.native.jobs.job import Job

MOST_NS = 40_000
"""The most estimated nanoseconds of work that one thread does alone.

Threads that sleep take microseconds to be woken, and milliseconds where other programs have the cores; those that do not sleep yet share
caches and, on many machines, cores with the thread that they wait for.  Measured by training steps of three linear layers, called from
Python on a Xeon of 2 cores: a second thread makes them 34 to 45 µs longer, up to 180 µs of work.  Where nothing happens between runs it
costs less.
"""
_FLOPS_A_NS = 32
_BYTES_A_NS = 16
"""What one core does at least in kernels of few elements, whose operands its second-level cache has."""
_JOB_NS = 200
"""What a job of one element takes."""
_UNKNOWN_TASK_NS = 2_000
"""What a task takes of a job that does not say what it does."""


def is_small(jobs: Iterable[Job]) -> bool:
    """Return whether one thread is to compute these jobs alone, by the estimates of those jobs that have several tasks."""
    return sum(_nanoseconds(job) for job in jobs if job.tasks > 1) <= MOST_NS


def _nanoseconds(job: Job) -> float:
    if not job.flops and not job.moved_bytes:
        return job.tasks * _UNKNOWN_TASK_NS
    return _JOB_NS + max(job.flops / _FLOPS_A_NS, job.moved_bytes / _BYTES_A_NS)
