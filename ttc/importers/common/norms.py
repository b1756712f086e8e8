"""Normalizations of x[n, c, ...] that scale and move by channel."""

from __future__ import annotations

from math import prod

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.values import SSAValue
from ttc.importers.common.builder import Builder

Maybe = SSAValue | None


def by_channel(b: Builder, x: SSAValue, weight: Maybe, bias: Maybe) -> SSAValue:
    """Return x[n, c, ...] scaled and moved by channel."""
    column = (b.shape(x)[1], *(1,) * (b.rank(x) - 2))
    x = x if weight is None else b.nn("mul", x, b.reshape(weight, *column))
    return x if bias is None else b.nn("add", x, b.reshape(bias, *column))


def grouped_norm(b: Builder, x: SSAValue, groups: int, weight: Maybe, bias: Maybe, eps: float) -> SSAValue:
    """Return x[n, c, ...] normalized over c / groups channels at a time, then scaled by channel. Raises E0402."""
    shape = b.shape(x)
    if groups < 1 or len(shape) < 2 or shape[1] % groups:
        raise Error("E0402", f"{groups} groups do not divide the channels of {b.spec(x)}")
    grouped = b.reshape(x, shape[0], groups, prod(shape[1:]) // groups)
    return by_channel(b, b.reshape(b.nn("layer_norm", grouped, None, None, axis=2, eps=float(eps)), *shape), weight, bias)


def instance_norm_of(b: Builder, x: SSAValue, weight: Maybe, bias: Maybe, eps: float) -> SSAValue:
    """Return x[n, c, ...] normalized over all dimensions but n and c, then scaled by channel."""
    return by_channel(b, b.nn("layer_norm", x, None, None, axis=2, eps=float(eps)), weight, bias)
