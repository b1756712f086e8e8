"""Activations of onnxruntime's domain: GELU in its forms, gates, and those that its graph optimizer fuses with a bias."""

from __future__ import annotations

from math import prod

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.values import SSAValue
from ttc.dialects.core.shapes import axis_in
from ttc.importers.common.builder import Builder
from ttc.importers.common.unsupported import Unsupported
from ttc.importers.onnx.ops_norm import dropout_12
from ttc.importers.onnx.tables import MAPPINGS


@MAPPINGS.rule("com.microsoft.Gelu-1")
def gelu_1(b: Builder, x: SSAValue) -> SSAValue:
    return b.nn("gelu", x, approximate="none")


@MAPPINGS.rule("com.microsoft.BiasGelu-1")
def bias_gelu_1(b: Builder, x: SSAValue, bias: SSAValue) -> SSAValue:
    return gelu_1(b, b.nn("add", x, bias))


@MAPPINGS.rule("com.microsoft.FastGelu-1")
def fast_gelu_1(b: Builder, x: SSAValue, bias: SSAValue | None = None) -> SSAValue:
    """Return GELU, approximated by tanh, of x plus the bias."""
    return b.nn("gelu", x if bias is None else b.nn("add", x, bias), approximate="tanh")


@MAPPINGS.rule("com.microsoft.QuickGelu-1")
def quick_gelu_1(b: Builder, x: SSAValue, *, alpha: float = 1.702) -> SSAValue:
    """Return x sigmoid(alpha x), elementwise."""
    return b.nn("silu", x) if alpha == 1.0 else b.nn("mul", x, b.nn("sigmoid", b.nn("mul", x, b.scalar(alpha, x))))


@MAPPINGS.rule("com.microsoft.ScaledSiLU-1")
def scaled_si_lu_1(b: Builder, x: SSAValue, scale: SSAValue | None = None, *, alpha: float = 1.0) -> SSAValue:
    """Return silu(x) times the scale."""
    if alpha != 1.0:
        raise Unsupported(f"alpha = {alpha}")
    y = b.nn("silu", x)
    return y if scale is None else b.nn("mul", y, b.cast(scale, b.dtype(x)))


@MAPPINGS.rule("com.microsoft.BiasAdd-1")
def bias_add_1(b: Builder, x: SSAValue, bias: SSAValue, skip: SSAValue) -> SSAValue:
    return b.nn("add", b.nn("add", x, bias), skip)


@MAPPINGS.rule("com.microsoft.BiasSplitGelu-1")
def bias_split_gelu_1(b: Builder, x: SSAValue, bias: SSAValue) -> SSAValue:
    """Return the first half of the features times GELU of the second."""
    shape = b.shape(x)
    if not shape or shape[-1] % 2:
        raise Error("E0401", f"{b.spec(x)} does not fall into halves")
    first, second = b.nn_all("split", b.nn("add", x, bias), axis=len(shape) - 1, sizes=(shape[-1] // 2,) * 2)
    return b.nn("mul", first, gelu_1(b, second))


@MAPPINGS.rule("com.microsoft.BiasSoftmax-1")
def bias_softmax_1(b: Builder, x: SSAValue, bias: SSAValue, *, axis: int = 1, is_inner_broadcast: int) -> SSAValue:
    """Return softmax(x + bias) over the dimensions from the axis on; bias lies along inner or outer dimensions of the others."""
    shape, own = b.shape(x), b.shape(bias)
    at = axis_in(axis, len(shape))
    if is_inner_broadcast or len(own) == len(shape):
        total = b.nn("add", x, bias)
    else:
        total = b.nn("add", x, b.reshape(bias, *own[:1], *(1,) * (len(shape) - len(own)), *own[1:]))
    flat = b.reshape(total, prod(shape[:at]), prod(shape[at:]))
    return b.reshape(b.nn("softmax", flat, axis=1), *shape)


@MAPPINGS.rule("com.microsoft.BiasDropout-1")
def bias_dropout_1(
    b: Builder,
    x: SSAValue,
    bias: SSAValue,
    residual: SSAValue | None = None,
    ratio: SSAValue | None = None,
    training_mode: SSAValue | None = None,
    *,
    seed: int | None = None,
) -> tuple[SSAValue, ...]:
    """Return a dropout of x + bias, then the residual."""
    y, *mask = dropout_12(b, b.nn("add", x, bias), ratio, training_mode, seed=seed)
    return y if residual is None else b.nn("add", y, residual), *mask
