"""Numpy semantics of the softmax family."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def softmax(x: NDArray, *, axis: int) -> NDArray:
    """exp(x - max x) / sum exp(x - max x) along the axis."""
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    e /= e.sum(axis=axis, keepdims=True)
    return e
