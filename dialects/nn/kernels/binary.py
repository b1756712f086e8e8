"""Numpy semantics of the elementwise ops of two operands, and of the choice between two."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def add(a: NDArray, b: NDArray) -> NDArray:
    """Return a + b, elementwise."""
    return np.add(a, b)


def sub(a: NDArray, b: NDArray) -> NDArray:
    """Return a - b, elementwise."""
    return np.subtract(a, b)


def mul(a: NDArray, b: NDArray) -> NDArray:
    """Return a * b, elementwise."""
    return np.multiply(a, b)


def div(a: NDArray, b: NDArray) -> NDArray:
    """a / b; of integers toward zero, and 0 where b is 0."""
    if a.dtype.kind == "u":
        return a // b
    if a.dtype.kind == "i":
        return (a - np.fmod(a, b)) // b  # floor division of a multiple of b is exact
    return np.divide(a, b)


def pow_(a: NDArray, b: NDArray) -> NDArray:
    """Return a^b, elementwise, in a's dtype."""
    if b.size == 1 and b.reshape(()) == 2:  # the commonest exponent: numpy's power takes twenty times as long
        return np.square(np.broadcast_to(a, np.broadcast_shapes(a.shape, b.shape)))
    if a.dtype.kind == "f":
        return np.power(a, b.astype(a.dtype, copy=False)) if b.dtype != np.float64 else np.power(a, b).astype(a.dtype, copy=False)
    if b.dtype.kind == "f" or bool((b < 0).any()):
        return np.power(a.astype(np.float64), b).astype(a.dtype)
    return np.power(a, b).astype(a.dtype, copy=False)


def mod(a: NDArray, b: NDArray, *, fmod: bool) -> NDArray:
    """Remainder of a / b with the sign of b, or of a."""
    return np.fmod(a, b) if fmod else np.mod(a, b)


def minimum(a: NDArray, b: NDArray) -> NDArray:
    """Return the smaller of a and b, elementwise; NaN if either is."""
    return np.minimum(a, b)


def maximum(a: NDArray, b: NDArray) -> NDArray:
    """Return the larger of a and b, elementwise; NaN if either is."""
    return np.maximum(a, b)


# ---- relations -------------------------------------------------------------------------------------------------------------------


def equal(a: NDArray, b: NDArray) -> NDArray:
    """Return whether a = b, elementwise."""
    return np.equal(a, b)


def not_equal(a: NDArray, b: NDArray) -> NDArray:
    """Return whether a != b, elementwise."""
    return np.not_equal(a, b)


def less(a: NDArray, b: NDArray) -> NDArray:
    """Return whether a < b, elementwise."""
    return np.less(a, b)


def less_equal(a: NDArray, b: NDArray) -> NDArray:
    """Return whether a <= b, elementwise."""
    return np.less_equal(a, b)


def greater(a: NDArray, b: NDArray) -> NDArray:
    """Return whether a > b, elementwise."""
    return np.greater(a, b)


def greater_equal(a: NDArray, b: NDArray) -> NDArray:
    """Return whether a >= b, elementwise."""
    return np.greater_equal(a, b)


# ---- truth values ----------------------------------------------------------------------------------------------------------------


def and_(a: NDArray, b: NDArray) -> NDArray:
    """Return whether both a and b hold, elementwise."""
    return np.logical_and(a, b)


def or_(a: NDArray, b: NDArray) -> NDArray:
    """Return whether a or b holds, elementwise."""
    return np.logical_or(a, b)


def xor(a: NDArray, b: NDArray) -> NDArray:
    """a or b, but not both."""
    return np.logical_xor(a, b)


def where(c: NDArray, a: NDArray, b: NDArray) -> NDArray:
    """a where c holds, b elsewhere."""
    return np.where(c, a, b)
