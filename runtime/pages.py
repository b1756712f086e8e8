"""Aligned memory that kernels read and write, and that variables live in."""

from __future__ import annotations

import mmap

import numpy as np
from numpy.typing import NDArray

ALIGNMENT = 64
"""The alignment of memory, in bytes: a cache line, and the widest vector."""
LEAST_PAGES_BYTES = 1 << 17
"""The least bytes that are pages of their own: the C library may clear less, which then is in memory though nobody has written to it."""
_HUGE_BYTES = 1 << 21


def aligned_words(count: int) -> NDArray[np.int64]:
    """Return as many zeros of 8 bytes as asked for, on a cache line of their own."""
    return aligned_bytes(count * 8).view(np.int64)


def aligned_bytes(count: int) -> NDArray[np.uint8]:
    """Return zeroed memory, aligned to a cache line.

    Large pieces are pages of their own: each takes memory when it is first written to, and is given back when the array dies.
    Raises MemoryError.
    """
    if count >= LEAST_PAGES_BYTES:
        try:
            pages = mmap.mmap(-1, count, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        except (OSError, OverflowError) as error:
            raise MemoryError(f"{count} bytes: {error}") from None
        if count >= _HUGE_BYTES and hasattr(mmap, "MADV_HUGEPAGE"):
            pages.madvise(mmap.MADV_HUGEPAGE)
        return np.frombuffer(pages, np.uint8)
    raw = np.zeros(count + ALIGNMENT, np.uint8)
    start = -raw.ctypes.data % ALIGNMENT
    return raw[start : start + count]
