"""Gradients of elementwise ops of two operands, and of the choice between two."""

from __future__ import annotations

from ttc.dialects.nn.formulas import Formula, Truth
from ttc.dialects.nn.gradients.base import Cotangents, GradientSite, gradient, no_gradient, unbroadcast
from ttc.dialects.nn.gradients.elementwise import broadcasting
from ttc.dialects.nn.making import OpMaker

no_gradient(
    "its result is a truth value",
    *("nn.equal", "nn.not_equal", "nn.less", "nn.less_equal", "nn.greater", "nn.greater_equal", "nn.and", "nn.or", "nn.xor"),
)


def _itself(dy: Formula, a: Formula, b: Formula, y: Formula, **_: bool) -> Formula:
    return dy


def _of_larger(dy: Formula, a: Formula, b: Formula, y: Formula) -> Formula:
    """Return the cotangent of a where it is larger than b, half of it where they are equal."""
    return (a < b).choose(0.0, a.equals(b).choose(dy * 0.5, dy))


def _of_remainder(dy: Formula, a: Formula, b: Formula, y: Formula, *, fmod: bool) -> Formula:
    """Return the cotangent of the divisor: minus dy times the whole quotient."""
    return dy * ((y - a) / b).of("round")


broadcasting("nn.add", _itself, _itself)
broadcasting("nn.sub", _itself, lambda dy, a, b, y: -dy)
broadcasting("nn.mul", lambda dy, a, b, y: dy * b, lambda dy, a, b, y: dy * a)
broadcasting("nn.div", lambda dy, a, b, y: dy / b, lambda dy, a, b, y: -(dy * (y / b)))
broadcasting("nn.maximum", _of_larger, lambda dy, a, b, y: _of_larger(dy, b, a, y))
broadcasting("nn.minimum", lambda dy, a, b, y: _of_larger(dy, b, a, y), _of_larger)
broadcasting("nn.mod", _itself, _of_remainder)


@gradient("nn.pow")
def power(b: OpMaker, site: GradientSite) -> Cotangents:
    """Return cotangents of base and exponent: dy b a^(b - 1), 0 where b is; dy y ln a, 0 where a is and b is not negative."""
    dy, base, y = (Formula(b, v) for v in (site.dy, site.operand(0), site.y))
    exponent = Formula(b, b.cast(site.operand(1), b.dtype(site.operand(0))))
    of_base = of_exponent = None
    if site.wanted[0]:
        slope = exponent.equals(0.0).choose(0.0, exponent * base ** (exponent - 1.0))
        of_base = unbroadcast(b, (dy * slope).value, site.operand(0))
    if site.wanted[1]:
        slope = (base.equals(0.0) & (exponent >= 0.0)).choose(0.0, y * base.of("log"))
        of_exponent = b.cast(unbroadcast(b, (dy * slope).value, site.operand(1)), b.dtype(site.operand(1)))
    return [of_base, of_exponent]


@gradient("nn.where")
def where(b: OpMaker, site: GradientSite) -> Cotangents:
    """Return the cotangents of both choices: dy where the operand was chosen, 0 elsewhere."""
    choice, dy = Truth(b, site.operand(0)), Formula(b, site.dy)
    return [
        None,
        unbroadcast(b, choice.choose(dy, 0.0).value, site.operand(1)) if site.wanted[1] else None,
        unbroadcast(b, choice.choose(0.0, dy).value, site.operand(2)) if site.wanted[2] else None,
    ]
