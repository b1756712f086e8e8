"""Circular and hyperbolic functions of float32, and their inverses."""

from __future__ import annotations

from math import log, pi
from typing import TYPE_CHECKING

from ttc.runtime.engines.native.ir.dtypes import Type

if TYPE_CHECKING:
    from ttc.runtime.engines.native.ir.values import Value
    from ttc.runtime.engines.native.ir.writer import Writer

_LN2 = log(2.0)
_HALF_PI = pi / 2
_HALF_PI_HIGH, _HALF_PI_LOW = 1.57079632673412561417, 6.07710050650619224932e-11
"""pi / 2 in two parts; products of the first with whole numbers below 2^20 are exact in float64."""
_NEAR = float(1 << 20)
"""Angles below it are reduced in float64, others with as many digits of 2 / pi as they have themselves."""
_TURNS = (0, 0x28BE60DB, 0x9391054A, 0x7F09D5F4, 0x7D4D3770, 0x36D8A566, 0x4F10E410, 0x7F9458EA)
"""1 / (2 pi): 32 bits a number, the first before the point."""

_SIN = (-0.0001951601152541116, 0.00833216868340969, -0.16666655242443085)
"""(sin r - r) / r^3 in r^2, |r| <= pi / 4: within 4e-9 of sin r, relatively."""
_COS = (2.4437007596134208e-05, -0.001388735487125814, 0.04166664555668831)
"""(cos r - 1 + r^2 / 2) / r^4 in r^2: within 1e-10."""
_ATAN = (
    0.001113790087401867,
    -0.007317963521927595,
    0.022539881989359856,
    -0.04468996077775955,
    0.0674159899353981,
    -0.08811092376708984,
    0.11058223992586136,
    -0.14279833436012268,
    0.1999967098236084,
    -0.333333283662796,
)
"""(atan r - r) / r^3 in r^2, |r| <= 1: within 4e-10 of atan r, relatively."""
_ASIN = (0.037565216422080994, 0.014402597211301327, 0.031817615032196045, 0.04451572149991989, 0.07500510662794113, 0.16666659712791443)
"""(asin r - r) / r^3 in r^2, |r| <= 1/2: within 3e-10."""


def sin(f: Writer, x: Value) -> Value:
    """Return sin x within 2 ulp, elementwise."""
    quarter, r = _quarters(f, x)
    found = _sine_or_cosine(f, quarter, r)
    return f.select(x.equals(0.0), x, found)


def cos(f: Writer, x: Value) -> Value:
    """Return cos x within 2 ulp, elementwise."""
    quarter, r = _quarters(f, x)
    return _sine_or_cosine(f, quarter + 1, r)


def atan(f: Writer, x: Value) -> Value:
    """Return the angle in [-pi/2, pi/2] whose tangent is x; 3 ulp."""
    size = f.unary("fabs", x)
    steep = size > 1.0
    r = f.select(steep, 1.0 / size, size)
    square = r * r
    angle = f.fma(r * square, f.polynomial(square, _ATAN), r)
    return f.with_sign(f.select(steep, _HALF_PI - angle, angle), x)


def asin(f: Writer, x: Value) -> Value:
    """Return the angle in [-pi/2, pi/2] whose sine is x; 3 ulp."""
    steep, angle = _asin_near(f, x)
    return f.with_sign(f.select(steep, f.fma(angle, -2.0, _HALF_PI), angle), x)


def acos(f: Writer, x: Value) -> Value:
    """Return the angle in [0, pi] whose cosine is x; 3 ulp."""
    steep, angle = _asin_near(f, x)
    double = angle + angle
    outside = f.select(x < 0.0, pi - double, double)
    return f.select(steep, outside, _HALF_PI - f.with_sign(angle, x))


def sinh(f: Writer, x: Value) -> Value:
    """(e^x - e^-x) / 2; 3 ulp."""
    size = f.unary("fabs", x)
    grown = f.expm1(size)
    near = 0.5 * (grown + grown / (grown + 1.0))
    return f.with_sign(f.select(size < 88.0, near, _half_exp(f, size)), x)


def cosh(f: Writer, x: Value) -> Value:
    """(e^x + e^-x) / 2; 3 ulp."""
    size = f.unary("fabs", x)
    grown = f.exp(size)
    return f.select(size < 88.0, f.fma(grown, 0.5, 0.5 / grown), _half_exp(f, size))


def asinh(f: Writer, x: Value) -> Value:
    """Return the number whose hyperbolic sine is x; 4 ulp."""
    size = f.unary("fabs", x)
    square = size * size
    near = f.log1p(size + square / (f.unary("sqrt", square + 1.0) + 1.0))
    return f.with_sign(f.select(size < 1e9, near, f.log(size) + _LN2), x)


