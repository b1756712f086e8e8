"""Numpy semantics of the elementwise ops of one operand: arithmetic, rounding, predicates, casts.  erf is in `erf.py`."""

from __future__ import annotations

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ttc.dialects.core.formats.text import STRING
from ttc.dialects.core.kernels import text


def identity(x: NDArray) -> NDArray:
    """x."""
    return x


def cast(x: NDArray, *, dtype: DTypeLike) -> NDArray:
    """x as another dtype; numbers as text, and text as numbers."""
    if np.dtype(dtype) == STRING or x.dtype == STRING:
        return text.cast(x, np.dtype(dtype))
    return x.astype(dtype, copy=False)


# ---- arithmetic ------------------------------------------------------------------------------------------------------------------


def abs_(x: NDArray) -> NDArray:
    """|x|."""
    return np.abs(x)


def neg(x: NDArray) -> NDArray:
    """-x."""
    return np.negative(x)


def sign(x: NDArray) -> NDArray:
    """-1, 0 or 1."""
    return np.sign(x)


def exp(x: NDArray) -> NDArray:
    """e^x."""
    return np.exp(x)


def log(x: NDArray) -> NDArray:
    """ln x."""
    return np.log(x)


def sqrt(x: NDArray) -> NDArray:
    """x^(1/2)."""
    return np.sqrt(x)


def rsqrt(x: NDArray) -> NDArray:
    """x^(-1/2)."""
    return 1 / np.sqrt(x)


def reciprocal(x: NDArray) -> NDArray:
    """1 / x."""
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
    """sin x."""
    return np.sin(x)


def cos(x: NDArray) -> NDArray:
    """cos x."""
    return np.cos(x)


# ---- predicates ------------------------------------------------------------------------------------------------------------------


def not_(x: NDArray) -> NDArray:
    """not x."""
    return np.logical_not(x)


def is_nan(x: NDArray) -> NDArray:
    """Whether x is NaN."""
    return np.isnan(x)


def is_inf(x: NDArray) -> NDArray:
    """Whether x is infinite."""
    return np.isinf(x)
