"""Ops on quantized tensors of onnxruntime's domain, as its quantizers and graph optimizer write them.

As for ONNX's own: real numbers in between where the result is quantized again, integers where their exact sums are asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.values import SSAValue
from ttc.dialects.core.shapes import axis_in
from ttc.importers.common.builder import Builder
from ttc.importers.onnx.ops_activation import leaky_relu_1, softmax_1, softmax_13
from ttc.importers.onnx.ops_conv import average_pool_1, global_average_pool_1
from ttc.importers.onnx.ops_linear import mat_mul_1
from ttc.importers.onnx.ops_ms_linear import channels_first as first_of
from ttc.importers.onnx.ops_ms_linear import channels_last as last_of
from ttc.importers.onnx.ops_quantization import (
    centred,
    dequantize_linear_10,
    dynamic_quantize_linear_11,
    mat_mul_integer_10,
    q_linear_conv_10,
    quantize_linear_10,
)
from ttc.importers.onnx.tables import MAPPINGS

Ints: TypeAlias = tuple[int, ...]
INT32 = np.dtype(np.int32)


@MAPPINGS.rule("com.microsoft.QuantizeLinear-1")
def quantize_linear_1(b: Builder, x: SSAValue, scale: SSAValue, zero: SSAValue | None = None, *, axis: int = 1) -> SSAValue:
    """Map QuantizeLinear for types that ONNX's lacked: 16 and 4 bits."""
    return quantize_linear_10(b, x, scale, zero, axis=axis)


@MAPPINGS.rule("com.microsoft.DequantizeLinear-1")
def dequantize_linear_1(b: Builder, x: SSAValue, scale: SSAValue, zero: SSAValue | None = None, *, axis: int = 1) -> SSAValue:
    return dequantize_linear_10(b, x, scale, zero, axis=axis)


# ---- exact sums ------------------------------------------------------------------------------------------------------------------


@MAPPINGS.rule("com.microsoft.MatMulInteger16-1")
def mat_mul_integer16_1(b: Builder, x: SSAValue, w: SSAValue) -> SSAValue:
    """Return x w of 16-bit integers, in 32 bits."""
    wide = np.dtype(np.uint32 if b.dtype(x).kind == b.dtype(w).kind == "u" else np.int32)
    return mat_mul_1(b, b.cast(x, wide), b.cast(w, wide))


@MAPPINGS.rule("com.microsoft.MatMulIntegerToFloat-1")
def mat_mul_integer_to_float_1(
    b: Builder,
    x: SSAValue,
    w: SSAValue,
    x_scale: SSAValue,
    w_scale: SSAValue,
    x_zero: SSAValue | None = None,
    w_zero: SSAValue | None = None,
    bias: SSAValue | None = None,
) -> SSAValue:
    """Return ((x - x_zero) @ (w - w_zero)) x_scale w_scale + bias; scales of w may be one a column."""
    sums = b.cast(mat_mul_integer_10(b, x, w, *(None if z is None else _row(b, z) for z in (x_zero, w_zero))), b.dtype(x_scale))
    y = b.nn("mul", sums, b.nn("mul", _row(b, x_scale), _row(b, w_scale)))
    return y if bias is None else b.nn("add", y, bias)


@MAPPINGS.rule("com.microsoft.DynamicQuantizeMatMul-1")
def dynamic_quantize_mat_mul_1(
    b: Builder, x: SSAValue, w: SSAValue, w_scale: SSAValue, w_zero: SSAValue | None = None, bias: SSAValue | None = None
) -> SSAValue:
    """Quantize x to 8 bits by its own range, and return a product of integers."""
    codes, scale, zero = dynamic_quantize_linear_11(b, x)
    return mat_mul_integer_to_float_1(b, codes, w, scale, w_scale, zero, w_zero, bias)


@MAPPINGS.rule("com.microsoft.MulInteger-1")
def mul_integer_1(b: Builder, x: SSAValue, x_zero: SSAValue | None, y: SSAValue, y_zero: SSAValue | None = None) -> SSAValue:
    """Return (x - x_zero) (y - y_zero) in 32 bits."""
    return b.nn("mul", *(centred(b, v, zero) for v, zero in ((x, x_zero), (y, y_zero))))


@MAPPINGS.rule("com.microsoft.ReduceSumInteger-1")
def reduce_sum_integer_1(b: Builder, x: SSAValue, *, axes: Ints, keepdims: int) -> SSAValue:
    """Return the sum over axes, in integers of 32 bits."""
    wide = b.cast(x, np.dtype(np.uint32 if b.dtype(x).kind == "u" else np.int32))
    return b.nn("reduce_sum", wide, axes=tuple(axis_in(a, b.rank(x)) for a in axes), keepdims=bool(keepdims))


