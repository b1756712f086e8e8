"""Numpy semantics of activation functions.  gelu is in `erf.py`."""

from __future__ import annotations

from math import ceil, floor, isfinite

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.nn.kernels import KERNELS

KERNELS.add("tanh", lambda x: np.tanh(x))
KERNELS.add("sigmoid", lambda x: 1 / (1 + np.exp(-x)))
KERNELS.add("relu", lambda x: np.maximum(x, 0))
KERNELS.add("silu", lambda x: x / (1 + np.exp(-x)))
KERNELS.add("softplus", lambda x: np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x))))
KERNELS.add("hard_swish", lambda x: x * np.clip(x + 3, 0, 6) / 6)


@KERNELS.rule("leaky_relu")
def leaky_relu(x: NDArray, *, alpha: float) -> NDArray:
    """Compute x where x >= 0, alpha * x elsewhere."""
    return np.where(x >= 0, x, alpha * x)


@KERNELS.rule("elu")
def elu(x: NDArray, *, alpha: float) -> NDArray:
    """Compute x where x > 0, alpha (e^x - 1) elsewhere."""
    return np.where(x > 0, x, alpha * np.expm1(x))


@KERNELS.rule("hard_sigmoid")
def hard_sigmoid(x: NDArray, *, alpha: float, beta: float) -> NDArray:
    """Compute min(max(alpha x + beta, 0), 1)."""
    return np.clip(alpha * x + beta, 0, 1)


@KERNELS.rule("clip")
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
    """Return the limit brought into an integer dtype's range."""
    return info.min if limit <= info.min else info.max if limit >= info.max else int(limit)
