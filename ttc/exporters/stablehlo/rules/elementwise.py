"""Elementwise ops: arithmetic, comparisons, functions, casts."""

from __future__ import annotations

import numpy as np

from ttc.exporters.stablehlo.literals import HloValue
from ttc.exporters.stablehlo.rules import HLO_RULES
from ttc.exporters.stablehlo.writer import HloWriter

SAME = {
    **{"add": "add", "sub": "subtract", "mul": "multiply", "minimum": "minimum", "maximum": "maximum"},
    **{"and": "and", "or": "or", "xor": "xor", "bitwise_and": "and", "bitwise_or": "or", "bitwise_xor": "xor"},
    **{"neg": "negate", "exp": "exponential", "log": "log", "sqrt": "sqrt", "rsqrt": "rsqrt", "sin": "sine", "cos": "cosine"},
    **{"floor": "floor", "ceil": "ceil", "round": "round_nearest_even", "not": "not", "tanh": "tanh", "sigmoid": "logistic"},
    **{name: f"chlo.{name}" for name in ("erf", "sinh", "cosh", "asin", "acos", "atan", "asinh", "acosh", "atanh")},
}
DIRECTIONS = {"equal": "EQ", "not_equal": "NE", "less": "LT", "less_equal": "LE", "greater": "GT", "greater_equal": "GE"}


@HLO_RULES.rule(*SAME)
def same(step: HloWriter) -> HloValue:
    """Write the op by StableHLO's name for it, or CHLO's."""
    return step.elementwise(SAME[step.mnemonic], *step.all())


@HLO_RULES.rule("identity", "stop_gradient")
def identity(step: HloWriter) -> HloValue:
    """Write nothing: the operand is the result."""
    return step.x()


@HLO_RULES.rule(*DIRECTIONS)
def compare(step: HloWriter) -> HloValue:
    """Write a comparison, which gives truth values."""
    return step.compare(DIRECTIONS[step.mnemonic], step.x(0), step.x(1))


@HLO_RULES.rule("where")
def where(step: HloWriter) -> HloValue:
    """Write a choice between elements."""
    return step.select(step.x(0), step.x(1), step.x(2))


@HLO_RULES.rule("abs", "sign")
def size_or_sign(step: HloWriter) -> HloValue:
    """Write the absolute value or the sign, which of numbers without a sign are the number, and 1 unless it is 0."""
    x = step.x()
    if x.dtype.kind == "u":
        return x if step.mnemonic == "abs" else step.with_number("minimum", x, 1)
    return step.make(step.mnemonic, x)


@HLO_RULES.rule("reciprocal")
def reciprocal(step: HloWriter) -> HloValue:
    """Write the quotient of one and x."""
    return step.make("divide", step.filled(1, step.x()), step.x())


@HLO_RULES.rule("is_nan")
def is_nan(step: HloWriter) -> HloValue:
    """Write a test that a number differs from itself."""
    return step.compare("NE", step.x(), step.x())


@HLO_RULES.rule("is_inf")
def is_inf(step: HloWriter) -> HloValue:
    """Write a test that the absolute value is infinite."""
    return step.compare("EQ", step.make("abs", step.x()), step.filled(np.inf, step.x()))


@HLO_RULES.rule("div")
def div(step: HloWriter) -> HloValue:
    """Write a quotient; that of an integer by 0 is 0."""
    made = step.elementwise("divide", step.x(0), step.x(1))
    return made if step.out_dtype.kind not in "iu" else _unless_zero(step, made)


@HLO_RULES.rule("mod")
def mod(step: HloWriter) -> HloValue:
    """Write a remainder; StableHLO's has the sign of a: where that of b counts and is another, b is added."""
    divisor = step.broadcast(step.x(1), step.out)
    rest = step.elementwise("remainder", step.x(0), divisor)
    if not step.attr("fmod") and step.out_dtype.kind != "u":
        zero = step.filled(0, rest)
        differ = step.elementwise("xor", step.compare("LT", rest, zero), step.compare("LT", divisor, zero))
        moved = step.make("and", differ, step.compare("NE", rest, zero))
        rest = step.select(moved, step.make("add", rest, divisor), rest)
    return rest if step.out_dtype.kind not in "iu" else _unless_zero(step, rest)


def _unless_zero(step: HloWriter, value: HloValue) -> HloValue:
    """Return the value, or 0 where the second operand is 0."""
    zero = step.filled(0, value)
    return step.select(step.compare("EQ", step.broadcast(step.x(1), value.shape), zero), zero, value)


@HLO_RULES.rule("pow")
def pow_(step: HloWriter) -> HloValue:
    """Write a power; integers with exponents that are floats, and floats with wider ones, are computed as the wider floats."""
    a, b = step.x(0), step.x(1)
    if b.dtype.kind == "f" and a.dtype.kind in "iu":
        wide = np.dtype(np.float64)
    else:
        wide = b.dtype if b.dtype == np.float64 else a.dtype
    return step.convert(step.elementwise("power", step.convert(a, wide), step.convert(b, wide)), a.dtype)


@HLO_RULES.rule("shift_left", "shift_right")
def shift(step: HloWriter) -> HloValue:
    """Write a shift; by less than 0, or by the width or more, it leaves 0 or copies of the sign."""
    a, b = (step.broadcast(step.x(index), step.out) for index in (0, 1))
    kind = "shift_right_arithmetic" if a.dtype.kind == "i" else "shift_right_logical"
    made = step.make("shift_left" if step.mnemonic == "shift_left" else kind, a, b)
    if a.dtype.kind == "u":
        return made
    beyond = step.compare("LT", b, step.filled(0, b))
    last = a.dtype.itemsize * 8 - 1
    left = step.filled(0, a) if step.mnemonic == "shift_left" else step.make(kind, a, step.filled(last, a))
    return step.select(beyond, left, made)


@HLO_RULES.rule("cast")
def cast(step: HloWriter) -> HloValue:
    """Write a conversion between dtypes."""
    return step.convert(step.x(), step.out_dtype)


@HLO_RULES.rule("bitcast")
def bitcast(step: HloWriter) -> HloValue:
    """Write the same bits as another dtype."""
    return step.make("bitcast_convert", step.x(), dtype=step.out_dtype)
