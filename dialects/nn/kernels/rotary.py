"""Numpy semantics of rotary position embedding."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.nn.kernels import KERNELS


@KERNELS.rule("rotary_embedding")
def rotary_embedding(x: NDArray, cos: NDArray, sin: NDArray, *, interleaved: bool) -> NDArray:
    """x * cos + rotated(x) * sin; rotated exchanges the features of a pair and negates the one that comes first."""
    half = x.shape[-1] // 2
    first, second = (np.s_[..., 0::2], np.s_[..., 1::2]) if interleaved else (np.s_[..., :half], np.s_[..., half:])
    rotated = np.empty_like(x)
    np.negative(x[second], out=rotated[first])
    rotated[second] = x[first]
    return x * cos + rotated * sin
