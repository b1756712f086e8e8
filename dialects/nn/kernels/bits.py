"""Numpy semantics of the ops on bits."""

from __future__ import annotations

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ttc.dialects.nn.kernels import KERNELS

KERNELS.add("bitwise_and", lambda a, b: np.bitwise_and(a, b))
KERNELS.add("bitwise_or", lambda a, b: np.bitwise_or(a, b))
KERNELS.add("bitwise_xor", lambda a, b: np.bitwise_xor(a, b))


@KERNELS.rule("shift_left")
def shift_left(a: NDArray, b: NDArray) -> NDArray:
    """a * 2^b, without the bits that leave; 0 for a b outside the width."""
    width = a.dtype.itemsize * 8
    return np.where(_within(b, width), np.left_shift(a, np.clip(b, 0, width - 1)), a.dtype.type(0))


@KERNELS.rule("shift_right")
def shift_right(a: NDArray, b: NDArray) -> NDArray:
    """a / 2^b, rounded down; only copies of the sign for a b outside the width."""
    width = a.dtype.itemsize * 8
    return np.where(_within(b, width), np.right_shift(a, np.clip(b, 0, width - 1)), a.dtype.type(0) - (a < 0).astype(a.dtype))


@KERNELS.rule("bitcast")
def bitcast(x: NDArray, *, source: DTypeLike, dtype: DTypeLike) -> NDArray:
    """Return the bits of x, as of type source, as another type."""
    return np.ascontiguousarray(x.astype(source)).view(dtype).reshape(x.shape)


def _within(b: NDArray, width: int) -> NDArray:
    return (b >= 0) & (b < width)
