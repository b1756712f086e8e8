"""Numpy semantics of the ops whose result has as many elements as the data decides."""

from __future__ import annotations

from math import ceil, isfinite

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.errors import Error
from ttc.dialects.nn.kernels import KERNELS

_MAX_RANGE = 1 << 24


@KERNELS.rule("non_zero")
def non_zero(x: NDArray) -> NDArray:
    """Indices [rank, count] of what is not 0, in row-major order."""
    return np.array(np.nonzero(np.atleast_1d(x)), np.int64)[: x.ndim]


@KERNELS.rule("compress")
def compress(x: NDArray, condition: NDArray, *, axis: int | None = None) -> NDArray:
    """Slices of x along the axis (elements of the flattened x) where the condition, which may be shorter, holds."""
    length = x.size if axis is None else x.shape[axis]
    if condition.size > length:
        raise Error("E0802", f"a condition of {condition.size} elements is longer than the {length} it chooses from")
    return np.compress(condition, x, axis=axis)


@KERNELS.rule("unique")
def unique(x: NDArray, *, sorted: bool, axis: int | None = None) -> tuple[NDArray, ...]:
    """Different slices along the axis (elements of the flattened x); for each its first place, for each of x its number; counts."""
    values, first, inverse, counts = np.unique(x, True, True, True, axis=axis)
    inverse = inverse.ravel()
    if not sorted:
        order = np.argsort(first)
        values, first, counts = np.take(values, order, axis=axis or 0), first[order], counts[order]
        inverse = np.argsort(order)[inverse]
    return values, first.astype(np.int64), inverse.astype(np.int64), counts.astype(np.int64)


@KERNELS.rule("range")
def range_(start: NDArray, limit: NDArray, delta: NDArray) -> NDArray:
    """start + i * delta while before limit."""
    first, last, step = (v.item() for v in (start, limit, delta))
    if step == 0 or not all(isfinite(v) for v in (first, last, step)):
        raise Error("E0802", f"no range leads from {first} to {last} in steps of {step}")
    count = -((first - last) // step) if isinstance(first, int) else ceil(min((last - first) / step, _MAX_RANGE + 1))
    if count > _MAX_RANGE:
        raise Error("E0802", f"a range of {count} elements or more is too long")
    return (first + np.arange(max(count, 0)) * step).astype(start.dtype)


@KERNELS.rule("one_hot")
def one_hot(indices: NDArray, depth: NDArray, values: NDArray, *, axis: int) -> NDArray:
    """values[1] where the new axis counts to the index, values[0] elsewhere."""
    size = depth.item()
    if not 0 < size * max(indices.size, 1) <= _MAX_RANGE:
        raise Error("E0802", f"a depth of {size} for {indices.size} indices is not positive or too large")
    steps = np.arange(int(size)).reshape(-1, *(1,) * (indices.ndim - axis % (indices.ndim + 1)))
    places = np.expand_dims(np.where(indices < 0, indices + int(size), indices), axis)
    return np.where(places == steps, values[1], values[0])