def _row(b: Builder, value: SSAValue) -> SSAValue:
    """Return one number without dimensions; one a column as it is."""
    return b.reshape(value) if b.spec(value).elements == 1 else value


# ---- real numbers in between ------------------------------------------------------------------------------------------------------


@MAPPINGS.rule("com.microsoft.QGemm-1")
def q_gemm_1(
    b: Builder,
    x: SSAValue,
    x_scale: SSAValue,
    x_zero: SSAValue,
    w: SSAValue,
    w_scale: SSAValue,
    w_zero: SSAValue,
    bias: SSAValue | None = None,
    y_scale: SSAValue | None = None,
    y_zero: SSAValue | None = None,
    *,
    alpha: float = 1.0,
    transA: int = 0,
    transB: int = 0,
) -> SSAValue:
    """Return alpha x' w' + bias, the bias in steps of alpha x_scale w_scale; real numbers without a scale of the result."""
    step = b.nn("mul", _row(b, x_scale), _row(b, w_scale))
    step = step if alpha == 1.0 else b.nn("mul", step, b.scalar(alpha, step))
    wide_x, wide_w = dequantize_linear_10(b, x, x_scale, x_zero), dequantize_linear_10(b, w, w_scale, w_zero, axis=0 if transB else 1)
    y = b.nn("matmul", wide_x, wide_w, None, transpose_a=bool(transA), transpose_b=bool(transB))
    y = y if alpha == 1.0 else b.nn("mul", y, b.scalar(alpha, y))
    if bias is not None:
        y = b.nn("add", y, b.nn("mul", b.cast(bias, b.dtype(step)), step))
    return y if y_scale is None else quantize_linear_10(b, y, y_scale, y_zero)


@MAPPINGS.rule("com.microsoft.QLinearConv-1")
def q_linear_conv_1(
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
    channels_last: int = 0,
    dilations: Ints = (),
    group: int = 1,
    kernel_shape: Ints = (),
    pads: Ints = (),
    strides: Ints = (),
) -> SSAValue:
    """Map QLinearConv; with channels_last that of x[n, spatial..., c], the weight as in ONNX."""
    window = {"dilations": dilations, "kernel_shape": kernel_shape, "pads": pads, "strides": strides}
    scales = x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero, bias
    return _laid(b, x, channels_last, lambda v: q_linear_conv_10(b, v, *scales, auto_pad=auto_pad, group=group, **window))


def _laid(b: Builder, x: SSAValue, is_last: int, apply: Callable[[SSAValue], SSAValue]) -> SSAValue:
    """Return an op on channels first, whatever the layout."""
    return last_of(b, apply(first_of(b, x))) if is_last else apply(x)


@MAPPINGS.rule("com.microsoft.QLinearAdd-1")
def q_linear_add_1(
    b: Builder,
    x: SSAValue,
    x_scale: SSAValue,
    x_zero: SSAValue | None,
    y: SSAValue,
    y_scale: SSAValue,
    y_zero: SSAValue | None,
    z_scale: SSAValue,
    z_zero: SSAValue | None = None,
) -> SSAValue:
    real = b.nn("add", dequantize_linear_10(b, x, x_scale, x_zero), dequantize_linear_10(b, y, y_scale, y_zero))
    return _quantized(b, real, z_scale, z_zero, x)


@MAPPINGS.rule("com.microsoft.QLinearMul-1")
def q_linear_mul_1(
    b: Builder,
    x: SSAValue,
    x_scale: SSAValue,
    x_zero: SSAValue | None,
    y: SSAValue,
    y_scale: SSAValue,
    y_zero: SSAValue | None,
    z_scale: SSAValue,
    z_zero: SSAValue | None = None,
) -> SSAValue:
    real = b.nn("mul", dequantize_linear_10(b, x, x_scale, x_zero), dequantize_linear_10(b, y, y_scale, y_zero))
    return _quantized(b, real, z_scale, z_zero, x)


@MAPPINGS.rule("com.microsoft.QLinearWhere-1")
def q_linear_where_1(
    b: Builder,
    condition: SSAValue,
    x: SSAValue,
    x_scale: SSAValue,
    x_zero: SSAValue,
    y: SSAValue,
    y_scale: SSAValue,
    y_zero: SSAValue,
    z_scale: SSAValue,
    z_zero: SSAValue,
) -> SSAValue:
    real = b.nn("where", condition, dequantize_linear_10(b, x, x_scale, x_zero), dequantize_linear_10(b, y, y_scale, y_zero))
    return _quantized(b, real, z_scale, z_zero, x)


