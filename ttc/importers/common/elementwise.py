"""Elementwise ops that frameworks have and dialect nn writes with others."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from ttc.dialects.core.ir.values import SSAValue
from ttc.importers.common.builder import Builder

Unary: TypeAlias = Callable[[Builder, SSAValue], SSAValue]
Binary: TypeAlias = Callable[[Builder, SSAValue, SSAValue], SSAValue]


def unary(op: str) -> Unary:
    """Return the nn op of that name."""

    def apply(b: Builder, x: SSAValue) -> SSAValue:
        return b.nn(op, x)

    return apply


def binary(op: str) -> Binary:
    """Return the nn op of that name; operands broadcast as numpy does."""

    def apply(b: Builder, x: SSAValue, y: SSAValue) -> SSAValue:
        return b.nn(op, x, y)

    return apply


def square(b: Builder, x: SSAValue) -> SSAValue:
    """Return the square x^2, elementwise."""
    return b.nn("mul", x, x)


def squared_difference(b: Builder, x: SSAValue, y: SSAValue) -> SSAValue:
    """Return (x - y)^2, elementwise; x and y broadcast."""
    return square(b, b.nn("sub", x, y))


def floor_div(b: Builder, x: SSAValue, y: SSAValue) -> SSAValue:
    """Return x / y rounded toward minus infinity."""
    if b.dtype(x).kind not in "iu":
        return b.nn("floor", b.nn("div", x, y))
    return b.nn("div", b.nn("sub", x, b.nn("mod", x, y, fmod=False)), y)


def floor_mod(b: Builder, x: SSAValue, y: SSAValue) -> SSAValue:
    """Return the remainder of x / y, which has the sign of y; x and y broadcast."""
    return b.nn("mod", x, y, fmod=False)


def tan(b: Builder, x: SSAValue) -> SSAValue:
    """Return sin x / cos x, elementwise."""
    return b.nn("div", b.nn("sin", x), b.nn("cos", x))


def erfc(b: Builder, x: SSAValue) -> SSAValue:
    """Return 1 - erf x, elementwise."""
    return b.nn("sub", b.scalar(1, x), b.nn("erf", x))


def expm1(b: Builder, x: SSAValue) -> SSAValue:
    """Return e^x - 1 = tanh(x / 2) (e^x + 1), which loses nothing near 0."""
    power, one = b.nn("exp", x), b.scalar(1, x)
    near = b.nn("mul", b.nn("tanh", b.nn("mul", x, b.scalar(0.5, x))), b.nn("add", power, one))
    return b.nn("where", b.nn("greater", b.nn("abs", x), one), b.nn("sub", power, one), near)


def log1p(b: Builder, x: SSAValue) -> SSAValue:
    """Return ln(1 + x) = 2 atanh(x / (2 + x)), exact near 0; elsewhere, where it is not taken, x is bounded so that its slope is."""
    two, bounded = b.scalar(2, x), b.nn("clip", x, min=-0.25, max=0.25)
    near = b.nn("mul", b.nn("atanh", b.nn("div", bounded, b.nn("add", bounded, two))), two)
    return b.nn("where", b.nn("less", b.nn("abs", x), b.scalar(0.25, x)), near, b.nn("log", b.nn("add", x, b.scalar(1, x))))


def atan2(b: Builder, y: SSAValue, x: SSAValue) -> SSAValue:
    """Return the angle of (x, y): that of y / x, moved by pi where x is negative; the sign of a zero y is not seen."""
    zero, pi = b.scalar(0, y), b.scalar(np.pi, y)
    angle = b.nn("atan", b.nn("div", y, x))
    turned = b.nn("add", angle, b.nn("where", b.nn("less", y, zero), b.nn("neg", pi), pi))
    behind = b.nn("less", x, zero)
    angle = b.nn("where", behind, turned, angle)
    sign = b.nn("sign", y)
    angle = b.nn("where", b.nn("equal", x, zero), b.nn("mul", sign, b.scalar(np.pi / 2, y)), angle)
    corner = b.nn("mul", b.nn("where", behind, b.scalar(3, y), b.scalar(1, y)), b.scalar(np.pi / 4, y))
    return b.nn("where", b.nn("and", b.nn("is_inf", y), b.nn("is_inf", x)), b.nn("mul", sign, corner), angle)


def select(b: Builder, condition: SSAValue, x: SSAValue, y: SSAValue) -> SSAValue:
    """Return x where the condition holds, else y; a condition of rank 1 chooses among their first dimension."""
    rank = b.rank(x)
    if b.rank(condition) == 1 and rank > 1:
        condition = b.reshape(condition, *b.shape(condition), *(1,) * (rank - 1))
    return b.nn("where", condition, x, y)


def prelu(b: Builder, x: SSAValue, slope: SSAValue) -> SSAValue:
    """Return x where it is positive, else slope * x; the slope broadcasts."""
    return b.nn("where", b.nn("less", x, b.scalar(0, x)), b.nn("mul", x, slope), x)
