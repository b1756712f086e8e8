"""Numpy semantics of products with sparse matrices."""

from __future__ import annotations

from math import prod

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.errors import Error
from ttc.dialects.core.kernels.epilogue import finish
from ttc.dialects.core.kernels.selection import selected_rows
from ttc.dialects.tile.facts.sparse import MAX_ROWS
from ttc.dialects.tile.kernels import KERNELS


@KERNELS.rule("sparse_matmul")
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
    """Return rows of x, sums of them, or zeros, as the selection says."""
    if prod(sizes) > MAX_ROWS:
        raise Error("E0402", f"a selection of {prod(sizes):,} rows is too long")
    rows = x.reshape(-1, x.shape[-1])
    if rows.size == 0 or prod(sizes) == 0:
        return np.zeros(shape, x.dtype)
    parts = (_taken(rows, *found) for found in selected_rows(source, sizes, steps, offsets, divisors, terms, nearest=nearest))
    y = next(parts)
    for part in parts:
        y += part
    return y.reshape(shape)


@KERNELS.rule("depthwise")
def depthwise(
    a: NDArray, b: NDArray, bias: NDArray | None = None, *, activation: str | None = None, activation_args: tuple[float, ...] = ()
) -> NDArray:
    """activation(sum over z of a[z, r, c] * b[z, c], + bias)."""
    y = a[0] * b[0]
    for part, weights in zip(a[1:], b[1:], strict=True):
        y += part * weights
    return finish(y, bias, activation, activation_args)


def _taken(rows: NDArray, index: NDArray, inside: NDArray) -> NDArray:
    y = rows.take(index, axis=0)
    if not inside.all():
        y[~inside] = 0
    return y
