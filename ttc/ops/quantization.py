"""From real numbers to the integers that stand for them, and back.  Scales and zeros are numbers, or one for each place of an axis."""

from __future__ import annotations

import numpy as np
from numpy.typing import DTypeLike

from ttc.dialects.core.ir.values import SSAValue
from ttc.dialects.core.shapes import axis_in
from ttc.importers.common.builder import Builder
from ttc.ops.arrays import array_of
from ttc.ops.tracing import Operand, Tensor, made


def _setting(b: Builder, value: object, dtype: np.dtype, x: SSAValue, axis: int) -> SSAValue:
    """Return a scale or zero as a constant that broadcasts along an axis of x."""
    array = array_of(value).astype(dtype)
    behind = b.rank(x) - 1 - axis_in(axis, b.rank(x)) if array.ndim else 0
    return b.constant(array.reshape((*array.shape, *(1,) * behind)))


def quantize(x: Operand, scale: object, zero: object = 0, *, axis: int = 0, dtype: DTypeLike = np.int8, name: str | None = None) -> Tensor:
    """Return x / scale rounded, halves to even, plus zero, brought into the range of the dtype.  Raises E0401, E0403."""

    def rule(b: Builder, x: SSAValue) -> SSAValue:
        return b.nn("quantize", x, _setting(b, scale, b.dtype(x), x, axis), _setting(b, zero, np.dtype(dtype), x, axis))

    return made("quantize", name, [x], rule)


def dequantize(
    x: Operand, scale: object, zero: object = 0, *, axis: int = 0, dtype: DTypeLike = np.float32, name: str | None = None
) -> Tensor:
    """Return (x - zero) scale in a floating-point dtype.  Raises E0401, E0403."""

    def rule(b: Builder, x: SSAValue) -> SSAValue:
        return b.nn("dequantize", x, _setting(b, scale, np.dtype(dtype), x, axis), _setting(b, zero, b.dtype(x), x, axis))

    return made("dequantize", name, [x], rule)


def requantize(
    x: Operand,
    scale: object,
    new_scale: object,
    zero: object = 0,
    new_zero: object = 0,
    *,
    axis: int = 0,
    dtype: DTypeLike = np.int8,
    name: str | None = None,
) -> Tensor:
    """Return the integers of another scale and zero that stand for the same numbers.  Raises E0401, E0403."""
    real = np.dtype(np.float32)

    def rule(b: Builder, x: SSAValue) -> SSAValue:
        numbers = b.nn("dequantize", x, _setting(b, scale, real, x, axis), _setting(b, zero, b.dtype(x), x, axis))
        return b.nn("quantize", numbers, _setting(b, new_scale, real, x, axis), _setting(b, new_zero, np.dtype(dtype), x, axis))

    return made("requantize", name, [x], rule)