@MAPPINGS.rule("com.microsoft.QLinearSigmoid-1")
def q_linear_sigmoid_1(
    b: Builder, x: SSAValue, x_scale: SSAValue, x_zero: SSAValue | None, y_scale: SSAValue, y_zero: SSAValue | None = None
) -> SSAValue:
    return _quantized(b, b.nn("sigmoid", dequantize_linear_10(b, x, x_scale, x_zero)), y_scale, y_zero, x)


@MAPPINGS.rule("com.microsoft.QLinearLeakyRelu-1")
def q_linear_leaky_relu_1(
    b: Builder,
    x: SSAValue,
    x_scale: SSAValue,
    x_zero: SSAValue | None,
    y_scale: SSAValue,
    y_zero: SSAValue | None = None,
    *,
    alpha: float = 0.01,
) -> SSAValue:
    return _quantized(b, leaky_relu_1(b, dequantize_linear_10(b, x, x_scale, x_zero), alpha=alpha), y_scale, y_zero, x)


@MAPPINGS.rule("com.microsoft.QLinearSoftmax-1")
def q_linear_softmax_1(
    b: Builder,
    x: SSAValue,
    x_scale: SSAValue,
    x_zero: SSAValue | None,
    y_scale: SSAValue,
    y_zero: SSAValue,
    *,
    axis: int = -1,
    opset: int,
) -> SSAValue:
    """Map a softmax as of that opset of ONNX: before 13 over all dimensions from the axis on."""
    apply = softmax_1 if opset < 13 else softmax_13
    return _quantized(b, apply(b, dequantize_linear_10(b, x, x_scale, x_zero), axis=axis), y_scale, y_zero, x)


@MAPPINGS.rule("com.microsoft.QLinearConcat-1")
def q_linear_concat_1(b: Builder, y_scale: SSAValue, y_zero: SSAValue, *inputs: SSAValue, axis: int) -> SSAValue:
    """Join tensors, each of which is three inputs: a tensor, its scale and its zero."""
    if len(inputs) % 3:
        raise Error("E0203", f"QLinearConcat takes tensors, each with its scale and zero, not {len(inputs)} inputs")
    parts = [dequantize_linear_10(b, *inputs[i : i + 3]) for i in range(0, len(inputs), 3)]
    real = b.nn("concat", *parts, axis=axis_in(axis, b.rank(parts[0])))
    return quantize_linear_10(b, real, y_scale, y_zero)


@MAPPINGS.rule("com.microsoft.QLinearReduceMean-1")
def q_linear_reduce_mean_1(
    b: Builder,
    x: SSAValue,
    x_scale: SSAValue,
    x_zero: SSAValue | None,
    y_scale: SSAValue,
    y_zero: SSAValue | None = None,
    *,
    axes: Ints,
    keepdims: int,
) -> SSAValue:
    along = tuple(axis_in(a, b.rank(x)) for a in axes)
    real = b.nn("reduce_mean", dequantize_linear_10(b, x, x_scale, x_zero), axes=along, keepdims=bool(keepdims))
    return _quantized(b, real, y_scale, y_zero, x)


@MAPPINGS.rule("com.microsoft.QLinearGlobalAveragePool-1")
def q_linear_global_average_pool_1(
    b: Builder, x: SSAValue, x_scale: SSAValue, x_zero: SSAValue, y_scale: SSAValue, y_zero: SSAValue, *, channels_last: int = 0
) -> SSAValue:
    real = dequantize_linear_10(b, x, x_scale, x_zero)
    return _quantized(b, _laid(b, real, channels_last, lambda v: global_average_pool_1(b, v)), y_scale, y_zero, x)


@MAPPINGS.rule("com.microsoft.QLinearAveragePool-1")
def q_linear_average_pool_1(
    b: Builder,
    x: SSAValue,
    x_scale: SSAValue,
    x_zero: SSAValue | None,
    y_scale: SSAValue,
    y_zero: SSAValue | None = None,
    *,
    auto_pad: str = "NOTSET",
    ceil_mode: int = 0,
    channels_last: int = 0,
    count_include_pad: int = 0,
    kernel_shape: Ints,
    pads: Ints = (),
    strides: Ints = (),
) -> SSAValue:
    window: dict[str, Any] = {"kernel_shape": kernel_shape, "pads": pads, "strides": strides, "auto_pad": auto_pad}
    window |= {"ceil_mode": ceil_mode, "count_include_pad": count_include_pad}
    y = _laid(b, dequantize_linear_10(b, x, x_scale, x_zero), channels_last, lambda v: average_pool_1(b, v, **window))
    return _quantized(b, y, y_scale, y_zero, x)


def _quantized(b: Builder, real: SSAValue, scale: SSAValue, zero: SSAValue | None, like: SSAValue) -> SSAValue:
    """In steps of the scale, as integers of the type of another tensor."""
    return quantize_linear_10(b, real, scale, b.constant(np.zeros((), b.dtype(like))) if zero is None else zero)
