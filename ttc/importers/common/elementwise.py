"""Elementwise ops that frameworks have and dialect nn writes with others."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from xdsl.ir import SSAValue

from ttc.importers.common.builder import Builder

Unary: TypeAlias = Callable[[Builder, SSAValue], SSAValue]
Binary: TypeAlias = Callable[[Builder, SSAValue, SSAValue], SSAValue]


def unary(op: str) -> Unary:
    """The nn op of that name."""

    def apply(b: Builder, x: SSAValue) -> SSAValue:
        return b.nn(op, x)

    return apply


def binary(op: str) -> Binary:
    """The nn op of that name; operands broadcast as numpy does."""

    def apply(b: Builder, x: SSAValue, y: SSAValue) -> SSAValue:
        return b.nn(op, x, y)

    return apply


def square(b: Builder, x: SSAValue) -> SSAValue:
    """x^2."""
    return b.nn("mul", x, x)


def squared_difference(b: Builder, x: SSAValue, y: SSAValue) -> SSAValue:
    """(x - y)^2."""
    return square(b, b.nn("sub", x, y))


def floor_div(b: Builder, x: SSAValue, y: SSAValue) -> SSAValue:
    """Rounded toward minus infinity."""
    if b.dtype(x).kind not in "iu":
        return b.nn("floor", b.nn("div", x, y))
    return b.nn("div", b.nn("sub", x, b.nn("mod", x, y, fmod=False)), y)


def floor_mod(b: Builder, x: SSAValue, y: SSAValue) -> SSAValue:
    """The remainder has the sign of y."""
    return b.nn("mod", x, y, fmod=False)


def atan2(b: Builder, y: SSAValue, x: SSAValue) -> SSAValue:
    """atan(y / x), moved by pi to the half plane of x."""
    zero, pi = b.scalar(0, x), b.scalar(np.pi, x)
    flat = b.nn("equal", x, zero)
    angle = b.nn("atan", b.nn("div", y, b.nn("where", flat, b.scalar(1, x), x)))
    turn = b.nn("where", b.nn("less", y, zero), b.nn("neg", pi), pi)
    behind = b.nn("where", b.nn("less", x, zero), b.nn("add", angle, turn), angle)
    upright = b.nn("mul", b.nn("sign", y), b.scalar(np.pi / 2, x))
    return b.nn("where", flat, upright, behind)


def select(b: Builder, condition: SSAValue, x: SSAValue, y: SSAValue) -> SSAValue:
    """x where the condition holds, else y; a condition of rank 1 chooses among their first dimension."""
    rank = b.rank(x)
    if b.rank(condition) == 1 and rank > 1:
        condition = b.reshape(condition, *b.shape(condition), *(1,) * (rank - 1))
    return b.nn("where", condition, x, y)


def prelu(b: Builder, x: SSAValue, slope: SSAValue) -> SSAValue:
    """x where it is positive, else slope * x; the slope broadcasts."""
    return b.nn("where", b.nn("less", x, b.scalar(0, x)), b.nn("mul", x, slope), x)
