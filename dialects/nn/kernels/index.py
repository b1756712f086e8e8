"""Numpy semantics of the ops that pick elements by computed indices; every index is checked."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.errors import Error
from ttc.dialects.nn.kernels import KERNELS


@KERNELS.rule("gather")
def gather(x: NDArray, indices: NDArray, *, axis: int) -> NDArray:
    """Return the slices of x at the indices along the axis."""
    if indices.dtype == np.uint64:  # numpy takes them as int64, in which the largest count from the end
        _check(indices, x.shape[axis])
    try:
        return x.take(indices, axis)
    except IndexError:
        _check(indices, x.shape[axis])
        raise


@KERNELS.rule("gather_elements")
def gather_elements(x: NDArray, indices: NDArray, *, axis: int) -> NDArray:
    """Return for each place of indices the element of x there, but along the axis at the index."""
    _check(indices, x.shape[axis])
    place = axis % x.ndim
    part = x[tuple(slice(None) if i == place else slice(n) for i, n in enumerate(indices.shape))]
    return np.take_along_axis(part, indices, axis)


@KERNELS.rule("gather_nd")
def gather_nd(x: NDArray, indices: NDArray, *, batch_dims: int) -> NDArray:
    """Return the slices of x at the index tuples along indices' last dimension, batch by batch."""
    places = indices.shape[:-1]
    grids = np.ogrid[tuple(slice(n) for n in places)][:batch_dims] if batch_dims else ()
    parts = [indices[..., i] for i in range(indices.shape[-1])]
    for part, size in zip(parts, x.shape[batch_dims:], strict=False):
        _check(part, size)
    return x[(*grids, *parts)]


def _check(indices: NDArray, size: int) -> None:
    """Raises E0802 unless every index is in [-size, size)."""
    if indices.size == 0:
        return
    least, largest = int(indices.min()), int(indices.max())
    if least < -size or largest >= size:
        wrong = least if least < -size else largest
        raise Error("E0802", f"index {wrong} is outside a dimension of {size} elements")
