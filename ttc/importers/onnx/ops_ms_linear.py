"""Products and convolutions of onnxruntime's domain, as its graph optimizer fuses them with transposes, sums and activations."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.values import SSAValue
from ttc.dialects.core.shapes import axis_in
from ttc.importers.common.builder import Builder
from ttc.importers.common.products import matmul
from ttc.importers.common.unsupported import Unsupported
from ttc.importers.onnx.ops_activation import elu_1, hard_sigmoid_1, leaky_relu_1, softmax_13
from ttc.importers.onnx.ops_conv import conv_1, conv_transpose_1, max_pool_1
from ttc.importers.onnx.ops_linear import gemm_7
from ttc.importers.onnx.ops_ms_activation import fast_gelu_1, gelu_1
from ttc.importers.onnx.tables import MAPPINGS

Ints: TypeAlias = tuple[int, ...]
Floats: TypeAlias = tuple[float, ...]
FLOAT32 = np.dtype(np.float32)

_PARAMETERS = {
    "LeakyRelu": {"alpha": 0.01},
    "Elu": {"alpha": 1.0},
    "HardSigmoid": {"alpha": 0.2, "beta": 0.5},
    "Clip": {"min": -3.4028234663852886e38, "max": 3.4028234663852886e38},
}
"""Numbers of the activations that have them, with their defaults."""


def activated(b: Builder, x: SSAValue, activation: str, given: Floats = ()) -> SSAValue:
    """Return x under an activation by ONNX's name, or x; `given` are its numbers in their order. Raises Unsupported."""
    names = _PARAMETERS.get(activation, {})
    numbers = {**names, **dict(zip(names, given, strict=False))}
    match activation:
        case "":
            return x
        case "Relu" | "Sigmoid" | "Tanh" | "Softplus":
            return b.nn(activation.lower(), x)
        case "LeakyRelu":
            return leaky_relu_1(b, x, **numbers)
        case "Elu":
            return elu_1(b, x, **numbers)
        case "HardSigmoid":
            return hard_sigmoid_1(b, x, **numbers)
        case "Clip":
            return b.nn("clip", x, **numbers)
        case "HardSwish":
            return b.nn("hard_swish", x)
        case "Gelu":
            return gelu_1(b, x)
        case _:
            raise Unsupported(f"activation '{activation[:40]}'")


@MAPPINGS.rule("com.microsoft.FusedConv-1")
def fused_conv_1(
    b: Builder,
    x: SSAValue,
    w: SSAValue,
    bias: SSAValue | None = None,
    addend: SSAValue | None = None,
    *,
    activation: str = "",
    activation_params: Floats = (),
    auto_pad: str = "NOTSET",
    dilations: Ints = (),
    group: int = 1,
    kernel_shape: Ints = (),
    pads: Ints = (),
    strides: Ints = (),
) -> SSAValue:
    """Return activation(conv(x, w) + bias + addend)."""
    y = conv_1(b, x, w, bias, auto_pad=auto_pad, dilations=dilations, group=group, kernel_shape=kernel_shape, pads=pads, strides=strides)
    return activated(b, y if addend is None else b.nn("add", y, addend), activation, activation_params)


@MAPPINGS.rule("com.microsoft.NhwcConv-1")
def nhwc_conv_1(
    b: Builder,
    x: SSAValue,
    w: SSAValue,
    bias: SSAValue | None = None,
    *,
    auto_pad: str = "NOTSET",
    dilations: Ints = (),
    group: int = 1,
    kernel_shape: Ints = (),
    pads: Ints = (),
    strides: Ints = (),
) -> SSAValue:
    """Convolve x[n, spatial..., c] with w[o, kernel..., c / group]."""
    x, w = channels_first(b, x), channels_first(b, w)
    y = conv_1(b, x, w, bias, auto_pad=auto_pad, dilations=dilations, group=group, kernel_shape=kernel_shape, pads=pads, strides=strides)
    return channels_last(b, y)


