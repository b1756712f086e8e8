"""The step that makes jobs on constants which make the same one: weights that several products read are packed once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ttc.runtime.engines.native.graph.tensors import Place, PlanBuffer, View
from ttc.runtime.engines.native.jobs.job import Job
from ttc.runtime.engines.native.planning.steps import Step, buffers_of
from ttc.runtime.engines.native.prepare.rewriter import Allow, always

if TYPE_CHECKING:
    from ttc.runtime.engines.native.kernels.words import Word


def share_constants(
    first: Sequence[Job], steps: Sequence[Step], named: Collection[PlanBuffer], allow: Allow = always
) -> tuple[list[Job], list[Step]]:
    """Return the jobs on constants without repetitions, and all steps with views of what is left.

    Args:
        first: jobs on constants, in order.
        steps: the others.
        named: buffers of values of the graph, which the plan names elsewhere than in jobs: they stay as they are.
    """
    writers = Counter(buffer for job in first for buffer in dict.fromkeys(buffers_of(job)[1]))
    fixed = {*named, *(buffer for step in steps if not isinstance(step, Job) for half in buffers_of(step) for buffer in half)}
    known: dict[Hashable, Job] = {}
    instead: dict[PlanBuffer, PlanBuffer] = {}
    kept: list[Job] = []
    for job in (reading_instead(instead, job) for job in first):
        targets = buffers_of(job)[1]
        alone = all(b.place is Place.CONSTANT and writers[b] == 1 for b in targets)
        same = known.setdefault(identity_of(job), job) if alone else job
        if same is job or not fixed.isdisjoint(targets) or not allow("share", job.node):
            kept.append(job)
        else:
            instead |= dict(zip(targets, buffers_of(same)[1], strict=True))
    return kept, [reading_instead(instead, step) if isinstance(step, Job) else step for step in steps]


def identity_of(job: Job) -> Hashable:
    """Return a key that is equal for jobs that compute the same from the same constants.

    In it, results stand as their numbers, and all other buffers for themselves.
    """
    numbers = {buffer: number for number, buffer in enumerate(dict.fromkeys(buffers_of(job)[1]))}

    def of(word: Word) -> Hashable:
        if not isinstance(word, View):
            return repr(word)  # 0.0 and -0.0 are equal, but not the same
        place = (numbers[word.buffer], word.buffer.size_bytes) if word.buffer in numbers else word.buffer
        return place, word.storage, word.shape, word.strides, word.offset

    return job.kernel, job.tasks, job.chunk, tuple(of(word) for word in job.words), tuple(of(view) for view in job.written)


def reading_instead(instead: dict[PlanBuffer, PlanBuffer], job: Job) -> Job:
    """Return a job that reads other buffers instead of those that are no longer made."""
    if not any(view.buffer in instead for view in job.read):
        return job

    def of(word: Word) -> Word:
        return replace(word, buffer=instead.get(word.buffer, word.buffer)) if isinstance(word, View) else word

    words, depends = tuple(of(word) for word in job.words), tuple(view for view in map(of, job.depends) if isinstance(view, View))
    return replace(job, words=words, depends=depends)
