"""Numpy semantics of the elementwise ops of one operand: arithmetic, rounding, predicates, casts.  erf is in `erf.py`."""

from __future__ import annotations

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ttc.dialects.core.formats.text import STRING
from ttc.dialects.core.kernels import text


def identity(x: NDArray) -> NDArray:
    """Return x as it is."""
    return x


def cast(x: NDArray, *, dtype: DTypeLike) -> NDArray:
    """x as another dtype; numbers as text, and text as numbers."""
    if np.dtype(dtype) == STRING or x.dtype == STRING:
        return text.cast(x, np.dtype(dtype))
    return x.astype(dtype, copy=False)


# ---- arithmetic ------------------------------------------------------------------------------------------------------------------


def abs_(x: NDArray) -> NDArray:
    """Return the magnitude |x|, elementwise."""
    return np.abs(x)


def neg(x: NDArray) -> NDArray:
    """Return the negative -x, elementwise."""
    return np.negative(x)


def sign(x: NDArray) -> NDArray:
    """Return the sign of x, elementwise: -1, 0 or 1."""
    return np.sign(x)


def exp(x: NDArray) -> NDArray:
    """Return the exponential e^x, elementwise."""
    return np.exp(x)


def log(x: NDArray) -> NDArray:
    """Return the natural logarithm ln x, elementwise."""
    return np.log(x)


def sqrt(x: NDArray) -> NDArray:
    """Return the square root of x, elementwise."""
    return np.sqrt(x)


def rsqrt(x: NDArray) -> NDArray:
    """Return 1 / sqrt x, elementwise."""
    return 1 / np.sqrt(x)


def reciprocal(x: NDArray) -> NDArray:
    """Return 1 / x, elementwise."""
    return 1 / x


def floor(x: NDArray) -> NDArray:
    """The largest whole number not above x."""
    return np.floor(x)


def ceil(x: NDArray) -> NDArray:
    """The smallest whole number not below x."""
    return np.ceil(x)


def round_(x: NDArray) -> NDArray:
    """The nearest whole number, halves to even."""
    return np.rint(x)


def sin(x: NDArray) -> NDArray:
    """Return the sine sin x, elementwise."""
    return np.sin(x)


def cos(x: NDArray) -> NDArray:
    """Return the cosine cos x, elementwise."""
    return np.cos(x)


# ---- predicates ------------------------------------------------------------------------------------------------------------------


def not_(x: NDArray) -> NDArray:
    """Return whether x does not hold, elementwise."""
    return np.logical_not(x)


def is_nan(x: NDArray) -> NDArray:
    """Return whether x is NaN, elementwise."""
    return np.isnan(x)


def is_inf(x: NDArray) -> NDArray:
    """Return whether x is infinite, elementwise."""
    return np.isinf(x)
