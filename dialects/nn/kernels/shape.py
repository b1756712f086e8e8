"""Numpy semantics of the ops that keep elements and change shape."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.errors import Error


def reshape(x: NDArray, *, shape: tuple[int, ...]) -> NDArray:
    """The elements in row-major order under another shape; -1: what remains."""
    try:
        return np.reshape(x, shape)
    except ValueError:
        raise Error("E0802", f"{x.size} elements do not fill shape {list(shape)}") from None


def transpose(x: NDArray, *, perm: tuple[int, ...]) -> NDArray:
    """Dimension i of the result is dimension perm[i] of x."""
    return np.transpose(x, perm)


def expand(x: NDArray, *, shape: tuple[int, ...]) -> NDArray:
    """x broadcast with the shape."""
    return np.broadcast_to(x, np.broadcast_shapes(x.shape, shape))


def repeat(x: NDArray, *, repeats: tuple[int, ...]) -> NDArray:
    """x that many times along each dimension, whole copies side by side."""
    return np.tile(x, repeats)


def shape(x: NDArray) -> NDArray:
    """Return the sizes of the dimensions, as int64."""
    return np.array(x.shape, np.int64)
