"""Elementwise functions in terms of those that Buda has.

A rule `(to, operands..., attributes...)` gives the function of its operands, in Float32 where the target has it.  Numbers that differ by
less than the least normal number count as equal.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf, isfinite, sqrt

import numpy as np
from xdsl.ir import SSAValue

from ttc.dialects.core.formats import FORMATS
from ttc.dialects.core.ir.attributes import WeightAttr
from ttc.dialects.core.ir.leaves import ConstantOp
from ttc.dialects.core.rule_tables import RuleTable
from ttc.dialects.tile.base import tile_of
from ttc.dialects.tile.eltwise import CastOp
from ttc.passes.declined import Declined
from ttc.passes.tile.expand.expansion import Expansion

HUGE = 2.0**127
"""A factor that brings every normal number to at least 1 in magnitude."""
WHOLE = 2.0**23
"""The number from which on Float32 holds whole numbers only."""
ERF_SCALE = 0.3275911
ERF = (0.254829592, -0.284496736, 1.421413741, -1.453152027, 1.061405429)
"""erf x = 1 - (a1 t + ... + a5 t^5) exp(-x^2), t = 1 / (1 + p x), for x >= 0 within 1.5e-7.  Abramowitz and Stegun 7.1.26."""
MAX_EXPONENT = 16
"""The largest whole exponent of a power that is computed by products."""

Function = Callable[..., SSAValue]


FUNCTIONS: RuleTable[Function] = RuleTable("expansion of a function")
"""What expresses an elementwise function by those that Buda has, by mnemonic of the nn op that the function is."""


# ---- helpers ---------------------------------------------------------------------------------------------------------------------


def floats(to: Expansion, x: SSAValue) -> SSAValue:
    """Return x in a format of floating point."""
    if FORMATS[tile_of(x).format].is_float:
        return x
    found = next((f for f in ("Float32", "Float16_b") if f in to.unit.target.formats), None)
    if found is None:
        raise Declined("it computes with integers")
    return to.emit(CastOp, x, format=found)


def require_floats(*xs: SSAValue) -> None:
    """Raises Declined where an operand is of integers."""
    if not all(FORMATS[tile_of(x).format].is_float for x in xs):
        raise Declined("it computes with integers")


def truth(to: Expansion, x: SSAValue) -> SSAValue:
    """Return 1 where x > 0, 0 elsewhere."""
    return to.map("clip", to.map("mul", floats(to, x), HUGE), min=0.0, max=1.0)


def difference(to: Expansion, a: SSAValue, b: SSAValue) -> SSAValue:
    """Return a - b in floating point, of unsigned integers too.  Raises Declined for those with a sign, which no fused op makes floats."""
    if FORMATS[tile_of(a).format].storage.kind == "i":
        raise Declined("it compares integers")
    if FORMATS[tile_of(a).format].storage.kind == "u":
        a, b = floats(to, a), floats(to, b)
    return floats(to, to.map("sub", a, b))


def inverted(to: Expansion, x: SSAValue) -> SSAValue:
    """Return 1 - x of a truth value."""
    return to.map("add", to.map("mul", x, -1.0), 1.0)


def least(to: Expansion, a: SSAValue, b: SSAValue | float) -> SSAValue:
    """Return min(a, b), elementwise, in primitives."""
    opposite = -b if isinstance(b, float) else to.map("mul", b, -1.0)
    return to.map("mul", to.map("maximum", to.map("mul", a, -1.0), opposite), -1.0)


def between(to: Expansion, x: SSAValue, low: float | None, high: float | None) -> SSAValue:
    """Return min(max(x, low), high), elementwise; a bound of None does not bind."""
    if low == 0 and high is not None and 0 < high < inf:
        return to.map("clip", x, min=0.0, max=high)
    if low is not None and low > -inf:
        x = to.map("relu", x) if low == 0 else to.map("maximum", x, low)
    return x if high is None or high == inf else least(to, x, high)


def erf_of_magnitude(to: Expansion, x: SSAValue) -> SSAValue:
    """Return erf |x|, elementwise, from a polynomial of a reciprocal."""
    size = to.map("abs", x)
    t = to.map("reciprocal", to.map("add", to.map("mul", size, ERF_SCALE), 1.0))
    *lower, total = [float(a) for a in ERF]
    series = to.map("mul", t, total)
    for factor in reversed(lower):
        series = to.map("mul", to.map("add", series, factor), t)
    tail = to.map("exp", to.map("mul", to.map("mul", size, size), -1.0))
    return to.map("add", to.map("mul", to.map("mul", series, tail), -1.0), 1.0)


def rounded(to: Expansion, x: SSAValue) -> SSAValue:
    """Return the nearest whole number, halves to even."""
    size = to.map("abs", x)
    small = least(to, size, WHOLE)
    whole = to.map("sub", to.map("add", small, WHOLE), WHOLE)
    return to.map("mul", to.map("add", whole, to.map("sub", size, small)), terms_sign(to, x))


def truncated(to: Expansion, x: SSAValue) -> SSAValue:
    """Return the whole number next to x toward zero."""
    return to.map("mul", terms_floor(to, to.map("abs", x)), terms_sign(to, x))


# ---- of one operand --------------------------------------------------------------------------------------------------------------


FUNCTIONS.add("neg", lambda to, x: to.map("mul", x, -1.0 if FORMATS[tile_of(x).format].is_float else -1))
FUNCTIONS.add("rsqrt", lambda to, x: to.map("reciprocal", to.map("sqrt", x)))


@FUNCTIONS.rule("sign")
def terms_sign(to: Expansion, x: SSAValue) -> SSAValue:
    require_floats(x)
    return between(to, to.map("mul", x, HUGE), -1.0, 1.0)


@FUNCTIONS.rule("round")
def terms_round(to: Expansion, x: SSAValue) -> SSAValue:
    require_floats(x)
    return rounded(to, x)


@FUNCTIONS.rule("floor")
def terms_floor(to: Expansion, x: SSAValue) -> SSAValue:
    require_floats(x)
    whole = rounded(to, x)
    return to.map("sub", whole, truth(to, to.map("sub", whole, x)))


@FUNCTIONS.rule("ceil")
def terms_ceil(to: Expansion, x: SSAValue) -> SSAValue:
    require_floats(x)
    whole = rounded(to, x)
    return to.map("add", whole, truth(to, to.map("sub", x, whole)))


FUNCTIONS.add("erf", lambda to, x: to.map("mul", erf_of_magnitude(to, x), terms_sign(to, x)))


@FUNCTIONS.rule("gelu")
def terms_gelu(to: Expansion, x: SSAValue, approximate: str = "none") -> SSAValue:
    """x (1 + erf(x / sqrt 2)) / 2, which is (x + |x| erf |x / sqrt 2|) / 2."""
    scaled = erf_of_magnitude(to, to.map("mul", x, 1 / sqrt(2)))
    return to.map("mul", to.map("add", x, to.map("mul", to.map("abs", x), scaled)), 0.5)


FUNCTIONS.add("silu", lambda to, x: to.map("mul", x, to.map("sigmoid", x)))


@FUNCTIONS.rule("softplus")
def terms_softplus(to: Expansion, x: SSAValue) -> SSAValue:
    tail = to.map("exp", to.map("mul", to.map("abs", x), -1.0))
    return to.map("add", to.map("relu", x), to.map("log", to.map("add", tail, 1.0)))


@FUNCTIONS.rule("hard_swish")
def terms_hard_swish(to: Expansion, x: SSAValue) -> SSAValue:
    gate = to.map("clip", to.map("add", x, 3.0), min=0.0, max=6.0)
    return to.map("mul", to.map("mul", x, gate), 1 / 6)


@FUNCTIONS.rule("hard_sigmoid")
def terms_hard_sigmoid(to: Expansion, x: SSAValue, alpha: float = 0.2, beta: float = 0.5) -> SSAValue:
    return to.map("clip", to.map("add", to.map("mul", x, float(alpha)), float(beta)), min=0.0, max=1.0)


@FUNCTIONS.rule("elu")
def terms_elu(to: Expansion, x: SSAValue, alpha: float = 1.0) -> SSAValue:
    below = to.map("add", to.map("exp", least(to, x, 0.0)), -1.0)
    return to.map("add", to.map("relu", x), to.map("mul", below, float(alpha)))


@FUNCTIONS.rule("clip")
def terms_clip(to: Expansion, x: SSAValue, min: float | None = None, max: float | None = None) -> SSAValue:
    require_floats(x)
    found = between(to, x, None if min is None else float(min), None if max is None else float(max))
    return to.map("identity", x) if found is x else found


FUNCTIONS.add("not", lambda to, x: inverted(to, floats(to, x)))


# ---- of two operands -------------------------------------------------------------------------------------------------------------


@FUNCTIONS.rule("div")
def terms_div(to: Expansion, a: SSAValue, b: SSAValue) -> SSAValue:
    require_floats(a, b)
    number = to.literal(b)
    if number is not None and isfinite(number) and number != 0 and isfinite(1 / number):
        return to.map("mul", a, 1 / number)
    return to.map("mul", a, to.map("reciprocal", b))


@FUNCTIONS.rule("minimum")
def terms_minimum(to: Expansion, a: SSAValue, b: SSAValue) -> SSAValue:
    require_floats(a, b)
    return least(to, a, b)


@FUNCTIONS.rule("pow")
def terms_pow(to: Expansion, a: SSAValue, b: SSAValue) -> SSAValue:
    require_floats(a, b)
    exponent = to.literal(b)
    if exponent is None or not isfinite(exponent):
        return _computed_power(to, a, b)
    if exponent == 0.5:
        return to.map("sqrt", a)
    if exponent != int(exponent) or abs(exponent) > MAX_EXPONENT:
        return to.map("exp", to.map("mul", to.map("log", a), float(exponent)))
    power = _whole_power(to, a, abs(int(exponent)))
    return to.map("reciprocal", power) if exponent < 0 else power


def _computed_power(to: Expansion, x: SSAValue, y: SSAValue) -> SSAValue:
    """x to the power of y: exp(y log |x|), and 1 where y is 0; of negative x, minus that for odd y, and NaN where y is not whole."""
    none = inverted(to, truth(to, to.map("abs", y)))
    magnitude = to.map("exp", to.map("mul", to.map("log", to.map("add", to.map("abs", x), none)), y))
    negative, bounded = truth(to, to.map("mul", x, -1.0)), to.map("clip", y, min=-2 * WHOLE, max=2 * WHOLE)
    odd = to.map("sub", bounded, to.map("mul", to.map("floor", to.map("mul", bounded, 0.5)), 2.0))
    broken = truth(to, to.map("sub", bounded, to.map("floor", bounded)))
    sign = inverted(to, to.map("mul", to.map("mul", negative, odd), 2.0))
    undefined = to.map("log", inverted(to, to.map("mul", to.map("mul", negative, broken), 2.0)))
    return to.map("add", to.map("mul", magnitude, sign), undefined)


def _whole_power(to: Expansion, x: SSAValue, exponent: int) -> SSAValue:
    """x times itself, by squares."""
    if exponent == 0:
        return to.map("add", to.map("mul", x, 0.0), 1.0)
    if exponent == 1:
        return to.map("identity", x)
    half = _whole_power(to, x, exponent // 2) if exponent > 3 else x
    square = to.map("mul", half, half)
    return to.map("mul", square, x) if exponent % 2 else square


@FUNCTIONS.rule("greater")
def terms_greater(to: Expansion, a: SSAValue, b: SSAValue) -> SSAValue:
    return truth(to, difference(to, a, b))


@FUNCTIONS.rule("less")
def terms_less(to: Expansion, a: SSAValue, b: SSAValue) -> SSAValue:
    return terms_greater(to, b, a)


FUNCTIONS.add("greater_equal", lambda to, a, b: inverted(to, terms_less(to, a, b)))
FUNCTIONS.add("less_equal", lambda to, a, b: inverted(to, terms_greater(to, a, b)))


@FUNCTIONS.rule("not_equal")
def terms_not_equal(to: Expansion, a: SSAValue, b: SSAValue) -> SSAValue:
    return truth(to, to.map("abs", difference(to, a, b)))


FUNCTIONS.add("equal", lambda to, a, b: inverted(to, terms_not_equal(to, a, b)))
FUNCTIONS.add("and", lambda to, a, b: to.map("mul", a, b))
FUNCTIONS.add("or", lambda to, a, b: to.map("maximum", a, b))
FUNCTIONS.add("xor", lambda to, a, b: to.map("abs", difference(to, a, b)))


# ---- of three operands -----------------------------------------------------------------------------------------------------------


@FUNCTIONS.rule("where")
def terms_where(to: Expansion, c: SSAValue, a: SSAValue, b: SSAValue) -> SSAValue:
    """c a + (1 - c) b where a and b are known to be finite; else max(min(a, p), min(b, -p)), p = inf where c, -inf elsewhere."""
    if not FORMATS[tile_of(a).format].is_float:
        chosen = to.emit(CastOp, c, format=tile_of(a).format)
        other = to.map("sub", to.map("maximum", chosen, 1), chosen)
        return to.map("add", to.map("mul", chosen, a), to.map("mul", other, b))
    chosen = floats(to, c)
    if _is_finite(to, a) and _is_finite(to, b):
        return to.map("add", to.map("mul", chosen, a), to.map("mul", inverted(to, chosen), b))
    bound = to.map("sub", to.map("log", chosen), to.map("log", inverted(to, chosen)))
    return to.map("maximum", least(to, a, bound), least(to, b, to.map("mul", bound, -1.0)))


def _is_finite(to: Expansion, x: SSAValue) -> bool:
    """Return whether a constant holds finite numbers only."""
    owner = x.owner
    if not isinstance(owner, ConstantOp):
        return False
    if not isinstance(owner.value, WeightAttr):
        return bool(np.isfinite(owner.value.array).all())
    value = to.unit.weights[owner.value.key.data].value() if owner.value.key.data in to.unit.weights else None
    return value is not None and bool(np.isfinite(value.astype(np.float64)).all())
