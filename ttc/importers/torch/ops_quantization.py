"""Quantization: to integers and back, as quantized programs say it (`quantized_decomposed`), and rounded as training for it does."""

from __future__ import annotations

import numpy as np

from ttc.dialects.core.ir.values import SSAValue
from ttc.dialects.core.shapes import axis_in
from ttc.importers.common.unsupported import Unsupported
from ttc.importers.torch.builder import Operand, TorchBuilder
from ttc.importers.torch.tables import Rows

_CODES = tuple(np.dtype(t) for t in (np.int8, np.uint8, np.int16, np.uint16, np.int32))
"""Types of integers that nn.quantize makes."""


def quantize(b: TorchBuilder, x: SSAValue, scale: Operand, zero: Operand, low: int, high: int, dtype: np.dtype) -> SSAValue:
    """Return round(x / scale) + zero, within the limits.  scale, zero: numbers, or values that broadcast with x."""
    if dtype not in _CODES:
        raise Unsupported(f"quantization to {dtype}")
    real = b.dtype(x) if b.dtype(x).kind in "fV" else np.dtype(np.float32)
    y = b.nn("quantize", b.cast(x, real), b.operand(scale, real), b.operand(zero, dtype))
    limits = np.iinfo(dtype)
    if (low, high) == (limits.min, limits.max):
        return y
    low, high = max(low, limits.min), min(high, limits.max)
    return b.nn("minimum", b.nn("maximum", y, b.scalar(low, y)), b.scalar(high, y))


def dequantize(
    b: TorchBuilder, x: SSAValue, scale: Operand, zero: Operand | None, low: int, high: int, dtype: np.dtype, *, out_dtype: np.dtype | None
) -> SSAValue:
    """Return (x - zero) scale, in float32 unless out_dtype says otherwise."""
    if b.dtype(x) not in _CODES:
        raise Unsupported(f"quantized numbers in {b.dtype(x)}")
    real = out_dtype or np.dtype(np.float32)
    return b.nn("dequantize", x, b.operand(scale, real), b.operand(0 if zero is None else zero, b.dtype(x)))


def quantize_channels(
    b: TorchBuilder, x: SSAValue, scales: SSAValue, zeros: SSAValue, axis: int, low: int, high: int, dtype: np.dtype
) -> SSAValue:
    """Quantize with a scale and a zero for each place of an axis."""
    return quantize(b, x, _along(b, scales, x, axis), _along(b, zeros, x, axis), low, high, dtype)


def dequantize_channels(
    b: TorchBuilder,
    x: SSAValue,
    scales: SSAValue,
    zeros: SSAValue | None,
    axis: int,
    low: int,
    high: int,
    dtype: np.dtype,
    *,
    out_dtype: np.dtype | None,
) -> SSAValue:
    zeros = None if zeros is None else _along(b, zeros, x, axis)
    return dequantize(b, x, _along(b, scales, x, axis), zeros, low, high, dtype, out_dtype=out_dtype)


def _along(b: TorchBuilder, values: SSAValue, x: SSAValue, axis: int) -> SSAValue:
    """[c] so that it broadcasts along an axis of x."""
    rank = b.rank(x)
    return b.reshape(values, b.spec(values).elements, *(1,) * (rank - 1 - axis_in(axis, rank)))


def fake_quantize(b: TorchBuilder, x: SSAValue, scale: Operand, zero: Operand, low: int, high: int) -> tuple[SSAValue, SSAValue]:
    """Return (clip(round(x / scale + zero)) - zero) scale, in x's dtype; and where nothing was clipped."""
    scale, zero = (b.operand(v, b.dtype(x)) for v in (scale, zero))
    steps = b.nn("mul", x, b.nn("div", b.scalar(1, x), scale))
    code = b.nn("round", b.nn("add", steps, zero))
    least, most = b.scalar(low, x), b.scalar(high, x)
    inside = b.nn("and", b.nn("greater_equal", code, least), b.nn("less_equal", code, most))
    kept = b.nn("minimum", b.nn("maximum", code, least), most)
    return b.nn("mul", b.nn("sub", kept, zero), scale), inside


def fake_quantize_channels(
    b: TorchBuilder, x: SSAValue, scale: SSAValue, zero: SSAValue, axis: int, low: int, high: int
) -> tuple[SSAValue, SSAValue]:
    return fake_quantize(b, x, _along(b, scale, x, axis), _along(b, zero, x, axis), low, high)


def fake_quantize_switched(
    b: TorchBuilder, x: SSAValue, scale: SSAValue, zero: SSAValue, enabled: SSAValue, low: int, high: int
) -> tuple[SSAValue, SSAValue]:
    """Return a fake quantization, and x itself where it is not enabled."""
    scale, zero, enabled = (b.reshape(v) for v in (scale, zero, enabled))
    on = b.nn("not_equal", enabled, b.scalar(0, enabled))
    y, inside = fake_quantize(b, x, scale, zero, low, high)
    return b.nn("where", on, y, x), b.nn("or", inside, b.nn("not", on))


ROWS: Rows = {
    **{f"quantized_decomposed.quantize_per_tensor.{kind}": quantize for kind in ("default", "tensor")},
    **{f"quantized_decomposed.dequantize_per_tensor.{kind}": dequantize for kind in ("default", "tensor")},
    "quantized_decomposed.quantize_per_channel.default": quantize_channels,
    "quantized_decomposed.dequantize_per_channel.default": dequantize_channels,
    "aten.fake_quantize_per_tensor_affine_cachemask.default": fake_quantize,
    "aten.fake_quantize_per_channel_affine_cachemask.default": fake_quantize_channels,
    "aten._fake_quantize_per_tensor_affine_cachemask_tensor_qparams.default": fake_quantize_switched,
}
