"""Which rows a selection takes: what `tile.sparse_matmul` describes by its attributes, point by point."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray


def selected_rows(
    source: Sequence[int],
    sizes: Sequence[int],
    steps: Sequence[int],
    offsets: Sequence[int],
    divisors: Sequence[int],
    terms: int,
    *,
    nearest: bool,
) -> Iterator[tuple[NDArray, NDArray]]:
    """For each term of the sum: the row of the source of each row of the result, in their order, and whether there is one.

    The arguments are the attributes of `tile.sparse_matmul`, which says what they mean.
    """
    factors = np.array(steps, np.int64).reshape(len(source), len(sizes))
    for term in np.ndindex(*sizes[:terms]):
        start = np.array(offsets, np.int64) + factors[:, :terms] @ np.array(term, np.int64)
        yield _selected(source, sizes[terms:], factors[:, terms:], start, divisors, nearest=nearest)


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