@MAPPINGS.rule("com.microsoft.NhwcFusedConv-1")
def nhwc_fused_conv_1(
    b: Builder,
    x: SSAValue,
    w: SSAValue,
    bias: SSAValue | None = None,
    addend: SSAValue | None = None,
    *,
    activation: str = "",
    activation_params: Floats = (),
    auto_pad: str = "NOTSET",
    dilations: Ints = (),
    group: int = 1,
    kernel_shape: Ints = (),
    pads: Ints = (),
    strides: Ints = (),
) -> SSAValue:
    """Convolve x[n, spatial..., c] with ONNX's w[o, c / group, kernel...]."""
    x = channels_first(b, x)
    y = conv_1(b, x, w, bias, auto_pad=auto_pad, dilations=dilations, group=group, kernel_shape=kernel_shape, pads=pads, strides=strides)
    y = channels_last(b, y)
    return activated(b, y if addend is None else b.nn("add", y, addend), activation, activation_params)


@MAPPINGS.rule("com.microsoft.NhwcMaxPool-1")
def nhwc_max_pool_1(
    b: Builder,
    x: SSAValue,
    *,
    auto_pad: str = "NOTSET",
    ceil_mode: int = 0,
    dilations: Ints = (),
    kernel_shape: Ints,
    pads: Ints = (),
    strides: Ints = (),
) -> SSAValue:
    """Pool x[n, spatial..., c], of 8-bit integers too, whose order is that of the numbers they stand for."""
    wide = b.cast(channels_first(b, x), FLOAT32)
    y = max_pool_1(
        b, wide, auto_pad=auto_pad, ceil_mode=ceil_mode, dilations=dilations, kernel_shape=kernel_shape, pads=pads, strides=strides
    )
    return b.cast(channels_last(b, y[0] if isinstance(y, tuple) else y), b.dtype(x))


@MAPPINGS.rule("com.microsoft.ConvTransposeWithDynamicPads-1")
def conv_transpose_with_dynamic_pads_1(
    b: Builder,
    x: SSAValue,
    w: SSAValue,
    pads: SSAValue | None = None,
    bias: SSAValue | None = None,
    *,
    auto_pad: str = "NOTSET",
    dilations: Ints = (),
    group: int = 1,
    kernel_shape: Ints = (),
    output_padding: Ints = (),
    strides: Ints = (),
) -> SSAValue:
    """Map a transposed convolution whose pads are an operand, whose value is needed at import."""
    given = () if pads is None else b.ints(pads, "pads")
    options = {"dilations": dilations, "kernel_shape": kernel_shape, "output_padding": output_padding, "strides": strides}
    return conv_transpose_1(b, x, w, bias, auto_pad=auto_pad, group=group, pads=given, **options)


@MAPPINGS.rule("com.microsoft.FusedGemm-1")
def fused_gemm_1(
    b: Builder,
    x: SSAValue,
    w: SSAValue,
    bias: SSAValue | None = None,
    *,
    activation: str = "",
    activation_alpha: float | None = None,
    activation_beta: float | None = None,
    activation_gamma: float | None = None,
    alpha: float = 1.0,
    beta: float = 1.0,
    transA: int = 0,
    transB: int = 0,
) -> SSAValue:
    y = gemm_7(b, x, w, bias, alpha=alpha, beta=beta, transA=transA, transB=transB)
    return activated(b, y, activation, tuple(v for v in (activation_alpha, activation_beta, activation_gamma) if v is not None))


@MAPPINGS.rule("com.microsoft.GemmFastGelu-1")
def gemm_fast_gelu_1(b: Builder, x: SSAValue, w: SSAValue, bias: SSAValue | None = None) -> SSAValue:
    return fast_gelu_1(b, matmul(b, x, w), bias)


@MAPPINGS.rule("com.microsoft.TransposeMatMul-1")
def transpose_mat_mul_1(b: Builder, x: SSAValue, w: SSAValue, *, alpha: float = 1.0, transA: int = 0, transB: int = 0) -> SSAValue:
    return fused_mat_mul_1(b, x, w, alpha=alpha, transA=transA, transB=transB)


@MAPPINGS.rule("com.microsoft.FusedMatMul-1")
def fused_mat_mul_1(
    b: Builder,
    x: SSAValue,
    w: SSAValue,
    *,
    alpha: float = 1.0,
    transA: int = 0,
    transB: int = 0,
    transBatchA: int = 0,
    transBatchB: int = 0,
) -> SSAValue:
    """Return alpha x' w'.  transBatch: the matrices' rows stand before the batch dimensions, [m, ..., k] for [..., m, k]."""
    x, w = _batch_first(b, x, transBatchA), _batch_first(b, w, transBatchB)
    transposes = {"transpose_a": bool(transA) and b.rank(x) > 1, "transpose_b": bool(transB) and b.rank(w) > 1}
    y = b.nn("matmul", x, w, None, **transposes) if min(b.rank(x), b.rank(w)) > 1 else _product(b, x, w, **transposes)
    return y if alpha == 1.0 else b.nn("mul", y, b.scalar(alpha, y))


