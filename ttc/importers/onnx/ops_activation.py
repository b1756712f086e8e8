"""Activations, softmaxes, and activations that nn expresses by others."""

from __future__ import annotations

from math import prod

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.values import SSAValue
from ttc.importers.common.builder import Builder
from ttc.importers.common.elementwise import prelu
from ttc.importers.onnx.tables import MAPPINGS


@MAPPINGS.rule("Relu-1")
def relu_1(b: Builder, x: SSAValue) -> SSAValue:
    return b.nn("relu", x)


@MAPPINGS.rule("Sigmoid-1")
def sigmoid_1(b: Builder, x: SSAValue) -> SSAValue:
    return b.nn("sigmoid", x)


@MAPPINGS.rule("Tanh-1")
def tanh_1(b: Builder, x: SSAValue) -> SSAValue:
    return b.nn("tanh", x)


@MAPPINGS.rule("Softplus-1")
def softplus_1(b: Builder, x: SSAValue) -> SSAValue:
    return b.nn("softplus", x)


@MAPPINGS.rule("HardSwish-14")
def hard_swish_14(b: Builder, x: SSAValue) -> SSAValue:
    return b.nn("hard_swish", x)


@MAPPINGS.rule("LeakyRelu-1")
def leaky_relu_1(b: Builder, x: SSAValue, *, alpha: float = 0.01) -> SSAValue:
    return b.nn("leaky_relu", x, alpha=alpha)


@MAPPINGS.rule("Elu-1")
def elu_1(b: Builder, x: SSAValue, *, alpha: float = 1.0) -> SSAValue:
    return b.nn("elu", x, alpha=alpha)


@MAPPINGS.rule("HardSigmoid-1")
def hard_sigmoid_1(b: Builder, x: SSAValue, *, alpha: float = 0.2, beta: float = 0.5) -> SSAValue:
    return b.nn("hard_sigmoid", x, alpha=alpha, beta=beta)


@MAPPINGS.rule("Gelu-20")
def gelu_20(b: Builder, x: SSAValue, *, approximate: str = "none") -> SSAValue:
    return b.nn("gelu", x, approximate=approximate)


MAPPINGS.add("PRelu-7", prelu)


@MAPPINGS.rule("Selu-6")
def selu_6(b: Builder, x: SSAValue, *, alpha: float = 1.6732631921768188, gamma: float = 1.0507010221481323) -> SSAValue:
    return b.nn("mul", b.nn("elu", x, alpha=alpha), b.scalar(gamma, x))


@MAPPINGS.rule("Celu-12")
def celu_12(b: Builder, x: SSAValue, *, alpha: float = 1.0) -> SSAValue:
    """Map Celu: max(0, x) + min(0, alpha (exp(x / alpha) - 1)) is elu of slope alpha over x / alpha."""
    return b.nn("mul", b.nn("elu", b.nn("div", x, b.scalar(alpha, x)), alpha=1.0), b.scalar(alpha, x)) if alpha > 0 else _celu(b, x, alpha)


def _celu(b: Builder, x: SSAValue, alpha: float) -> SSAValue:
    zero, slope = b.scalar(0, x), b.scalar(alpha, x)
    bend = b.nn("mul", slope, b.nn("sub", b.nn("exp", b.nn("div", x, slope)), b.scalar(1, x)))
    return b.nn("add", b.nn("maximum", x, zero), b.nn("minimum", bend, zero))


@MAPPINGS.rule("Softsign-1")
def softsign_1(b: Builder, x: SSAValue) -> SSAValue:
    return b.nn("div", x, b.nn("add", b.nn("abs", x), b.scalar(1, x)))


@MAPPINGS.rule("ThresholdedRelu-10")
def thresholded_relu_10(b: Builder, x: SSAValue, *, alpha: float = 1.0) -> SSAValue:
    return b.nn("where", b.nn("greater", x, b.scalar(alpha, x)), x, b.scalar(0, x))


@MAPPINGS.rule("Mish-18")
def mish_18(b: Builder, x: SSAValue) -> SSAValue:
    return b.nn("mul", x, b.nn("tanh", b.nn("softplus", x)))


@MAPPINGS.rule("Swish-24")
def swish_24(b: Builder, x: SSAValue, *, alpha: float = 1.0) -> SSAValue:
    return b.nn("silu", x) if alpha == 1.0 else b.nn("mul", x, b.nn("sigmoid", b.nn("mul", x, b.scalar(alpha, x))))


@MAPPINGS.rule("Shrink-9")
def shrink_9(b: Builder, x: SSAValue, *, bias: float = 0.0, lambd: float = 0.5) -> SSAValue:
    low = b.nn("where", b.nn("less", x, b.scalar(-lambd, x)), b.nn("add", x, b.scalar(bias, x)), b.scalar(0, x))
    return b.nn("where", b.nn("greater", x, b.scalar(lambd, x)), b.nn("sub", x, b.scalar(bias, x)), low)


@MAPPINGS.rule("Softmax-1")
def softmax_1(b: Builder, x: SSAValue, *, axis: int = 1) -> SSAValue:
    """Map Softmax up to opset 12, which is over all dimensions from the axis on."""
    return _flattened(b, "softmax", x, axis)


@MAPPINGS.rule("Softmax-13")
def softmax_13(b: Builder, x: SSAValue, *, axis: int = -1) -> SSAValue:
    return b.nn("softmax", x, axis=axis)


@MAPPINGS.rule("LogSoftmax-1")
def log_softmax_1(b: Builder, x: SSAValue, *, axis: int = 1) -> SSAValue:
    """Map LogSoftmax up to opset 12, which is over all dimensions from the axis on."""
    return _flattened(b, "log_softmax", x, axis)


@MAPPINGS.rule("LogSoftmax-13")
def log_softmax_13(b: Builder, x: SSAValue, *, axis: int = -1) -> SSAValue:
    return b.nn("log_softmax", x, axis=axis)


def _flattened(b: Builder, op: str, x: SSAValue, axis: int) -> SSAValue:
    shape = b.shape(x)
    if axis in (-1, len(shape) - 1):
        return b.nn(op, x, axis=axis)
    rows, columns = split_product(shape, axis)
    return b.reshape(b.nn(op, b.reshape(x, rows, columns), axis=1), *shape)


def split_product(shape: tuple[int, ...], axis: int) -> tuple[int, int]:
    """Return elements before and from an axis on.  Raises E0412."""
    if not -len(shape) <= axis <= len(shape):
        raise Error("E0412", f"axis {axis} is outside rank {len(shape)}")
    at = axis + len(shape) if axis < 0 else axis
    return prod(shape[:at]), prod(shape[at:])
