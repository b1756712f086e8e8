"""Ops that normalize: softmaxes, and norms over layers, channels and groups."""

from __future__ import annotations

from ttc.dialects.core.ir.values import SSAValue
from ttc.dialects.core.shapes import axis_in
from ttc.importers.common.builder import Builder
from ttc.importers.common.norms import grouped_norm, instance_norm_of
from ttc.ops.tracing import Operand, Tensor, made


def softmax(x: Operand, axis: int = -1, *, name: str | None = None) -> Tensor:
    """Return e^x over its sum along an axis; no exponent overflows.  Raises E0412."""
    return made("softmax", name, [x], lambda b, x: b.nn("softmax", x, axis=axis_in(axis, b.rank(x))))


def log_softmax(x: Operand, axis: int = -1, *, name: str | None = None) -> Tensor:
    """Return the logarithm of the softmax along an axis.  Raises E0412."""
    return made("log_softmax", name, [x], lambda b, x: b.nn("log_softmax", x, axis=axis_in(axis, b.rank(x))))


def layer_norm(
    x: Operand, scale: Operand | None = None, bias: Operand | None = None, *, axis: int = -1, eps: float = 1e-5, name: str | None = None
) -> Tensor:
    """Normalize over the dimensions from axis on, then scale and move by tensors of their shape.  Raises E0401, E0412."""

    def rule(b: Builder, x: SSAValue, scale: SSAValue | None, bias: SSAValue | None) -> SSAValue:
        return b.nn("layer_norm", x, scale, bias, axis=axis_in(axis, b.rank(x)), eps=float(eps))

    return made("layer_norm", name, [x, scale, bias], rule)


def rms_norm(x: Operand, scale: Operand, *, axis: int = -1, eps: float = 1e-6, name: str | None = None) -> Tensor:
    """Divide by the root of the mean square over the dimensions from axis on, then scale.  Raises E0401, E0412."""
    return made("rms_norm", name, [x, scale], lambda b, x, s: b.nn("rms_norm", x, s, axis=axis_in(axis, b.rank(x)), eps=float(eps)))


def batch_norm(
    x: Operand,
    scale: Operand,
    bias: Operand,
    mean: Operand,
    var: Operand,
    *,
    axis: int = 1,
    eps: float = 1e-5,
    name: str | None = None,
) -> Tensor:
    """Normalize channels, the dimension axis, by given statistics, then scale and move: all are of shape [channels].

    Raises: E0401, E0412.
    """

    def rule(b: Builder, x: SSAValue, *others: SSAValue) -> SSAValue:
        return b.nn("batch_norm", x, *others, eps=float(eps), axis=axis_in(axis, b.rank(x)))

    return made("batch_norm", name, [x, scale, bias, mean, var], rule)


def group_norm(
    x: Operand, groups: int, scale: Operand | None = None, bias: Operand | None = None, *, eps: float = 1e-5, name: str | None = None
) -> Tensor:
    """Normalize x[n, c, ...] over c / groups channels at a time, then scale and move by channel.  Raises E0401, E0402."""
    return made("group_norm", name, [x, scale, bias], lambda b, x, s, t: grouped_norm(b, x, groups, s, t, eps))


def instance_norm(
    x: Operand, scale: Operand | None = None, bias: Operand | None = None, *, eps: float = 1e-5, name: str | None = None
) -> Tensor:
    """Normalize x[n, c, ...] over all but n and c, then scale and move by channel.  Raises E0401."""
    return made("instance_norm", name, [x, scale, bias], lambda b, x, s, t: instance_norm_of(b, x, s, t, eps))
