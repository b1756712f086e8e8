"""Numpy semantics of reductions, arg-reductions and cumulative sums."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.errors import Error
from ttc.dialects.nn.kernels import KERNELS

KERNELS.add("reduce_sum", lambda x, *, axes, keepdims: np.sum(x, axis=axes, keepdims=keepdims, dtype=x.dtype))


@KERNELS.rule("reduce_mean")
def reduce_mean(x: NDArray, *, axes: tuple[int, ...], keepdims: bool) -> NDArray:
    """Mean over the axes; of integers toward zero, and 0 of none."""
    count = prod(x.shape[a] for a in axes)
    if x.dtype.kind == "f":
        return np.sum(x, axis=axes, keepdims=keepdims, dtype=x.dtype) / x.dtype.type(count)
    total = np.sum(x, axis=axes, keepdims=keepdims)
    quotient = np.abs(total) // max(count, 1)
    return (quotient if x.dtype.kind == "u" else np.sign(total) * quotient).astype(x.dtype)


@KERNELS.rule("reduce_max")
def reduce_max(x: NDArray, *, axes: tuple[int, ...], keepdims: bool) -> NDArray:
    """Largest over the axes; the dtype's least of none."""
    if x.size:
        return np.maximum.reduce(x, axis=axes, keepdims=keepdims)
    return np.max(x, axis=axes, keepdims=keepdims, initial=_least(x.dtype))


@KERNELS.rule("reduce_min")
def reduce_min(x: NDArray, *, axes: tuple[int, ...], keepdims: bool) -> NDArray:
    """Smallest over the axes; the dtype's largest of none."""
    if x.size:
        return np.minimum.reduce(x, axis=axes, keepdims=keepdims)
    return np.min(x, axis=axes, keepdims=keepdims, initial=_largest(x.dtype))


KERNELS.add("reduce_prod", lambda x, *, axes, keepdims: np.prod(x, axis=axes, keepdims=keepdims, dtype=x.dtype))


@KERNELS.rule("argmax")
def argmax(x: NDArray, *, axis: int, keepdims: bool, select_last: bool) -> NDArray:
    """Place of the largest along the axis; of equal ones the first, or the last."""
    return _place(np.argmax, x, axis, keepdims, select_last)


KERNELS.add("argmin", lambda x, *, axis, keepdims, select_last: _place(np.argmin, x, axis, keepdims, select_last))
KERNELS.add("cumsum", lambda x, *, axis, exclusive, reverse: _accumulated(np.add, x, axis, exclusive, reverse))
KERNELS.add("cumprod", lambda x, *, axis, exclusive, reverse: _accumulated(np.multiply, x, axis, exclusive, reverse))


def _accumulated(function: np.ufunc, x: NDArray, axis: int, exclusive: bool, reverse: bool) -> NDArray:
    ordered = np.flip(x, axis) if reverse else x
    total = function.accumulate(ordered, axis=axis, dtype=x.dtype)
    if exclusive and x.shape[axis] > 0:
        total = np.roll(total, 1, axis)
        first = [slice(None)] * x.ndim
        first[axis] = slice(0, 1)
        total[tuple(first)] = function.identity
    return np.flip(total, axis) if reverse else total


def _place(function: Callable[..., NDArray], x: NDArray, axis: int, keepdims: bool, select_last: bool) -> NDArray:
    length = x.shape[axis]
    if length == 0:
        raise Error("E0802", f"axis {axis} of a tensor of shape {list(x.shape)} has no elements to choose from")
    if select_last:
        return length - 1 - function(np.flip(x, axis), axis=axis, keepdims=keepdims)
    return function(x, axis=axis, keepdims=keepdims)


def _least(dtype: np.dtype) -> float | int | bool:
    return -np.inf if dtype.kind == "f" else False if dtype.kind == "b" else int(np.iinfo(dtype).min)


def _largest(dtype: np.dtype) -> float | int | bool:
    return np.inf if dtype.kind == "f" else True if dtype.kind == "b" else int(np.iinfo(dtype).max)
