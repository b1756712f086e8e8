"""Powers and remainders of float32, through float64: two operands whose exponents are far apart need the digits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from llvmlite import ir

from ttc.runtime.engines.native.ir.values import Value

if TYPE_CHECKING:
    from ttc.runtime.engines.native.ir.writer import Writer

_INFINITY = float("inf")
_LOG2_E = 1.4426950408889634
_LN2 = 0.6931471805599453
_ATANH = tuple(2.0 * _LOG2_E / (2 * k + 1) for k in reversed(range(9)))
"""log2(1 + r) / s in s^2, s = r / (2 + r), |s| <= 0.172: Taylor's series, within 1e-14."""
_EXP = tuple(1.0 / n for n in (39916800, 3628800, 362880, 40320, 5040, 720, 120, 24, 6, 2, 1, 1))
"""e^r, |r| <= ln 2 / 2: Taylor's series, within 1e-14."""
_SQRT_HALF_BITS = 0x3FE6A09E667F3BCD
_SPAN = 280
"""2^_SPAN exceeds any quotient of float32 numbers."""


def _root(f: Writer, a: Value) -> Value:
    """a^(1/2) as C has it: unlike the square root, 0 and infinity where a is -0 and -infinity."""
    return f.select(a.equals(-_INFINITY), _INFINITY, f.unary("sqrt", a) + 0.0)


_SHORT: Mapping[float, Callable[[Writer, Value], Value]] = {
    1.0: lambda _, a: a,
    2.0: lambda _, a: a * a,
    3.0: lambda _, a: a * a * a,
    -1.0: lambda _, a: 1.0 / a,
    0.5: lambda f, a: f.unary("sqrt", a),  # as numpy has it, also of -0 and -infinity
    -0.5: lambda f, a: 1.0 / _root(f, a),
}
"""Powers of exponents that are known, where there is less to do."""


def power(f: Writer, a: Value, b: Value) -> Value:
    """Return a^b for a float32 a and a real b within 1 ulp; zeros, infinities, NaN and signs as C's pow has them."""
    short = _SHORT.get(_constant(b) or 0.0)
    if short is not None:
        return short(f, a)
    b = f.converted(b, "f32")
    lanes = max(a.type.lanes, b.type.lanes)
    a, b = f.spread(a, lanes), f.spread(b, lanes)
    size, wide = f.unary("fabs", a), f.converted(b, "f64")
    logarithm = f.select(size.equals(0.0), -_INFINITY, f.select(size < _INFINITY, _log2(f, f.converted(size, "f64")), _INFINITY))
    product = f.select(size.equals(1.0), 0.0, logarithm * wide)  # 1 to an infinite power is 1
    found = f.converted(_exp2(f, product), "f32")
    is_whole = f.whole("trunc", b).equals(b)
    half = b * 0.5
    is_odd = is_whole & f.whole("trunc", half).differs(half)
    below = a < 0.0
    found = f.select(is_odd, f.with_sign(found, a), found)
    impossible = below & f.inverted(is_whole) & (size < _INFINITY)
    found = f.select(impossible | a.differs(a) | b.differs(b), f.constant(float("nan"), "f32", a.type.lanes), found)
    return f.select(b.equals(0.0) | a.equals(1.0), 1.0, found)


def remainder(f: Writer, a: Value, b: Value) -> Value:
    """Return a - n b for the whole number n nearest to a / b toward zero, with the sign of a; exact.

    Long division: each step finds so many bits of n that its product with b is exact.
    """
    bits = 48 if f.cpu.has("fma") else 24
    lanes = max(a.type.lanes, b.type.lanes)
    rest, divisor = (f.unary("fabs", f.converted(f.spread(x, lanes), "f64")) for x in (a, b))
    for shift in range(-(-_SPAN // bits) * bits, -1, -bits):
        step = divisor * 2.0**shift
        rest = f.fma(-f.whole("trunc", rest / step), step, rest)
        rest = f.select(rest < 0.0, rest + step, rest)
        rest = f.select(rest >= step, rest - step, rest)
    rest = f.with_sign(f.converted(rest, "f32"), a)
    small = f.unary("fabs", a) < f.unary("fabs", b)
    return f.select(small, a, rest)


def _log2(f: Writer, x: Value) -> Value:
    """log2 x of a positive finite float64; within 1e-14 (1 + |log2 x|)."""
    bits = f.bits(x, "i64")
    exponent = (bits - _SQRT_HALF_BITS) >> 52
    r = f.bits(bits - (exponent << 52), "f64") - 1.0
    s = r / (r + 2.0)
    return f.fma(s, f.polynomial(s * s, _ATANH), f.converted(exponent, "f64"))


def _exp2(f: Writer, x: Value) -> Value:
    """2^x as a float64; beyond [-300, 300] the nearest that is inside, which float32 rounds to 0 or infinity."""
    x = f.larger(-300.0, f.smaller(300.0, x))
    whole = f.whole("rint", x)
    scale = f.bits(f.bits(whole + (float(3 << 51) + 1023.0), "i64") << 52, "f64")
    return f.polynomial((x - whole) * _LN2, _EXP) * scale


def _constant(value: Value) -> float | None:
    """Return the number that a value is known to be."""
    if not isinstance(value.llvm, ir.Constant):
        return None
    found = value.llvm.constant
    found = found[0].constant if isinstance(found, list) and value.type.lanes > 1 else found
    return float(found) if isinstance(found, int | float) else None
