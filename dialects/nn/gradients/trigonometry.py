"""Gradients of hyperbolic functions, and of the inverses of circular and hyperbolic ones."""

from __future__ import annotations

from ttc.dialects.nn.formulas import Formula
from ttc.dialects.nn.gradients.elementwise import unary


@unary("nn.sinh")
def sinh(dy: Formula, x: Formula, y: Formula) -> Formula:
    """Return the cotangent of x for y = sinh x: dy cosh x."""
    return dy * x.of("cosh")


@unary("nn.cosh")
def cosh(dy: Formula, x: Formula, y: Formula) -> Formula:
    """Return the cotangent of x for y = cosh x: dy sinh x."""
    return dy * x.of("sinh")


@unary("nn.asin")
def asin(dy: Formula, x: Formula, y: Formula) -> Formula:
    """Return the cotangent of x for y = asin x: dy / sqrt(1 - x^2)."""
    return dy * (1.0 - x * x).of("rsqrt")


@unary("nn.acos")
def acos(dy: Formula, x: Formula, y: Formula) -> Formula:
    """Return the cotangent of x for y = acos x: -dy / sqrt(1 - x^2)."""
    return -(dy * (1.0 - x * x).of("rsqrt"))


@unary("nn.atan")
def atan(dy: Formula, x: Formula, y: Formula) -> Formula:
    """Return the cotangent of x for y = atan x: dy / (1 + x^2)."""
    return dy / (x * x + 1.0)


@unary("nn.asinh")
def asinh(dy: Formula, x: Formula, y: Formula) -> Formula:
    """Return the cotangent of x for y = asinh x: dy / sqrt(x^2 + 1)."""
    return dy * (x * x + 1.0).of("rsqrt")


@unary("nn.acosh")
def acosh(dy: Formula, x: Formula, y: Formula) -> Formula:
    """Return the cotangent of x for y = acosh x: dy / sqrt(x^2 - 1)."""
    return dy * ((x - 1.0) * (x + 1.0)).of("rsqrt")


@unary("nn.atanh")
def atanh(dy: Formula, x: Formula, y: Formula) -> Formula:
    """Return the cotangent of x for y = atanh x: dy / (1 - x^2)."""
    return dy / (1.0 - x * x)