def acosh(f: Writer, x: Value) -> Value:
    """Return the number at least 0 whose hyperbolic cosine is x; 4 ulp."""
    above = x - 1.0
    near = f.log1p(above + f.unary("sqrt", above * (above + 2.0)))
    return f.select(x < 1.0, f.constant(float("nan"), "f32"), f.select(x < 1e9, near, f.log(x) + _LN2))


def atanh(f: Writer, x: Value) -> Value:
    """Return the number whose hyperbolic tangent is x; 4 ulp."""
    size = f.unary("fabs", x)
    return f.with_sign(0.5 * f.log1p((size + size) / (1.0 - size)), x)


def _half_exp(f: Writer, x: Value) -> Value:
    """e^x / 2 for an x whose exponential may be too large."""
    root = f.exp(x * 0.5)
    return root * 0.5 * root


def _asin_near(f: Writer, x: Value) -> tuple[Value, Value]:
    """Return whether |x| > 1/2; asin |x|, or asin sqrt((1 - |x|) / 2) there."""
    size = f.unary("fabs", x)
    steep = size > 0.5
    square = f.select(steep, (1.0 - size) * 0.5, size * size)
    r = f.select(steep, f.unary("sqrt", square), size)
    return steep, f.fma(r * square, f.polynomial(square, _ASIN), r)


def _sine_or_cosine(f: Writer, quarter: Value, r: Value) -> Value:
    """sin(r + quarter pi / 2)."""
    square = r * r
    sine = f.fma(r * square, f.polynomial(square, _SIN), r)
    cosine = f.fma(square * square, f.polynomial(square, _COS), f.fma(square, -0.5, 1.0))
    chosen = f.select((quarter & 1).equals(0), sine, cosine)
    return f.select((quarter & 2).equals(0), chosen, -chosen)


def _quarters(f: Writer, x: Value) -> tuple[Value, Value]:
    """n (an i32, of which two bits count) and r so that x = n pi / 2 + r, |r| <= pi / 4; r is NaN where x is not finite."""
    wide = f.converted(x, "f64")
    turns = f.whole("rint", wide * (2 / pi))
    near = f.fma(turns, -_HALF_PI_LOW, f.fma(turns, -_HALF_PI_HIGH, wide))
    number, r = f.variable(f.converted(turns, "i32")), f.variable(f.converted(near, "f32"))
    far = f.inverted(f.unary("fabs", x) < _NEAR)
    with f.when(_any(f, far)):
        far_number, far_r = _quarters_of_large(f, x)
        number.set(f.select(far, far_number, number.get()))
        r.set(f.select(far, far_r, r.get()))
    return number.get(), r.get()


def _quarters_of_large(f: Writer, x: Value) -> tuple[Value, Value]:
    """Return quarters and rest of large angles by M. Payne and R. Hanek, "Radian reduction for trigonometric functions" (1983): of the
    product of x with 1 / (2 pi), only the bits that are no whole turns are computed.
    """
    bits = f.bits(f.unary("fabs", x), "u32")
    shift = f.smaller((bits >> 23) - (150 - 32), 136)  # of the mantissa as a whole number, in a row of bits that begins 32 before the point
    mantissa = f.converted((bits & 0x7FFFFF) | 0x800000, "u64")
    word, rest = shift >> 5, f.converted(shift & 31, "u64")
    a, b, c, d = (f.converted(_turn_word(f, word, i), "u64") for i in range(4))
    high = ((a << 32 | b) << rest) | (((c << 32) >> 1) >> (63 - rest))
    low = f.converted(f.converted(((c << 32 | d) << rest) >> 32, "u32"), "u64")
    turns = mantissa * high + ((mantissa * low) >> 32)
    number = (turns + (1 << 61)) >> 62
    part = f.bits(turns - (number << 62), "i64")
    r = f.converted(f.converted(part, "f64") * (_HALF_PI / 2.0**62), "f32")
    quarter = f.bits(f.converted(number, "u32"), "i32")
    below = x < 0.0
    r = f.select(below, -r, r)
    finite = f.unary("fabs", x) < float("inf")
    return f.select(below, -quarter, quarter), f.select(finite, r, f.constant(float("nan"), "f32", x.type.lanes))


def _turn_word(f: Writer, index: Value, offset: int) -> Value:
    """Word index + offset of _TURNS, for an index in [0, 4]."""
    found: Value = f.constant(_TURNS[offset + 4], "u32", index.type.lanes)
    for i in range(4):
        found = f.select(index.equals(i), _TURNS[offset + i], found)
    return found


def _any(f: Writer, truth: Value) -> Value:
    """Return whether a truth value holds in any lane."""
    lanes = truth.type.lanes
    return truth if lanes == 1 else f.intrinsic(f"llvm.vector.reduce.or.v{lanes}i1", Type("i1"), [truth])
