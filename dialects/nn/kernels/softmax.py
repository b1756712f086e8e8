"""Numpy semantics of the softmax family."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.kernels.attend import Exponential
from ttc.dialects.nn.kernels import KERNELS


@KERNELS.rule("softmax")
def softmax(x: NDArray, *, axis: int, exp: Exponential = np.exp) -> NDArray:
    """exp(x - max x) / sum exp(x - max x) along the axis."""
    y = x - x.max(axis=axis, keepdims=True, initial=-np.inf)
    exp(y, out=y)
    y /= y.sum(axis=axis, keepdims=True)
    return y


@KERNELS.rule("log_softmax")
def log_softmax(x: NDArray, *, axis: int) -> NDArray:
    """x - max x - log sum exp(x - max x) along the axis."""
    y = x - x.max(axis=axis, keepdims=True, initial=-np.inf)
    y -= np.log(np.exp(y).sum(axis=axis, keepdims=True))
    return y
