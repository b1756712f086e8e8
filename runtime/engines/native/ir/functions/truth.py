"""Comparisons, truth values and choices as code for vectors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ttc.runtime.engines.native.ir.elementwise import ANY, FLOATS, elementwise, joined

if TYPE_CHECKING:
    from ttc.runtime.engines.native.ir.values import Value
    from ttc.runtime.engines.native.ir.writer import Writer


@elementwise("equal", ANY)
def equal(f: Writer, a: Value, b: Value) -> Value:
    """Return whether a = b, elementwise."""
    return a.equals(b)


@elementwise("not_equal", ANY)
def not_equal(f: Writer, a: Value, b: Value) -> Value:
    """Return whether a != b, elementwise."""
    return a.differs(b)


@elementwise("less", ANY)
def less(f: Writer, a: Value, b: Value) -> Value:
    """Return whether a < b, elementwise."""
    return a < b


@elementwise("less_equal", ANY)
def less_equal(f: Writer, a: Value, b: Value) -> Value:
    """Return whether a <= b, elementwise."""
    return a <= b


@elementwise("greater", ANY)
def greater(f: Writer, a: Value, b: Value) -> Value:
    """Return whether a > b, elementwise."""
    return a > b


@elementwise("greater_equal", ANY)
def greater_equal(f: Writer, a: Value, b: Value) -> Value:
    """Return whether a >= b, elementwise."""
    return a >= b


@elementwise("and", ANY, joined=False)
def and_(f: Writer, a: Value, b: Value) -> Value:
    """Return whether both a and b hold, elementwise."""
    return f.converted(a, "i1") & f.converted(b, "i1")


@elementwise("or", ANY, joined=False)
def or_(f: Writer, a: Value, b: Value) -> Value:
    """Return whether a or b holds, elementwise."""
    return f.converted(a, "i1") | f.converted(b, "i1")


@elementwise("xor", ANY, joined=False)
def xor(f: Writer, a: Value, b: Value) -> Value:
    """a or b, but not both."""
    return f.converted(a, "i1") ^ f.converted(b, "i1")


@elementwise("not", ANY)
def not_(f: Writer, x: Value) -> Value:
    """Return whether x does not hold, elementwise."""
    return f.inverted(f.converted(x, "i1"))


@elementwise("is_nan", FLOATS)
def is_nan(f: Writer, x: Value) -> Value:
    """Return whether x is NaN, elementwise."""
    return x.differs(x)


@elementwise("is_inf", FLOATS)
def is_inf(f: Writer, x: Value) -> Value:
    """Return whether x is infinite, elementwise."""
    return f.unary("fabs", x).equals(float("inf"))


@elementwise("where", ANY, joined=False)
def where(f: Writer, c: Value, a: Value, b: Value) -> Value:
    """a where c holds, b elsewhere."""
    a, b = joined([a, b])
    return f.select(f.converted(c, "i1"), a, b)