def _product(b: Builder, x: SSAValue, w: SSAValue, *, transpose_a: bool, transpose_b: bool) -> SSAValue:
    """Return a product with a vector."""
    return matmul(b, _turned(b, x) if transpose_a else x, _turned(b, w) if transpose_b else w)


def _turned(b: Builder, x: SSAValue) -> SSAValue:
    rank = b.rank(x)
    return b.nn("transpose", x, perm=(*range(rank - 2), rank - 1, rank - 2))


def _batch_first(b: Builder, x: SSAValue, wanted: int) -> SSAValue:
    rank = b.rank(x)
    return b.nn("transpose", x, perm=(*range(1, rank - 1), 0, rank - 1)) if wanted and rank > 2 else x


@MAPPINGS.rule("com.microsoft.FusedMatMulActivation-1")
def fused_mat_mul_activation_1(
    b: Builder,
    x: SSAValue,
    w: SSAValue,
    *,
    activation: str,
    activation_alpha: float | None = None,
    activation_axis: int = -1,
    activation_beta: float | None = None,
    activation_gamma: float | None = None,
    alpha: float = 1.0,
    transA: int = 0,
    transB: int = 0,
    transBatchA: int = 0,
    transBatchB: int = 0,
) -> SSAValue:
    y = fused_mat_mul_1(b, x, w, alpha=alpha, transA=transA, transB=transB, transBatchA=transBatchA, transBatchB=transBatchB)
    if activation == "Softmax":
        return softmax_13(b, y, axis=axis_in(activation_axis, b.rank(y)))
    return activated(b, y, activation, tuple(v for v in (activation_alpha, activation_beta, activation_gamma) if v is not None))


@MAPPINGS.rule("com.microsoft.Inverse-1")
def inverse_1(b: Builder, x: SSAValue) -> SSAValue:
    """Return inverses of matrices x[..., n, n]."""
    shape = b.shape(x)
    if len(shape) < 2 or shape[-1] != shape[-2] or shape[-1] > 4096:
        raise Error("E0401", f"takes square matrices of at most 4096 rows, not {b.spec(x)}")
    unit = b.constant(np.eye(shape[-1]), b.dtype(x))
    return b.nn("solve", x, b.nn("expand", unit, shape=shape))


@MAPPINGS.rule("com.microsoft.CDist-1")
def c_dist_1(b: Builder, x: SSAValue, y: SSAValue, *, metric: str = "sqeuclidean") -> SSAValue:
    """Return distances [m, n] of the rows of x[m, k] from those of y[n, k]: |x|^2 - 2 x y + |y|^2, or its root."""
    if metric not in ("sqeuclidean", "euclidean"):
        raise Unsupported(f"metric '{metric[:40]}'")
    if b.rank(x) != 2 or b.rank(y) != 2:
        raise Error("E0401", f"takes matrices, not {b.spec(x)} and {b.spec(y)}")
    rows, columns = (b.nn("reduce_sum", b.nn("mul", v, v), axes=(1,), keepdims=True) for v in (x, y))
    cross = b.nn("matmul", b.nn("mul", x, b.scalar(-2, x)), y, None, transpose_a=False, transpose_b=True)
    total = b.nn("add", b.nn("add", cross, rows), b.reshape(columns, 1, b.shape(y)[0]))
    total = b.nn("maximum", total, b.scalar(0, total))
    return b.nn("sqrt", total) if metric == "euclidean" else total


def channels_first(b: Builder, x: SSAValue) -> SSAValue:
    """Return [n, spatial..., c] as [n, c, spatial...]."""
    rank = b.rank(x)
    if rank < 3:
        raise Error("E0401", f"needs a batch, channels and at least one spatial dimension, not {b.spec(x)}")
    return b.nn("transpose", x, perm=(0, rank - 1, *range(1, rank - 1)))


def channels_last(b: Builder, x: SSAValue) -> SSAValue:
    """Return [n, c, spatial...] as [n, spatial..., c]."""
    return b.nn("transpose", x, perm=(0, *range(2, b.rank(x)), 1))
