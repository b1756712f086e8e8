"""How often a sparse product passes over the rows it selects from.

The device reads strips of its activations in their order and lets each go when it is used.  A matrix of the selection, or a step of one,
goes on where the one before ended, or starts anew if it needs an earlier strip.
"""

from __future__ import annotations

from functools import lru_cache
from math import prod
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.kernels.selection import selected_rows
from ttc.dialects.core.plain.functions import TensorType, Work

MAX_ROWS = 1 << 22
"""The most rows of a selection, terms included, that are followed one by one; of longer ones every matrix starts anew."""
Sizes: TypeAlias = "tuple[int, ...]"
Key: TypeAlias = "tuple[Sizes, Sizes, Sizes, Sizes, Sizes, int, bool]"


def passes_of(item: Work, result: TensorType, matrices: int, step_rows: int, strip_rows: int) -> int:
    """Return how many passes a `tile.sparse_matmul` makes over its source.

    matrices: of the result; step_rows: of it that all cores compute at a time; strip_rows: of the source that they take at a time.
    """
    names = ("source", "sizes", "steps", "offsets", "divisors")
    source, sizes, steps, offsets, divisors = (_integers(item.attrs.get(name)) for name in names)
    terms = item.attrs.get("terms")
    if not isinstance(terms, int) or not 0 <= terms <= len(sizes) or len(steps) != len(source) * len(sizes):
        return 1
    if len(offsets) != len(source) or len(divisors) != len(source) or min((*sizes, *source, *divisors), default=0) < 1:
        return 1
    rows = prod(sizes[terms:])
    if prod(sizes) > MAX_ROWS or rows % max(matrices, 1):
        return max(matrices, 1)
    key = (source, sizes, steps, offsets, divisors, terms, bool(item.attrs.get("nearest")))
    return _passes(key, max(matrices, 1), max(step_rows, 1), max(strip_rows, 1))


@lru_cache(maxsize=4096)
def _passes(key: Key, matrices: int, step_rows: int, strip_rows: int) -> int:
    first, last = (ends.reshape(matrices, -1) for ends in _reached(key))
    starts = np.arange(0, first.shape[1], step_rows)
    firsts = np.minimum.reduceat(first, starts, axis=1).ravel() // strip_rows
    lasts = np.maximum.reduceat(last, starts, axis=1).ravel()
    lasts = np.where(lasts < 0, -1, lasts // strip_rows)
    passes, reached = 1, -1
    for begin, end in zip(firsts.tolist(), lasts.tolist(), strict=True):
        if begin < reached:
            passes, reached = passes + 1, -1
        reached = max(reached, end)
    return passes


@lru_cache(maxsize=64)
def _reached(key: Key) -> tuple[NDArray, NDArray]:
    """Return the first and last row of the source that each row of the result takes; a row beyond the end, and -1, where it takes none."""
    source, sizes, steps, offsets, divisors, terms, nearest = key
    total, rows = prod(source), prod(sizes[terms:])
    first, last = np.full(rows, total), np.full(rows, -1)
    for row, inside in selected_rows(source, sizes, steps, offsets, divisors, terms, nearest=nearest):
        first = np.minimum(first, np.where(inside, row, total))
        last = np.maximum(last, np.where(inside, row, -1))
    return first, last


def _integers(value: object) -> tuple[int, ...]:
    return tuple(n for n in value if isinstance(n, int)) if isinstance(value, tuple) else ()
