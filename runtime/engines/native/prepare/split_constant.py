"""Finds jobs that work on constants alone."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from ttc.runtime.engines.native.graph.tensors import Place, PlanBuffer
from ttc.runtime.engines.native.jobs.job import Job
from ttc.runtime.engines.native.planning.python_step import PythonStep
from ttc.runtime.engines.native.planning.steps import Step, buffers_of
from ttc.runtime.engines.native.prepare.rewriter import Allow, always


def split_constant(steps: Sequence[Step], allow: Allow = always) -> tuple[list[Job], list[Step]]:
    """Return the jobs that work on constants alone, and all other steps; results of the former become constants."""
    first = _constant_jobs(steps, ())
    refused = {id(job) for job in first if not allow("precompute", job.node)}
    first = _constant_jobs(steps, refused) if refused else first
    for job in first:
        for view in job.written:
            view.buffer.place = Place.CONSTANT
    chosen = {id(job) for job in first}
    return first, [step for step in steps if id(step) not in chosen]


def _constant_jobs(steps: Sequence[Step], refused: Collection[int]) -> list[Job]:
    """Jobs that read and write nothing that changes from run to run.  refused: identities of steps that run each time."""
    variable: set[PlanBuffer] = set()
    changed = True
    while changed:
        changed = False
        for step in steps:
            sources, targets = buffers_of(step)
            free = isinstance(step, PythonStep) or id(step) in refused or not sources
            free = free or any(_varies(buffer, variable) for buffer in (*sources, *targets))
            if free and not variable.issuperset(targets):
                variable.update(targets)
                changed = True
    return [s for s in steps if isinstance(s, Job) and not variable.intersection(buffers_of(s)[1])]


def _varies(buffer: PlanBuffer, variable: set[PlanBuffer]) -> bool:
    return buffer in variable or buffer.place in (Place.BOUND, Place.STATUS)
