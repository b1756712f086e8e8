"""Memory for the large results of runs, which is used again once nobody refers to it: fresh pages cost more than many a run."""

from __future__ import annotations

import ctypes
import os
import weakref
from collections import Counter, deque
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

LARGE_BYTES = 1 << 17
"""The least bytes of a result whose memory is used again; smaller memory the C library keeps for itself without system calls."""
_RUNS = 2
"""Runs whose results may wait: a caller often has the results of one run when it asks for the next."""


class _Lent:
    """The base of an array that has such memory: views, tensors and buffers of the array refer to it through the array.

    When it dies, its block waits with the others of its size, if the plan is still there.
    """

    free: weakref.ref[deque[NDArray[np.uint8]]]
    block: NDArray[np.uint8]

    def __del__(self) -> None:
        waiting = self.free()
        if waiting is not None:
            waiting.append(self.block)


class ResultMemory:
    """Gives out arrays for the results of a plan, and takes their memory back when the last reference to it dies.

    At most what the large results of two runs take waits to be used again; it goes with the plan.  Memory comes back wherever a
    reference dies, in any thread and in the midst of anything, so there is no lock.

    Args:
        sizes_bytes: of the results of a run.
        allocate: gives memory of so many bytes, aligned to a cache line; it may raise MemoryError.
    """

    def __init__(self, sizes_bytes: Iterable[int], allocate: Callable[[int], NDArray[np.uint8]]) -> None:
        counts = Counter(size for size in sizes_bytes if size >= LARGE_BYTES)
        self._allocate = allocate
        self._free: dict[int, deque[NDArray[np.uint8]]] = {size: deque(maxlen=_RUNS * count) for size, count in counts.items()}
        self._owners: dict[int, Any] = {
            size: type("Lent", (_Lent, ctypes.Array), {"_length_": size, "_type_": ctypes.c_uint8, "free": weakref.ref(free)})
            for size, free in self._free.items()
        }
        self._pid = os.getpid()

    @property
    def waiting_bytes(self) -> int:
        """Return the bytes that wait to be used again."""
        return sum(size * len(free) for size, free in self._free.items())

    def array(self, shape: Sequence[int], dtype: np.dtype) -> NDArray:
        """Return an array to be given away, not yet written.  Raises MemoryError."""
        size = prod(shape) * dtype.itemsize
        free = self._free.get(size)
        if free is None:
            return np.empty(tuple(shape), dtype)
        if self._pid != os.getpid():
            self._forget()
        try:
            block = free.pop()
        except IndexError:
            block = self._allocate(size)
        owner = self._owners[size].from_buffer(block)
        owner.block = block
        return np.ndarray(tuple(shape), dtype, owner)

    def copier(self, value: NDArray) -> Callable[[], NDArray]:
        """Return a call that makes a copy of a value as it is then, to be given away.  The call raises MemoryError."""
        return partial(self._copy, value) if value.nbytes in self._free else value.copy

    def _copy(self, value: NDArray) -> NDArray:
        copy = self.array(value.shape, value.dtype)
        copy[...] = value
        return copy

    def _forget(self) -> None:
        """In a forked process: leave the parent's pages, which to write would be to copy first."""
        for free in self._free.values():
            free.clear()
        self._pid = os.getpid()


def has_own_memory(array: NDArray) -> bool:
    """Return whether an array is the first of its memory, and not a view of what something else owns."""
    return array.flags.owndata or isinstance(array.base, _Lent)
