"""Numpy semantics of products with sparse matrices."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.epilogue import finish
from ttc.dialects.core.errors import Error

MAX_ROWS = 1 << 27
"""Bound on the rows that a selection reads."""


def sparse_matmul(
    x: NDArray,
    *,
    source: tuple[int, ...],
    sizes: tuple[int, ...],
    steps: tuple[int, ...],
    offsets: tuple[int, ...],
    divisors: tuple[int, ...],
    terms: int,
    nearest: bool,
    shape: tuple[int, ...],
) -> NDArray:
    """Rows of x, sums of them, or zeros, as the selection says."""
    if prod(sizes) > MAX_ROWS:
        raise Error("E0402", f"a selection of {prod(sizes):,} rows is too long")
    rows, result = x.reshape(-1, x.shape[-1]), sizes[terms:]
    if rows.size == 0 or prod(sizes) == 0:
        return np.zeros(shape, x.dtype)
    factors = np.array(steps, np.int64).reshape(len(source), len(sizes))
    starts = (np.array(offsets, np.int64) + factors[:, :terms] @ np.array(term, np.int64) for term in np.ndindex(*sizes[:terms]))
    parts = (_taken(rows, *_selected(source, result, factors[:, terms:], start, divisors, nearest=nearest)) for start in starts)
    y = next(parts)
    for part in parts:
        y += part
    return y.reshape(shape)


def depthwise(
    a: NDArray, b: NDArray, bias: NDArray | None = None, *, activation: str | None = None, activation_args: tuple[float, ...] = ()
) -> NDArray:
    """activation(sum over z of a[z, r, c] * b[z, c], + bias)."""
    y = a[0] * b[0]
    for part, weights in zip(a[1:], b[1:], strict=True):
        y += part * weights
    return finish(y, bias, activation, activation_args)


def _selected(
    source: Sequence[int], sizes: Sequence[int], steps: NDArray, offsets: NDArray, divisors: Sequence[int], *, nearest: bool
) -> tuple[NDArray, NDArray]:
    """For each point of the grid `sizes`, in row-major order: the row of the source, and whether there is one."""
    index = np.zeros(sizes, np.int64)
    inside = np.ones(sizes, np.bool_)
    for dim, size in enumerate(source):
        at = np.full([1] * len(sizes), offsets[dim], np.int64)
        for axis, step in enumerate(steps[dim]):
            if step:
                at = at + step * np.arange(sizes[axis]).reshape([-1 if i == axis else 1 for i in range(len(sizes))])
        whole = at % divisors[dim] == 0
        at = at // divisors[dim]
        bounded = np.clip(at, 0, size - 1)
        inside &= whole if nearest else whole & (bounded == at)
        index *= size
        index += bounded
    return index.ravel(), inside.ravel()


def _taken(rows: NDArray, index: NDArray, inside: NDArray) -> NDArray:
    y = rows.take(index, axis=0)
    if not inside.all():
        y[~inside] = 0
    return y
