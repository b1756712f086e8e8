"""What one run at a time needs of a plan: its memory, with all addresses filled in."""

from __future__ import annotations

import os
import weakref
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from ttc.runtime.engines.native.graph.tensors import ALIGNMENT, Place, PlanBuffer
from ttc.runtime.engines.native.kernels import threads_code
from ttc.runtime.engines.native.planning.arena import Arena
from ttc.runtime.engines.native.planning.template import NO_PATCH, Patch, Template
from ttc.runtime.metrics import gauge
from ttc.runtime.pages import aligned_bytes, aligned_words


class _Memory:
    """The bytes that all instances hold, now and at most.

    Instances come and go in any thread, and go wherever garbage is collected, which must wait for no lock: changes are noted, and added
    up later.
    """

    def __init__(self) -> None:
        self._changes: deque[int] = deque()
        self._now = self._peak = 0
        self._lock = Lock()

    def hold(self, holder: Instance, size_bytes: int) -> None:
        """Count memory for as long as its holder lives."""
        self._changes.append(size_bytes)
        weakref.finalize(holder, self._changes.append, -size_bytes).atexit = False
        if len(self._changes) > _CHANGES:
            self.sums()

    def sums(self) -> tuple[int, int]:
        """Return the bytes that there are now, and that there were at most."""
        with self._lock:
            while self._changes:
                self._now += self._changes.popleft()
                self._peak = max(self._peak, self._now)
            return self._now, self._peak

    def renew(self) -> None:
        """In a forked process: do without the lock of a thread that is not there."""
        self._lock = Lock()


_CHANGES = 64
"""Changes that are noted before they are added up."""
_HELD = _Memory()
os.register_at_fork(after_in_child=_HELD.renew)
gauge("arena_bytes", lambda: _HELD.sums()[0])
gauge("arena_peak_bytes", lambda: _HELD.sums()[1])


def _ignored(address: int) -> None:
    """Do nothing with the address of a buffer that no job names."""
    del address


_TASKS = 2
"""The word of a job that says how many tasks it has."""


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
        self.arrays: dict[int, NDArray] = {}
        """Views of memory that is the plan's own as arrays, by identity: the plan keeps its views."""
        for buffer, patch in template.patches.items():
            if buffer.place in (Place.ARENA, Place.CONSTANT, Place.STATUS):
                patch.apply(self._words, self.base(buffer))
        own = (self.memory, self._state, self._scratch, self._words, self._table)
        _HELD.hold(self, sum(array.nbytes for array in own))

    def base(self, buffer: PlanBuffer) -> int:
        """Return the address of a buffer that is not the caller's."""
        if buffer.place is Place.STATUS:
            return self.status.ctypes.data
        if buffer.place is Place.CONSTANT:
            return 0 if buffer.array is None else buffer.array.ctypes.data
        return self.memory.ctypes.data + self._offsets[buffer]

    def bytes_of(self, buffer: PlanBuffer) -> NDArray[np.uint8]:
        """Return the memory of a buffer of the arena."""
        start = self._offsets[buffer]
        return self.memory[start : start + buffer.size_bytes]

    def bind(self, buffer: PlanBuffer, address: int) -> None:
        """Put a buffer of the caller in its place."""
        patch = self._template.patches.get(buffer)
        if patch is not None:
            patch.apply(self._words, address)

    def binder(self, buffer: PlanBuffer) -> Callable[[int], None]:
        """Return a function that puts a buffer of the caller at an address."""
        patch = self._template.patches.get(buffer)
        return _ignored if patch is None else partial(patch.apply, self._words)

    def patched(self, buffers: Sequence[PlanBuffer | None]) -> tuple[NDArray[np.int64], list[Patch]]:
        """Return the words of all jobs, and for each buffer which of them have its address; none have that of None."""
        patches = self._template.patches
        return self._words, [NO_PATCH if buffer is None else patches.get(buffer, NO_PATCH) for buffer in buffers]

    def leave_out(self, jobs: Mapping[int, bool]) -> None:
        """Set for each job whether runs pass it over."""
        for job, out in jobs.items():
            self._table[job, _TASKS] = 0 if out else self._template.table[job, _TASKS]

    def segment(self, first: int, last: int) -> NDArray[np.int64]:
        """Return the memory of a run of jobs [first, last)."""
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
        self.rewound()(0)

    def rewound(self) -> Callable[[int], None]:
        """Return a function that, given 0, makes the instance ready for another run."""
        return self._state.fill
