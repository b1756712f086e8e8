"""Numpy semantics of resizing: separable, so each dimension is interpolated by itself."""

from __future__ import annotations

from math import floor, prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.errors import Error
from ttc.dialects.core.kernels.resampling import ResampledAxis, Taps, taps
from ttc.dialects.nn.kernels import KERNELS

_MAX_SCALE = float(1 << 10)
_MAX_ELEMENTS = 1 << 28


@KERNELS.rule("resize")
def resize(
    x: NDArray,
    *,
    sizes: tuple[int, ...],
    scales: tuple[float, ...],
    window: tuple[float, ...],
    mode: str,
    coordinates: str,
    rounding: str,
    cubic: float,
    exclude_outside: bool,
    antialias: bool,
    fill: float,
) -> NDArray:
    """x sampled anew along every dimension whose size or scale changes."""
    outside: list[tuple[int, NDArray]] = []
    starts, ends = window[: x.ndim], window[x.ndim :]
    for axis, (count, scale, start, end) in enumerate(zip(sizes, scales, starts, ends, strict=True)):
        if (count, scale, start, end) == (x.shape[axis], 1.0, 0.0, 1.0):
            continue
        size = x.shape[axis]
        found = taps(ResampledAxis(size, count, scale, start, end, mode, coordinates, rounding, cubic, exclude_outside, antialias))
        x = _interpolated(x, axis, found)
        outside.append((axis, found.outside))
    return _filled(x, outside, fill)


@KERNELS.rule("resize_by")
def resize_by(
    x: NDArray, scales: NDArray, roi: NDArray | None = None, *, axes: tuple[int, ...], sizes: tuple[int, ...] | None = None, **attrs: Any
) -> NDArray:
    """x sampled anew by computed scales of some axes.  attrs: those of `resize` that are not sizes, scales and window."""
    factors, shape = [1.0] * x.ndim, list(x.shape)
    window = [0.0] * x.ndim + [1.0] * x.ndim
    for i, axis in enumerate(axes):
        factor = float(scales[i])
        if not 1 / _MAX_SCALE < factor < _MAX_SCALE or x.size == 0:
            raise Error("E0802", f"a tensor of shape {list(x.shape)} cannot be resized by {factor}")
        if sizes is not None and abs(x.shape[axis] * factor - sizes[i]) > 1:
            raise Error("E0802", f"a scale of {factor} does not make {x.shape[axis]} elements {sizes[i]}, as is declared")
        factors[axis], shape[axis] = factor, floor(x.shape[axis] * factor) if sizes is None else sizes[i]
        if roi is not None:
            window[axis], window[x.ndim + axis] = float(roi[i]), float(roi[len(axes) + i])
    if prod(shape) > _MAX_ELEMENTS or not np.isfinite(window).all():
        raise Error("E0802", f"a result of shape {shape} is too large, or the window is not finite")
    return resize(x, sizes=tuple(shape), scales=tuple(factors), window=tuple(window), **attrs)


def _interpolated(x: NDArray, axis: int, found: Taps) -> NDArray:
    shape = [1] * x.ndim
    shape[axis] = -1
    if _picks(found.weights):
        return np.take(x, found.places[np.arange(len(found.places)), found.weights.argmax(axis=1)], axis=axis)
    total = np.zeros((*x.shape[:axis], len(found.places), *x.shape[axis + 1 :]), x.dtype)
    for places, weights in zip(found.places.T, found.weights.T, strict=True):
        total += np.take(x, places, axis=axis) * weights.astype(x.dtype).reshape(shape)
    return total


def _picks(weights: NDArray) -> bool:
    """Return whether every sample is one element."""
    return bool(np.all((weights == 0) | (weights == 1)) and np.all(weights.sum(axis=1) == 1))


def _filled(x: NDArray, outside: list[tuple[int, NDArray]], fill: float) -> NDArray:
    if not any(flags.any() for _, flags in outside):
        return x
    x = x.copy()
    for axis, flags in outside:
        x[(slice(None),) * axis + (flags,)] = fill
    return x
