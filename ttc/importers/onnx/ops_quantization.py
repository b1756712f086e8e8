"""Quantization: to integers and back, and the ops that compute on integers.

Scales of an axis are shaped to broadcast, those of blocks repeated; what computes on quantized operands becomes the same on real numbers
between dequantize and quantize, or on integers where ONNX asks for their exact sums.
"""

from __future__ import annotations

from typing import TypeAlias

import ml_dtypes
import numpy as np

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.spec import STORED_ONLY
from ttc.dialects.core.ir.values import SSAValue
from ttc.dialects.core.shapes import axis_in
from ttc.importers.common.builder import Builder
from ttc.importers.common.unsupported import Unsupported
from ttc.importers.onnx.ops_conv import conv_1
from ttc.importers.onnx.ops_elementwise import converted
from ttc.importers.onnx.ops_linear import mat_mul_1
from ttc.importers.onnx.tables import MAPPINGS
from ttc.importers.onnx.tensors import DTYPES, type_name

Ints: TypeAlias = tuple[int, ...]

_LIMITS = {
    np.dtype(t): (ml_dtypes.iinfo(t).min, ml_dtypes.iinfo(t).max)
    for t in (ml_dtypes.int4, ml_dtypes.uint4, ml_dtypes.int2, ml_dtypes.uint2)
}
"""Ranges of the integers of less than a byte, which are computed with as bytes."""
INT32 = np.dtype(np.int32)


@MAPPINGS.rule("QuantizeLinear-10")
def quantize_linear_10(
    b: Builder,
    x: SSAValue,
    scale: SSAValue,
    zero: SSAValue | None = None,
    *,
    axis: int = 1,
    saturate: int = 1,
    block_size: int = 0,
    output_dtype: int = 0,
    precision: int = 0,
) -> SSAValue:
    """Quantize in the scale's precision, unless `precision` says otherwise; to uint8 unless zero or output_dtype say otherwise."""
    wide = _dtype(b, precision) if precision else b.dtype(scale)
    if zero is None:
        zero = b.constant(np.zeros((), _dtype(b, output_dtype) if output_dtype else np.uint8))
    scale, zero = (_spread(b, v, b.shape(x), axis, block_size) for v in (scale, zero))
    kind, x, scale = b.dtype(zero), b.cast(x, wide), b.cast(scale, wide)
    if kind not in STORED_ONLY:
        return b.nn("quantize", x, scale, zero)
    if kind not in _LIMITS:
        return converted(b, b.nn("div", x, scale), kind, saturate=bool(saturate))
    low, high = _LIMITS[kind]
    byte = np.dtype(np.int8 if low < 0 else np.uint8)
    y = b.nn("quantize", x, scale, b.cast(zero, byte))
    return b.cast(b.nn("minimum", b.nn("maximum", y, b.scalar(low, y)), b.scalar(high, y)), kind)


@MAPPINGS.rule("DequantizeLinear-10")
def dequantize_linear_10(
    b: Builder, x: SSAValue, scale: SSAValue, zero: SSAValue | None = None, *, axis: int = 1, block_size: int = 0, output_dtype: int = 0
) -> SSAValue:
    """Return real numbers in the scale's type, unless output_dtype says otherwise."""
    zero = b.constant(np.zeros((), b.dtype(x))) if zero is None else zero
    scale, zero = (_spread(b, v, b.shape(x), axis, block_size) for v in (scale, zero))
    if b.dtype(x) in _LIMITS:
        byte = np.dtype(np.int8 if _LIMITS[b.dtype(x)][0] < 0 else np.uint8)
        x, zero = b.cast(x, byte), b.cast(zero, byte)
    if b.dtype(x) in STORED_ONLY:
        y = b.nn("mul", b.nn("sub", b.cast(x, b.dtype(scale)), b.cast(zero, b.dtype(scale))), scale)
    else:
        y = b.nn("dequantize", x, scale, zero)
    return b.cast(y, _dtype(b, output_dtype)) if output_dtype else y


def _dtype(b: Builder, code: int) -> np.dtype:
    if code not in DTYPES:
        raise Unsupported(f"tensors of {type_name(code)}")
    return DTYPES[code]


