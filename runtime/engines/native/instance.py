"""What one run at a time needs of a plan: its memory, with all addresses filled in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.records import record
from ttc.runtime.engines.native import threads_code
from ttc.runtime.engines.native.arena import Arena
from ttc.runtime.engines.native.lowering import Job
from ttc.runtime.engines.native.memory import aligned_bytes, aligned_words
from ttc.runtime.engines.native.tensors import ALIGNMENT, Buffer, Place, View

_TASKS = 2
"""The word of a job that says how many tasks it has."""


@record
class Patch:
    """Words that hold addresses in a buffer: their positions, and offsets in bytes."""

    positions: NDArray[np.int64]
    offsets: NDArray[np.int64]

    def apply(self, words: NDArray[np.int64], base: int) -> None:
        """Fill them in for a buffer at an address."""
        if len(self.positions) == 1:  # as most inputs and outputs: an array operation takes longer
            words[self.positions.item()] = self.offsets.item() + base
        else:
            words[self.positions] = self.offsets + base


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
    patches: Mapping[Buffer, Patch]
    scratch_bytes: int


def template_of(jobs: Sequence[Job], threads: int, borders: frozenset[int]) -> Template:
    """The list of jobs.  borders: numbers of jobs after which native code ends (before a step in Python, and the last)."""
    words: list[int] = []
    kernels: dict[str, int] = {}
    table = np.zeros((len(jobs), threads_code.JOB_WORDS), np.int64)
    places: dict[Buffer, list[tuple[int, int]]] = {}
    for number, job in enumerate(jobs):
        alone = job.tasks == 1 or threads == 1
        more = number + 1 < len(jobs) and number not in borders
        together = alone and more and jobs[number + 1].tasks == 1
        flags = (threads_code.ALONE if alone else 0) | (0 if together else threads_code.BARRIER)
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


class Instance:
    """Memory of one run at a time: arena, scratch, and the job list with addresses of its own.

    Args:
        addresses: of the kernels, by key.
    """

    def __init__(self, template: Template, arena: Arena, addresses: Mapping[str, int], threads: int) -> None:
        self._template = template
        self.memory = aligned_bytes(max(arena.size_bytes, ALIGNMENT))
        line = ALIGNMENT // 8
        self._counters_a_thread = -(-len(template.table) // line) * line
        self._state = aligned_words(line + self._counters_a_thread * threads)
        self.status, self._counters = self._state[:line], self._state[line:]
        self._scratch = aligned_bytes(max(template.scratch_bytes, ALIGNMENT) * threads)
        self._words = aligned_words(len(template.words))
        self._words[:] = template.words
        self._table = aligned_words(template.table.size).reshape(template.table.shape)
        self._table[:] = template.table
        if template.kernels:
            self._table[:, 0] = np.array([addresses[key] for key in template.kernels], np.int64)[template.table[:, 0]]
        self._table[:, 1] = self._table[:, 1] * 8 + self._words.ctypes.data
        self._offsets = arena.offsets
        for buffer, patch in template.patches.items():
            if buffer.place in (Place.ARENA, Place.CONSTANT, Place.STATUS):
                patch.apply(self._words, self.base(buffer))

    def base(self, buffer: Buffer) -> int:
        """Address of a buffer that is not the caller's."""
        if buffer.place is Place.STATUS:
            return self.status.ctypes.data
        if buffer.place is Place.CONSTANT:
            return 0 if buffer.array is None else buffer.array.ctypes.data
        return self.memory.ctypes.data + self._offsets[buffer]

    def bytes_of(self, buffer: Buffer) -> NDArray[np.uint8]:
        """Memory of a buffer of the arena."""
        start = self._offsets[buffer]
        return self.memory[start : start + buffer.size_bytes]

    def bind(self, buffer: Buffer, address: int) -> None:
        """Put a buffer of the caller in its place."""
        patch = self._template.patches.get(buffer)
        if patch is not None:
            patch.apply(self._words, address)

    def leave_out(self, jobs: Mapping[int, bool]) -> None:
        """Say of jobs whether they are passed over."""
        for job, out in jobs.items():
            self._table[job, _TASKS] = 0 if out else self._template.table[job, _TASKS]

    def segment(self, first: int, last: int) -> NDArray[np.int64]:
        """Memory of a run of jobs [first, last)."""
        run = aligned_words(threads_code.RUN_WORDS)
        run[:6] = (
            self._table.ctypes.data + first * threads_code.JOB_WORDS * 8,
            last - first,
            self._counters.ctypes.data + first * 8,
            self._scratch.ctypes.data,
            self._template.scratch_bytes,
            self._counters_a_thread,
        )
        return run

    def rewind(self) -> None:
        """Make the instance ready for another run."""
        self._state.fill(0)
