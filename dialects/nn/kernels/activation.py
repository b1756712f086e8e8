"""Numpy semantics of activation functions.  gelu is in `erf.py`."""

from __future__ import annotations

from math import ceil, floor, isfinite

import numpy as np
from numpy.typing import NDArray


def tanh(x: NDArray) -> NDArray:
    """Return the hyperbolic tangent tanh x, elementwise."""
    return np.tanh(x)


def sigmoid(x: NDArray) -> NDArray:
    """1 / (1 + exp(-x))."""
    return 1 / (1 + np.exp(-x))


def relu(x: NDArray) -> NDArray:
    """Return the larger of x and 0, elementwise."""
    return np.maximum(x, 0)


def silu(x: NDArray) -> NDArray:
    """Return x * sigmoid(x), elementwise."""
    return x / (1 + np.exp(-x))


def softplus(x: NDArray) -> NDArray:
    """Return ln(1 + exp x), elementwise."""
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
    """Return min(max(x, min), max), elementwise."""
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
