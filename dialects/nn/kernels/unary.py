"""Numpy semantics of the elementwise ops of one operand.  erf and gelu are in `erf.py`."""

from __future__ import annotations

from math import ceil, floor, isfinite

import numpy as np
from numpy.typing import DTypeLike, NDArray


def identity(x: NDArray) -> NDArray:
    """x."""
    return x


def cast(x: NDArray, *, dtype: DTypeLike) -> NDArray:
    """x as another dtype."""
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


def floor_(x: NDArray) -> NDArray:
    """The largest whole number not above x."""
    return np.floor(x)


def ceil_(x: NDArray) -> NDArray:
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


# ---- activation functions --------------------------------------------------------------------------------------------------------


def tanh(x: NDArray) -> NDArray:
    """tanh x."""
    return np.tanh(x)


def sigmoid(x: NDArray) -> NDArray:
    """1 / (1 + exp(-x))."""
    return 1 / (1 + np.exp(-x))


def relu(x: NDArray) -> NDArray:
    """max(x, 0)."""
    return np.maximum(x, 0)


def silu(x: NDArray) -> NDArray:
    """x * sigmoid(x)."""
    return x / (1 + np.exp(-x))


def softplus(x: NDArray) -> NDArray:
    """ln(1 + exp x)."""
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


def hard_swish(x: NDArray) -> NDArray:
    """x * min(max(x + 3, 0), 6) / 6."""
    return x * np.clip(x + 3, 0, 6) / 6


def leaky_relu(x: NDArray, *, alpha: float) -> NDArray:
    """x where x >= 0, alpha * x elsewhere."""
    return np.where(x >= 0, x, alpha * x)


def elu(x: NDArray, *, alpha: float) -> NDArray:
    """x where x > 0, alpha * (exp x - 1) elsewhere."""
    return np.where(x > 0, x, alpha * np.expm1(x))


def hard_sigmoid(x: NDArray, *, alpha: float, beta: float) -> NDArray:
    """min(max(alpha * x + beta, 0), 1)."""
    return np.clip(alpha * x + beta, 0, 1)


def clip(x: NDArray, *, min: float | None = None, max: float | None = None) -> NDArray:
    """min(max(x, min), max)."""
    if x.dtype.kind in "iu":
        info = np.iinfo(x.dtype)
        min = None if min is None else _within(ceil(min) if isfinite(min) else min, info)
        max = None if max is None else _within(floor(max) if isfinite(max) else max, info)
    if min is not None:
        x = np.maximum(x, x.dtype.type(min))
    return x if max is None else np.minimum(x, x.dtype.type(max))


def _within(limit: float, info: np.iinfo) -> int:
    """The limit brought into an integer dtype's range."""
    return info.min if limit <= info.min else info.max if limit >= info.max else int(limit)
