"""The job list of a plan in words, addresses open: what is kept of jobs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.records import record
from ttc.runtime.engines.native.graph.tensors import PlanBuffer, View
from ttc.runtime.engines.native.kernels import threads_code
from ttc.runtime.pages import ALIGNMENT

if TYPE_CHECKING:
    from ttc.runtime.engines.native.jobs.job import Job


@record
class Patch:
    """Words that hold addresses in a buffer: their positions, and offsets in bytes."""

    positions: NDArray[np.int64]
    offsets: NDArray[np.int64]

    def apply(self, words: NDArray[np.int64], base: int) -> None:
        """Fill in the addresses for a buffer at an address."""
        if len(self.positions) == 1:  # as most inputs and outputs: an array operation takes longer
            words[self.positions.item()] = self.offsets.item() + base
        else:
            words[self.positions] = self.offsets + base


NO_PATCH = Patch(np.zeros(0, np.int64), np.zeros(0, np.int64))
"""No words: no job has the address of the buffer."""


@record
class Template:
    """The job list of a plan, its addresses open.

    Args:
        words: all jobs' words, one job after the other.
        table: `threads_code.JOB_WORDS` words a job; for the address of a kernel stands its number among `kernels`, for that of a job's
            words their position.
        kernels: their keys.
        patches: by buffer.
        scratch_bytes: a thread.
    """

    words: NDArray[np.int64]
    table: NDArray[np.int64]
    kernels: tuple[str, ...]
    patches: Mapping[PlanBuffer, Patch]
    scratch_bytes: int


def template_of(jobs: Sequence[Job], threads: int) -> Template:
    """Return the job list of jobs, for as many threads."""
    words: list[int] = []
    kernels: dict[str, int] = {}
    table = np.zeros((len(jobs), threads_code.JOB_WORDS), np.int64)
    places: dict[PlanBuffer, list[tuple[int, int]]] = {}
    for number, job in enumerate(jobs):
        flags = threads_code.ALONE if job.tasks == 1 or threads == 1 else 0
        chunk = job.chunk or max(job.tasks // (threads * 8), 1)
        table[number, :5] = kernels.setdefault(job.kernel.key, len(kernels)), len(words), job.tasks, chunk, flags
        for word in job.words:
            if isinstance(word, View):
                places.setdefault(word.buffer, []).append((len(words), word.offset * word.item_bytes))
            words.append(_bits(word))
    patches = {buffer: Patch(*(np.array(column, np.int64) for column in zip(*found, strict=True))) for buffer, found in places.items()}
    scratch = max((job.scratch for job in jobs), default=0)
    return Template(np.array(words or [0], np.int64), table, tuple(kernels), patches, -(-scratch // ALIGNMENT) * ALIGNMENT)


def _bits(word: int | float | View) -> int:
    if isinstance(word, View):
        return 0
    with np.errstate(over="ignore"):
        return int(np.float32(word).view(np.uint32)) if isinstance(word, float) else int(word)
