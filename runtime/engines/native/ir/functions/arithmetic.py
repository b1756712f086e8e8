"""Arithmetic, rounding to whole numbers, minima and maxima, powers of small whole exponents."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ttc.runtime.engines.native.ir.elementwise import ANY, FLOATS, INTEGERS, NUMBERS, elementwise

if TYPE_CHECKING:
    from ttc.runtime.engines.native.ir.values import Value
    from ttc.runtime.engines.native.ir.writer import Writer

SIGNED = NUMBERS - {"u8", "u16", "u32", "u64"}


@elementwise("identity", ANY)
def identity(f: Writer, x: Value) -> Value:
    """Return x as it is."""
    return x


@elementwise("add", NUMBERS)
def add(f: Writer, a: Value, b: Value) -> Value:
    """Return a + b, elementwise."""
    return a + b


@elementwise("sub", NUMBERS)
def sub(f: Writer, a: Value, b: Value) -> Value:
    """Return a - b, elementwise."""
    return a - b


@elementwise("mul", NUMBERS)
def mul(f: Writer, a: Value, b: Value) -> Value:
    """Return a * b, elementwise."""
    return a * b


@elementwise("div", NUMBERS)
def div(f: Writer, a: Value, b: Value) -> Value:
    """a / b; of integers toward zero, and 0 where b is 0."""
    return a / b if a.type.is_float else f.select(b.equals(0), 0, _quotient(f, a, b))


@elementwise("mod", NUMBERS - {"f64"})
def mod(f: Writer, a: Value, b: Value, *, fmod: bool) -> Value:
    """Remainder of a / b with the sign of b, or of a; of integers 0 where b is 0."""
    if a.type.is_float:
        from ttc.runtime.engines.native.ir.powers import remainder

        rest = remainder(f, a, b)
        if fmod:
            return rest
        moved = f.select((rest < 0.0) ^ (b < 0.0), rest + b, rest)
        return f.select(rest.equals(0.0), f.with_sign(f.constant(0.0, a.type.dtype), b), moved)
    rest = f.select(b.equals(0), 0, a - _quotient(f, a, b) * b)
    if fmod or not a.type.is_signed:
        return rest
    return f.select(rest.differs(0) & ((rest ^ b) < 0), rest + b, rest)


@elementwise("minimum", NUMBERS)
def minimum(f: Writer, a: Value, b: Value) -> Value:
    """Return the smaller; NaN if either is."""
    return f.minimum(a, b)


@elementwise("maximum", NUMBERS)
def maximum(f: Writer, a: Value, b: Value) -> Value:
    """Return the larger; NaN if either is."""
    return f.maximum(a, b)


@elementwise("abs", NUMBERS)
def abs_(f: Writer, x: Value) -> Value:
    """Return the magnitude |x|, elementwise."""
    if x.type.is_float:
        return f.unary("fabs", x)
    return f.select(x < 0, -x, x) if x.type.is_signed else x


@elementwise("neg", SIGNED)
def neg(f: Writer, x: Value) -> Value:
    """Return the negative -x, elementwise."""
    return -x


@elementwise("sign", NUMBERS)
def sign(f: Writer, x: Value) -> Value:
    """-1, 0 or 1; NaN for NaN."""
    positive = f.select(x > 0, f.constant(1, x.type.dtype, x.type.lanes), f.select(x.equals(0), 0, x))
    return f.select(x < 0, -1, positive) if x.type.is_float or x.type.is_signed else positive


@elementwise("sqrt", FLOATS)
def sqrt(f: Writer, x: Value) -> Value:
    """Return the square root of x, elementwise."""
    return f.unary("sqrt", x)


@elementwise("rsqrt", FLOATS)
def rsqrt(f: Writer, x: Value) -> Value:
    """Return 1 / sqrt x, elementwise."""
    return 1.0 / f.unary("sqrt", x)


@elementwise("reciprocal", FLOATS)
def reciprocal(f: Writer, x: Value) -> Value:
    """Return 1 / x, elementwise."""
    return 1.0 / x


@elementwise("floor", FLOATS)
def floor(f: Writer, x: Value) -> Value:
    """Return the largest whole number not above x."""
    return f.whole("floor", x)


@elementwise("ceil", FLOATS)
def ceil(f: Writer, x: Value) -> Value:
    """Return the smallest whole number not below x."""
    return f.whole("ceil", x)


@elementwise("round", FLOATS)
def round_(f: Writer, x: Value) -> Value:
    """Return the nearest whole number, halves to even."""
    return f.whole("rint", x)


@elementwise("bitwise_and", INTEGERS)
def bitwise_and(f: Writer, a: Value, b: Value) -> Value:
    """Return the bits that both a and b have, elementwise."""
    return a & b


@elementwise("bitwise_or", INTEGERS)
def bitwise_or(f: Writer, a: Value, b: Value) -> Value:
    """Return the bits that a or b has, elementwise."""
    return a | b


@elementwise("bitwise_xor", INTEGERS)
def bitwise_xor(f: Writer, a: Value, b: Value) -> Value:
    """Bits that exactly one has."""
    return a ^ b


def _quotient(f: Writer, a: Value, b: Value) -> Value:
    """a / b toward zero; a where b is 0.  No division that the CPU would stop at is made."""
    if not a.type.is_signed:
        return a // f.select(b.equals(0), 1, b)
    negated = b.equals(-1)
    return f.select(negated, -a, a // f.select(negated | b.equals(0), 1, b))
