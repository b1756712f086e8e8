"""Numpy semantics of the ops on bits."""

from __future__ import annotations

import numpy as np
from numpy.typing import DTypeLike, NDArray


def bitwise_and(a: NDArray, b: NDArray) -> NDArray:
    """Return the bits that both a and b have, elementwise."""
    return np.bitwise_and(a, b)


def bitwise_or(a: NDArray, b: NDArray) -> NDArray:
    """Return the bits that a or b has, elementwise."""
    return np.bitwise_or(a, b)


def bitwise_xor(a: NDArray, b: NDArray) -> NDArray:
    """Bits that exactly one has."""
    return np.bitwise_xor(a, b)


def shift_left(a: NDArray, b: NDArray) -> NDArray:
    """a * 2^b, without the bits that leave; 0 for a b outside the width."""
    width = a.dtype.itemsize * 8
    return np.where(_within(b, width), np.left_shift(a, np.clip(b, 0, width - 1)), a.dtype.type(0))


def shift_right(a: NDArray, b: NDArray) -> NDArray:
    """a / 2^b, rounded down; only copies of the sign for a b outside the width."""
    width = a.dtype.itemsize * 8
    return np.where(_within(b, width), np.right_shift(a, np.clip(b, 0, width - 1)), a.dtype.type(0) - (a < 0).astype(a.dtype))


def bitcast(x: NDArray, *, source: DTypeLike, dtype: DTypeLike) -> NDArray:
    """The bits of x, as of type source, as another type."""
    return np.ascontiguousarray(x.astype(source)).view(dtype).reshape(x.shape)


def _within(b: NDArray, width: int) -> NDArray:
    return (b >= 0) & (b < width)
