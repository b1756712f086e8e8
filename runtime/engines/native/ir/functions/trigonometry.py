"""Circular and hyperbolic functions and their inverses."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ttc.runtime.engines.native.ir.elementwise import FLOAT32, elementwise

if TYPE_CHECKING:
    from ttc.runtime.engines.native.ir.values import Value
    from ttc.runtime.engines.native.ir.writer import Writer


@elementwise(FLOAT32)
def sin(f: Writer, x: Value) -> Value:
    """sin x."""
    from ttc.runtime.engines.native.ir.circular import sin

    return sin(f, x)


@elementwise(FLOAT32)
def cos(f: Writer, x: Value) -> Value:
    """cos x."""
    from ttc.runtime.engines.native.ir.circular import cos

    return cos(f, x)


@elementwise(FLOAT32)
def sinh(f: Writer, x: Value) -> Value:
    """(exp x - exp -x) / 2."""
    from ttc.runtime.engines.native.ir.circular import sinh

    return sinh(f, x)


@elementwise(FLOAT32)
def cosh(f: Writer, x: Value) -> Value:
    """(exp x + exp -x) / 2."""
    from ttc.runtime.engines.native.ir.circular import cosh

    return cosh(f, x)


@elementwise(FLOAT32)
def asin(f: Writer, x: Value) -> Value:
    """The angle in [-pi/2, pi/2] whose sine is x."""
    from ttc.runtime.engines.native.ir.circular import asin

    return asin(f, x)


@elementwise(FLOAT32)
def acos(f: Writer, x: Value) -> Value:
    """The angle in [0, pi] whose cosine is x."""
    from ttc.runtime.engines.native.ir.circular import acos

    return acos(f, x)


@elementwise(FLOAT32)
def atan(f: Writer, x: Value) -> Value:
    """The angle in [-pi/2, pi/2] whose tangent is x."""
    from ttc.runtime.engines.native.ir.circular import atan

    return atan(f, x)


@elementwise(FLOAT32)
def asinh(f: Writer, x: Value) -> Value:
    """The number whose hyperbolic sine is x."""
    from ttc.runtime.engines.native.ir.circular import asinh

    return asinh(f, x)


@elementwise(FLOAT32)
def acosh(f: Writer, x: Value) -> Value:
    """The number at least 0 whose hyperbolic cosine is x."""
    from ttc.runtime.engines.native.ir.circular import acosh

    return acosh(f, x)


@elementwise(FLOAT32)
def atanh(f: Writer, x: Value) -> Value:
    """The number whose hyperbolic tangent is x."""
    from ttc.runtime.engines.native.ir.circular import atanh

    return atanh(f, x)
