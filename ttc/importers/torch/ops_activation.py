"""Rows for PyTorch's activations and softmaxes."""

from __future__ import annotations

from typing import Any

import numpy as np

from ttc.dialects.core.ir.values import SSAValue
from ttc.importers.common.unsupported import Unsupported
from ttc.importers.torch.builder import TorchBuilder
from ttc.importers.torch.elements import floating, times, unary, unary_number
from ttc.importers.torch.tables import Row, Rows


def gelu(b: TorchBuilder, x: SSAValue, *, approximate: str) -> SSAValue:
    return b.nn("gelu", x, approximate=approximate)


def leaky_relu(b: TorchBuilder, x: SSAValue, negative_slope: float) -> SSAValue:
    return b.nn("leaky_relu", x, alpha=float(negative_slope))


def elu(b: TorchBuilder, x: SSAValue, alpha: float, scale: float, input_scale: float) -> SSAValue:
    """Return scale max(x, 0) + scale min(alpha (exp(input_scale x) - 1), 0)."""
    if input_scale == 1:
        return times(b, b.nn("elu", x, alpha=float(alpha)), scale)
    bent = b.nn("elu", times(b, x, input_scale), alpha=float(alpha))
    return times(b, b.nn("where", b.nn("greater", x, b.scalar(0, x)), x, bent), scale)


def selu(b: TorchBuilder, x: SSAValue) -> SSAValue:
    return elu(b, x, 1.6732632423543772, 1.0507009873554805, 1)


def celu(b: TorchBuilder, x: SSAValue, alpha: float) -> SSAValue:
    return elu(b, x, alpha, 1, 1 / alpha)


def hardtanh(b: TorchBuilder, x: SSAValue, low: float, high: float) -> SSAValue:
    if b.dtype(x).kind in "fV":
        return b.nn("clip", x, min=float(low), max=float(high))
    return b.nn("minimum", b.nn("maximum", x, b.scalar(low, x)), b.scalar(high, x))


def relu6(b: TorchBuilder, x: SSAValue) -> SSAValue:
    return hardtanh(b, x, 0, 6)


def hardsigmoid(b: TorchBuilder, x: SSAValue) -> SSAValue:
    return b.nn("hard_sigmoid", x, alpha=1 / 6, beta=0.5)


def prelu(b: TorchBuilder, x: SSAValue, weight: SSAValue) -> SSAValue:
    """Return x where it is positive, else weight times x; weight has one element, or one a channel."""
    shape = b.shape(x)
    if b.spec(weight).elements != 1 and len(shape) > 1:
        weight = b.reshape(weight, b.spec(weight).elements, *(1,) * (len(shape) - 2))
    elif b.spec(weight).elements == 1:
        weight = b.reshape(weight)
    return b.nn("where", b.nn("greater", x, b.scalar(0, x)), x, b.nn("mul", x, weight))


def softplus(b: TorchBuilder, x: SSAValue, beta: float, threshold: float) -> SSAValue:
    """Return ln(1 + exp(beta x)) / beta; x itself where beta x is above the threshold."""
    scaled = times(b, x, beta)
    smooth = times(b, b.nn("softplus", scaled), 1 / beta)
    if threshold >= 20:  # beyond which float32 cannot tell the two apart
        return smooth
    return b.nn("where", b.nn("greater", scaled, b.scalar(threshold, x)), x, smooth)


def log_sigmoid(b: TorchBuilder, x: SSAValue) -> SSAValue:
    return b.nn("neg", b.nn("softplus", b.nn("neg", x)))


def log_sigmoid_forward(b: TorchBuilder, x: SSAValue) -> tuple[SSAValue, None]:
    return log_sigmoid(b, x), None


def mish(b: TorchBuilder, x: SSAValue) -> SSAValue:
    return b.nn("mul", x, b.nn("tanh", b.nn("softplus", x)))


def glu(b: TorchBuilder, x: SSAValue, dim: int) -> SSAValue:
    """Return the first half times the sigmoid of the second."""
    shape = b.shape(x)
    half = shape[dim] // 2
    value, gate = b.nn_all("split", x, axis=dim % len(shape), sizes=(half, half))
    return b.nn("mul", value, b.nn("sigmoid", gate))


def _soft(op: str) -> Row:
    """Return a softmax over one dimension, computed in another dtype if one is given."""

    def row(b: TorchBuilder, x: SSAValue, dim: int, dtype: Any = None) -> SSAValue:
        x = floating(b, x) if dtype is None else b.cast(x, dtype)
        if 0 in b.spec(x).shape:
            return x
        if not b.rank(x):
            return b.reshape(b.nn(op, b.reshape(x, 1), axis=0))
        return b.nn(op, x, axis=dim % b.rank(x))

    return row


def _soft_inner(op: str) -> Row:
    """Return a row for softmaxes of decomposed graphs, which say whether half precision becomes single."""
    plain = _soft(op)

    def row(b: TorchBuilder, x: SSAValue, dim: int, half_to_float: bool) -> SSAValue:
        return plain(b, x, dim, np.dtype(np.float32) if half_to_float else None)

    return row


def safe_softmax(b: TorchBuilder, x: SSAValue, dim: int, dtype: Any = None) -> SSAValue:
    """Return softmax, with 0 where all is -inf."""
    x = x if dtype is None else b.cast(x, dtype)
    rank = b.rank(x)
    if not rank:
        raise Unsupported("rank 0")
    top = b.nn("reduce_max", x, axes=(dim % rank,), keepdims=True)
    masked = b.nn("equal", top, b.scalar(-np.inf, x))
    found = b.nn("softmax", b.nn("where", masked, b.scalar(0, x), x), axis=dim % rank)  # NaN would go on to the gradients
    return b.nn("where", masked, b.scalar(0, x), found)


ROWS: Rows = {
    "aten.relu.default": unary_number("relu"),
    "aten.silu.default": unary("silu"),
    "aten.hardswish.default": unary("hard_swish"),
    "aten.gelu.default": gelu,
    "aten.leaky_relu.default": leaky_relu,
    "aten.elu.default": elu,
    "aten.selu.default": selu,
    "aten.celu.default": celu,
    "aten.hardtanh.default": hardtanh,
    "aten.relu6.default": relu6,
    "aten.hardsigmoid.default": hardsigmoid,
    "aten.prelu.default": prelu,
    "aten._prelu_kernel.default": prelu,
    "aten.softplus.default": softplus,
    "aten.log_sigmoid.default": log_sigmoid,
    "aten.log_sigmoid_forward.default": log_sigmoid_forward,
    "aten.mish.default": mish,
    "aten.glu.default": glu,
    "aten.softmax.int": _soft("softmax"),
    "aten.log_softmax.int": _soft("log_softmax"),
    "aten._softmax.default": _soft_inner("softmax"),
    "aten._log_softmax.default": _soft_inner("log_softmax"),
    "aten._safe_softmax.default": safe_softmax,
}
