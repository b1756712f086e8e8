"""Numpy semantics of the steps between real numbers and integers that stand for them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.nn.kernels import KERNELS


@KERNELS.rule("quantize")
def quantize(x: NDArray, scale: NDArray, zero: NDArray) -> NDArray:
    """x / scale rounded, halves to even, plus zero, brought into zero's range."""
    info = np.iinfo(zero.dtype)
    wide = np.rint(x / scale).astype(np.float64) + zero
    return np.clip(np.nan_to_num(wide, nan=0.0), info.min, info.max).astype(zero.dtype)


@KERNELS.rule("dequantize")
def dequantize(x: NDArray, scale: NDArray, zero: NDArray) -> NDArray:
    """(x - zero) * scale."""
    return (x.astype(np.int64) - zero).astype(scale.dtype) * scale
