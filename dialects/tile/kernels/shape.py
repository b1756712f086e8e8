"""Numpy semantics of tile ops that only rearrange elements."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def reshape(x: NDArray, *, shape: tuple[int, ...]) -> NDArray:
    """Return the elements of x in another shape."""
    return x.reshape(shape)


def broadcast(x: NDArray, *, shape: tuple[int, ...]) -> NDArray:
    """A read-only view of x with dimensions of size 1 repeated."""
    return np.broadcast_to(x, shape)


def hslice(x: NDArray, *, n: int) -> NDArray:
    """[..., rows, n * width] -> [..., n, rows, width]."""
    *lead, rows, width = x.shape
    return np.swapaxes(x.reshape(*lead, rows, n, width // n), -2, -3)


def hstack(x: NDArray, *, n: int) -> NDArray:
    """[..., n, rows, width] -> [..., rows, n * width]."""
    *lead, _, rows, width = x.shape
    return np.swapaxes(x, -2, -3).reshape(*lead, rows, n * width)


def pad(x: NDArray, *, before: tuple[int, ...], after: tuple[int, ...], value: float) -> NDArray:
    """Elements of one value around x."""
    return np.pad(x, tuple(zip(before, after, strict=True)), constant_values=np.asarray(value).astype(x.dtype))


def relayout(x: NDArray) -> NDArray:
    """Return x: another layout changes no value."""
    return x
