"""Matrix products of numpy on as many threads as they are worth.

numpy's OpenBLAS shares a product of some size out among threads of its own, which wait for each other: beside a busy program, a product
that takes 0.1 ms takes as long as the system lets a thread wait, 100 ms and more.  Products up to FEW multiply-adds therefore run on the
thread that asks.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from functools import cache
from math import prod
from pathlib import Path
from threading import Lock

import numpy as np
from numpy.typing import NDArray

ALONE = 1 << 18
"""Multiply-adds up to which OpenBLAS itself takes one thread."""
FEW = 1 << 26
"""Multiply-adds that one thread computes in a few milliseconds."""
_PREFIXES = ("scipy_openblas", "openblas")
_SUFFIXES = ("64_", "")


def product(a: NDArray, b: NDArray) -> NDArray:
    """Multiply matrices as `numpy.matmul` does."""
    work = prod(a.shape) * (b.shape[-1] if b.ndim > 1 else 1)
    threads = _threads() if ALONE < work <= FEW and a.dtype.kind in "fc" else None
    if threads is None:
        return np.matmul(a, b)
    with threads:
        return np.matmul(a, b)


class _OneThread:
    """OpenBLAS computes on one thread as long as one product or more that want it go on; then on as many as before.

    Args:
        get, set_: the library's functions for the number of its threads, which all threads of the process share.
    """

    def __init__(self, get: Callable[[], int], set_: Callable[[int], None]) -> None:
        self._get, self._set = get, set_
        self._lock, self._inside, self._before = Lock(), 0, 1

    def __enter__(self) -> None:
        with self._lock:
            if not self._inside:
                self._before = self._get()
                if self._before > 1:
                    self._set(1)
            self._inside += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._inside -= 1
            if not self._inside and self._before > 1:
                self._set(self._before)

    def renew(self) -> None:
        """In a forked process: no other thread's product goes on."""
        self._lock = Lock()
        if self._inside and self._before > 1:
            self._set(self._before)
        self._inside = 0


@cache
def _threads() -> _OneThread | None:
    """Return what bounds the threads of numpy's library; None for another than OpenBLAS, or one that is part of the system."""
    for path in sorted(Path(np.__file__).parent.with_name("numpy.libs").glob("*openblas*")):
        try:
            library = ctypes.CDLL(str(path))  # numpy has loaded it: this is the same one
        except OSError:
            continue
        for prefix in _PREFIXES:
            for suffix in _SUFFIXES:
                get = getattr(library, f"{prefix}_get_num_threads{suffix}", None)
                set_ = getattr(library, f"{prefix}_set_num_threads{suffix}", None)
                if get is not None and set_ is not None:
                    found = _OneThread(get, set_)
                    os.register_at_fork(after_in_child=found.renew)
                    return found
    return None
