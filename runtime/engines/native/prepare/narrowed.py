"""Which entries need not be rounded to their format before a run: those that all jobs round as they read them."""

from __future__ import annotations

from ttc.runtime.engines.native.graph.tensors import PlanBuffer, View
from ttc.runtime.engines.native.jobs.job import Job
from ttc.runtime.engines.native.kernels.movement import Movement
from ttc.runtime.engines.native.prepare.draft import Draft

_STORAGES = {"Float16_b": "bf16"}
"""Formats whose rounding is that of a storage to which copies convert: to nearest, ties to even."""


def narrowed_queues(draft: Draft) -> dict[str, str]:
    """Return, with their formats, the queues whose entries in float32 are only copied to memory of that format.

    There are none if Python has a step, which would see entries as they are given.  draft: with its jobs in order.
    """
    if any(segment.step is not None for segment in draft.segments):
        return {}
    shown = {written.view.buffer for written in draft.written if written.view is not None}
    shown |= {view.buffer for segment in draft.segments for view, _ in segment.conditions}
    found: dict[str, str] = {}
    for queue, view in draft.bound.items():
        format = draft.netlist.queues[queue].tensor.format
        storage = _STORAGES.get(format)
        if view is None or view.storage != "f32" or storage is None or queue in draft.variables or view.buffer in shown:
            continue
        readers = [job for job in draft.jobs if _reads(job, view.buffer)]
        if readers and all(_converts(job, storage) for job in readers):
            found[queue] = format
    return found


def _reads(job: Job, buffer: PlanBuffer) -> bool:
    return any(isinstance(word, View) and word.buffer is buffer for word in (*job.words, *job.depends))


def _converts(job: Job, storage: str) -> bool:
    """Return whether a job copies float32 to a storage, and does nothing else."""
    return isinstance(job.kernel, Movement) and (job.kernel.source, job.kernel.target) == ("f32", storage)
