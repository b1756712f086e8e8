"""Elementwise ops: of one tensor, of two that broadcast as numpy does, and of three."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import DTypeLike

from ttc.dialects.core.ir.values import SSAValue
from ttc.importers.common import elementwise as rules
from ttc.importers.common.builder import Builder
from ttc.ops.tracing import Operand, Rule, Tensor, made


class Unary(Protocol):
    """A function of one tensor."""

    def __call__(self, x: Operand, *, name: str | None = None) -> Tensor: ...


class Binary(Protocol):
    """A function of two tensors, or of a tensor and a number."""

    def __call__(self, x: Operand, y: Operand, *, name: str | None = None) -> Tensor: ...


def _unary(op: str, rule: Rule, doc: str) -> Unary:
    def apply(x: Operand, *, name: str | None = None) -> Tensor:
        return made(op, name, [x], rule)

    apply.__name__ = apply.__qualname__ = op
    apply.__doc__ = doc
    return apply


def _binary(op: str, rule: Rule, doc: str) -> Binary:
    def apply(x: Operand, y: Operand, *, name: str | None = None) -> Tensor:
        return made(op, name, [x, y], rule)

    apply.__name__ = apply.__qualname__ = op
    apply.__doc__ = doc
    return apply


abs = _unary("abs", rules.unary("abs"), "Return |x|.")  # noqa: A001 - named as numpy names it
acos = _unary("acos", rules.unary("acos"), "Return the arc cosine of x, in radians.")
acosh = _unary("acosh", rules.unary("acosh"), "Return the inverse hyperbolic cosine of x.")
asin = _unary("asin", rules.unary("asin"), "Return the arc sine of x, in radians.")
asinh = _unary("asinh", rules.unary("asinh"), "Return the inverse hyperbolic sine of x.")
atan = _unary("atan", rules.unary("atan"), "Return the arc tangent of x, in radians.")
atanh = _unary("atanh", rules.unary("atanh"), "Return the inverse hyperbolic tangent of x.")
ceil = _unary("ceil", rules.unary("ceil"), "Round x up to whole numbers.")
cos = _unary("cos", rules.unary("cos"), "Return the cosine of x, in radians.")
cosh = _unary("cosh", rules.unary("cosh"), "Return the hyperbolic cosine of x.")
erf = _unary("erf", rules.unary("erf"), "Return the error function of x.")
erfc = _unary("erfc", rules.erfc, "Return 1 - erf x.")
exp = _unary("exp", rules.unary("exp"), "Return e^x.")
expm1 = _unary("expm1", rules.expm1, "Return e^x - 1, exact near 0.")
floor = _unary("floor", rules.unary("floor"), "Round x down to whole numbers.")
hard_swish = _unary("hard_swish", rules.unary("hard_swish"), "Return x clip(x / 6 + 1/2, 0, 1).")
identity = _unary("identity", rules.unary("identity"), "Return x itself.")
is_inf = _unary("is_inf", rules.unary("is_inf"), "Tell where x is infinite.")
is_nan = _unary("is_nan", rules.unary("is_nan"), "Tell where x is no number.")
log = _unary("log", rules.unary("log"), "Return the natural logarithm of x.")
log1p = _unary("log1p", rules.log1p, "Return ln(1 + x), exact near 0.")
logical_not = _unary("logical_not", rules.unary("not"), "Return whether x, a boolean, is false.")
neg = _unary("neg", rules.unary("neg"), "Return -x.")
reciprocal = _unary("reciprocal", rules.unary("reciprocal"), "Return 1 / x.")
relu = _unary("relu", rules.unary("relu"), "Return the larger of x and 0.")
round = _unary("round", rules.unary("round"), "Round x to whole numbers, halves to even.")  # noqa: A001
rsqrt = _unary("rsqrt", rules.unary("rsqrt"), "Return 1 / sqrt x.")
sigmoid = _unary("sigmoid", rules.unary("sigmoid"), "Return 1 / (1 + e^-x).")
sign = _unary("sign", rules.unary("sign"), "Return -1, 0 or 1 as x is negative, 0 or positive.")
silu = _unary("silu", rules.unary("silu"), "Return x / (1 + e^-x).")
sin = _unary("sin", rules.unary("sin"), "Return the sine of x, in radians.")
sinh = _unary("sinh", rules.unary("sinh"), "Return the hyperbolic sine of x.")
softplus = _unary("softplus", rules.unary("softplus"), "Return ln(1 + e^x).")
sqrt = _unary("sqrt", rules.unary("sqrt"), "Return the square root of x.")
square = _unary("square", rules.square, "Return x^2.")
tan = _unary("tan", rules.tan, "Return the tangent of x, in radians.")
tanh = _unary("tanh", rules.unary("tanh"), "Return the hyperbolic tangent of x.")

add = _binary("add", rules.binary("add"), "Return x + y.")
atan2 = _binary("atan2", rules.atan2, "Return the angle of the point (y, x): that of x / y, moved by pi where y is negative.")
div = _binary("div", rules.binary("div"), "Return x / y; integers are rounded toward 0.")
equal = _binary("equal", rules.binary("equal"), "Tell where x is y.")
floor_div = _binary("floor_div", rules.floor_div, "Return x / y rounded down.")
floor_mod = _binary("floor_mod", rules.floor_mod, "Return the remainder of x / y rounded down; it has the sign of y.")
greater = _binary("greater", rules.binary("greater"), "Tell where x is more than y.")
greater_equal = _binary("greater_equal", rules.binary("greater_equal"), "Tell where x is y or more.")
less = _binary("less", rules.binary("less"), "Tell where x is less than y.")
less_equal = _binary("less_equal", rules.binary("less_equal"), "Tell where x is y or less.")
logical_and = _binary("logical_and", rules.binary("and"), "Tell where x and y, booleans, both hold.")
logical_or = _binary("logical_or", rules.binary("or"), "Tell where x or y, booleans, hold.")
logical_xor = _binary("logical_xor", rules.binary("xor"), "Tell where one of x and y, booleans, holds.")
maximum = _binary("maximum", rules.binary("maximum"), "Return the larger of x and y.")
minimum = _binary("minimum", rules.binary("minimum"), "Return the smaller of x and y.")
mul = _binary("mul", rules.binary("mul"), "Return x y.")
not_equal = _binary("not_equal", rules.binary("not_equal"), "Tell where x is not y.")
pow = _binary("pow", rules.binary("pow"), "Return x^y.")  # noqa: A001
prelu = _binary("prelu", rules.prelu, "Return x where it is positive, else x y.")
squared_difference = _binary("squared_difference", rules.squared_difference, "Return (x - y)^2.")
sub = _binary("sub", rules.binary("sub"), "Return x - y.")


def heaviside(x: Operand, y: Operand, *, name: str | None = None) -> Tensor:
    """Return 0 where x is negative, 1 where it is positive, and y where it is 0."""

    def rule(b: Builder, x: SSAValue, y: SSAValue) -> SSAValue:
        zero, one = b.scalar(0, x), b.scalar(1, x)
        step = b.nn("where", b.nn("greater", x, zero), one, zero)
        return b.nn("where", b.nn("equal", x, zero), y, step)

    return made("heaviside", name, [x, y], rule)


def gelu(x: Operand, *, approximate: str = "none", name: str | None = None) -> Tensor:
    """Return x times the normal distribution function of x; approximate: `tanh` takes the formula of a tanh."""
    kind = "gelu_tanh" if approximate == "tanh" else "gelu"
    return made("gelu", name, [x], lambda b, x: b.nn(kind, x) if kind == "gelu_tanh" else b.nn(kind, x, approximate=approximate))


def elu(x: Operand, *, alpha: float = 1.0, name: str | None = None) -> Tensor:
    """Return x where it is positive, else alpha (e^x - 1)."""
    return made("elu", name, [x], lambda b, x: b.nn("elu", x, alpha=float(alpha)))


def leaky_relu(x: Operand, *, alpha: float = 0.01, name: str | None = None) -> Tensor:
    """Return x where it is positive, else alpha x."""
    return made("leaky_relu", name, [x], lambda b, x: b.nn("leaky_relu", x, alpha=float(alpha)))


def hard_sigmoid(x: Operand, *, alpha: float = 1 / 6, beta: float = 0.5, name: str | None = None) -> Tensor:
    """Return alpha x + beta, brought into 0 to 1."""
    return made("hard_sigmoid", name, [x], lambda b, x: b.nn("hard_sigmoid", x, alpha=float(alpha), beta=float(beta)))


def clip(x: Operand, min: float, max: float, *, name: str | None = None) -> Tensor:  # noqa: A002 - named as numpy names them
    """Return x brought into min to max."""
    return made("clip", name, [x], lambda b, x: b.nn("clip", x, min=float(min), max=float(max)))


def cast(x: Operand, dtype: DTypeLike, *, name: str | None = None) -> Tensor:
    """Return x in another dtype of numpy or ml_dtypes."""
    return made("cast", name, [x], lambda b, x: b.cast(x, np.dtype(dtype)))


def dropout(x: Operand, p: float = 0.5, *, name: str | None = None) -> Tensor:
    """Return x with elements set to 0 with probability p, the others divided by 1 - p; a new draw each run.

    The states `random.seed` and `random.offset` say what is drawn.
    """
    return made("dropout", name, [x], lambda b, x: b.dropout(x, p))


def where(condition: Operand, x: Operand, y: Operand, *, name: str | None = None) -> Tensor:
    """Return x where the condition, a boolean, holds, else y; all three broadcast."""
    return made("where", name, [x, y, condition], lambda b, x, y, c: b.nn("where", b.cast(c, np.dtype(np.bool_)), x, y))