def _spread(b: Builder, value: SSAValue, shape: tuple[int, ...], axis: int, block: int) -> SSAValue:
    """Return a scale or zero point of a tensor, an axis or blocks so that it broadcasts with the shape."""
    own = b.shape(value)
    if own in ((), (1,)):
        return b.reshape(value)
    at = axis_in(axis, len(shape))
    if len(own) == 1 and not (block and len(shape) == 1):
        if own[0] != shape[at]:
            raise Error("E0401", f"{b.spec(value)} does not fit axis {axis} of {list(shape)}")
        return b.reshape(value, *(own[0] if i == at else 1 for i in range(len(shape))))
    if len(own) != len(shape) or block < 1 or -(-shape[at] // block) != own[at]:
        raise Error("E0401", f"{b.spec(value)} does not fit blocks of {block} along axis {axis} of {list(shape)}")
    wide = b.nn("expand", b.reshape(value, *own[: at + 1], 1, *own[at + 1 :]), shape=(*own[: at + 1], block, *own[at + 1 :]))
    flat = b.reshape(wide, *own[:at], own[at] * block, *own[at + 1 :])
    if own[at] * block == shape[at]:
        return flat
    return b.nn("slice", flat, starts=(0,) * len(shape), sizes=shape, steps=(1,) * len(shape))


@MAPPINGS.rule("DynamicQuantizeLinear-11")
def dynamic_quantize_linear_11(b: Builder, x: SSAValue) -> tuple[SSAValue, ...]:
    """Quantize to uint8 by the range of x, widened to hold 0; x that is 0 everywhere has the scale 1, as in onnxruntime."""
    zero, most = b.scalar(0, x), b.scalar(255, x)
    axes = tuple(range(b.rank(x)))
    low = b.nn("minimum", b.nn("reduce_min", x, axes=axes, keepdims=False), zero)
    high = b.nn("maximum", b.nn("reduce_max", x, axes=axes, keepdims=False), zero)
    scale = b.nn("div", b.nn("sub", high, low), most)
    scale = b.nn("where", b.nn("equal", high, low), b.scalar(1, x), scale)
    at = b.nn("round", b.nn("clip", b.nn("sub", zero, b.nn("div", low, scale)), min=0.0, max=255.0))
    at = b.cast(at, np.dtype(np.uint8))
    return b.nn("quantize", x, scale, at), scale, at


# ---- exact sums ------------------------------------------------------------------------------------------------------------------


@MAPPINGS.rule("MatMulInteger-10")
def mat_mul_integer_10(b: Builder, x: SSAValue, w: SSAValue, x_zero: SSAValue | None = None, w_zero: SSAValue | None = None) -> SSAValue:
    """Return (x - x_zero) @ (w - w_zero) in int32; x_zero may be one a row, w_zero one a column."""
    if x_zero is not None and b.rank(x_zero) == 1:
        x_zero = b.reshape(x_zero, *b.shape(x_zero), 1)
    return mat_mul_1(b, centred(b, x, x_zero), centred(b, w, w_zero))


@MAPPINGS.rule("ConvInteger-10")
def conv_integer_10(
    b: Builder,
    x: SSAValue,
    w: SSAValue,
    x_zero: SSAValue | None = None,
    w_zero: SSAValue | None = None,
    *,
    auto_pad: str = "NOTSET",
    dilations: Ints = (),
    group: int = 1,
    kernel_shape: Ints = (),
    pads: Ints = (),
    strides: Ints = (),
) -> SSAValue:
    """Convolve x - x_zero with w - w_zero in int32; w_zero may be one a filter."""
    if w_zero is not None and b.rank(w_zero) == 1:
        w_zero = b.reshape(w_zero, b.shape(w_zero)[0], *(1,) * (b.rank(w) - 1))
    x, w = centred(b, x, x_zero), centred(b, w, w_zero)
    return conv_1(b, x, w, auto_pad=auto_pad, dilations=dilations, group=group, kernel_shape=kernel_shape, pads=pads, strides=strides)


def centred(b: Builder, x: SSAValue, zero: SSAValue | None) -> SSAValue:
    """Return x - zero in int32."""
    wide = b.cast(x, INT32)
    return wide if zero is None else b.nn("sub", wide, b.cast(zero, INT32))


# ---- real numbers in between ------------------------------------------------------------------------------------------------------


@MAPPINGS.rule("QLinearMatMul-10")
def q_linear_mat_mul_10(
    b: Builder,
    x: SSAValue,
    x_scale: SSAValue,
    x_zero: SSAValue,
    w: SSAValue,
    w_scale: SSAValue,
    w_zero: SSAValue,
    y_scale: SSAValue,
    y_zero: SSAValue,
) -> SSAValue:
    """Multiply quantized matrices; scales of x may be one a row, those of w one a column."""
    wide_x = dequantize_linear_10(b, x, x_scale, x_zero, axis=-2 if b.rank(x) > 1 else -1)
    wide_w = dequantize_linear_10(b, w, w_scale, w_zero, axis=-1)
    return quantize_linear_10(b, mat_mul_1(b, wide_x, wide_w), y_scale, y_zero, axis=-2 if b.rank(x) > 1 else -1)


@MAPPINGS.rule("QLinearConv-10")
def q_linear_conv_10(
    b: Builder,
    x: SSAValue,
    x_scale: SSAValue,
    x_zero: SSAValue,
    w: SSAValue,
    w_scale: SSAValue,
    w_zero: SSAValue,
    y_scale: SSAValue,
    y_zero: SSAValue,
    bias: SSAValue | None = None,
    *,
    auto_pad: str = "NOTSET",
    dilations: Ints = (),
    group: int = 1,
    kernel_shape: Ints = (),
    pads: Ints = (),
    strides: Ints = (),
) -> SSAValue:
    """Convolve quantized tensors; scales of w may be one a filter, the bias counts in steps of x_scale * w_scale."""
    wide_x = dequantize_linear_10(b, x, x_scale, x_zero)
    wide_w = dequantize_linear_10(b, w, w_scale, w_zero, axis=0)
    if bias is not None:
        step = b.nn("mul", b.reshape(x_scale), b.reshape(w_scale) if b.shape(w_scale) in ((), (1,)) else w_scale)
        bias = b.nn("mul", b.cast(bias, b.dtype(step)), step)
    y = conv_1(
        b, wide_x, wide_w, bias, auto_pad=auto_pad, dilations=dilations, group=group, kernel_shape=kernel_shape, pads=pads, strides=strides
    )
    return quantize_linear_10(b, y, y_scale, y_zero)
