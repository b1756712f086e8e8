"""Numpy semantics of pools: the window is separable, so each dimension is reduced by itself, tap by tap."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.kernels.windows import Window, channels_last, window_counts, windows
from ttc.dialects.nn.kernels import KERNELS


@KERNELS.rule("max_pool2d")
def max_pool2d(
    x: NDArray,
    *,
    kernel: tuple[int, ...],
    strides: tuple[int, ...],
    pads: tuple[int, ...],
    dilations: tuple[int, ...],
    layout: str,
    ceil_mode: bool,
) -> NDArray:
    """Return the largest element of each window; padding never wins."""
    lowest = -np.inf if x.dtype.kind == "f" else np.iinfo(x.dtype).min
    _, *axes, _ = channels_last(range(4), layout)
    moves = windows(kernel, strides, pads, dilations, ceil_mode)
    window_counts((x.shape[axes[0]], x.shape[axes[1]]), moves)
    for axis, move in zip(axes, moves, strict=True):
        x = _reduce(x, axis, move, np.maximum, lowest)
    return np.ascontiguousarray(x)


@KERNELS.rule("avg_pool2d")
def avg_pool2d(
    x: NDArray,
    *,
    kernel: tuple[int, ...],
    strides: tuple[int, ...],
    pads: tuple[int, ...],
    dilations: tuple[int, ...],
    layout: str,
    ceil_mode: bool,
    count_include_pad: bool,
) -> NDArray:
    """Return the mean of each window: over the input elements it meets, and the padding too with count_include_pad."""
    y = x
    _, *axes, _ = channels_last(range(4), layout)
    moves = windows(kernel, strides, pads, dilations, ceil_mode)
    window_counts((x.shape[axes[0]], x.shape[axes[1]]), moves)
    for axis, move in zip(axes, moves, strict=True):
        counts = _counts(x.shape[axis], move, count_include_pad).reshape([-1 if i == axis else 1 for i in range(4)])
        y = _reduce(y, axis, move, np.add, 0) / counts.astype(x.dtype)
    return np.ascontiguousarray(y)


def _reduce(x: NDArray, axis: int, move: Window, combine: np.ufunc, neutral: float) -> NDArray:
    """Windows along one axis, combined tap by tap; padding holds the neutral element."""
    size = x.shape[axis]
    count = move.count(size)
    x = _padded(x, axis, move.before, max(0, move.reach(count) - size - move.before), neutral)
    if count == 1 and move.dilation == 1:
        return combine.reduce(_slice(x, axis, slice(0, move.kernel)), axis=axis, keepdims=True)
    span = (count - 1) * move.stride + 1
    y = _slice(x, axis, slice(0, span, move.stride)).copy()
    for tap in range(1, move.kernel):
        first = tap * move.dilation
        combine(y, _slice(x, axis, slice(first, first + span, move.stride)), out=y)
    return y


def _padded(x: NDArray, axis: int, before: int, after: int, value: float) -> NDArray:
    if not before and not after:
        return x
    shape = list(x.shape)
    shape[axis] += before + after
    padded = np.full(shape, value, x.dtype)
    _slice(padded, axis, slice(before, before + x.shape[axis]))[...] = x
    return padded


def _slice(x: NDArray, axis: int, part: slice) -> NDArray:
    return x[(slice(None),) * axis + (part,)]


def _counts(size: int, move: Window, include_pad: bool) -> NDArray:
    """[count]: taps of each window that meet the input (and its padding); at least 1, so that a sum of nothing gives 0."""
    taps = np.arange(move.count(size))[:, None] * move.stride + np.arange(move.kernel) * move.dilation - move.before
    low, high = (-move.before, size + move.after) if include_pad else (0, size)
    return np.maximum(((taps >= low) & (taps < high)).sum(axis=1), 1)
