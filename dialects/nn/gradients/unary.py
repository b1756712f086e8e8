"""Gradients of elementwise ops of one operand.  Rounding and signs are constant almost everywhere: their gradients are 0."""

from __future__ import annotations

from math import pi, sqrt
from typing import Any

from xdsl.ir import SSAValue

from ttc.dialects.nn.base import NNOp
from ttc.dialects.nn.formulas import Formula
from ttc.dialects.nn.gradients.base import Cotangents, GradientSite, gradient, no_gradient
from ttc.dialects.nn.gradients.elementwise import unary
from ttc.dialects.nn.gradients.reverse import is_differentiable
from ttc.dialects.nn.making import OpMaker

no_gradient("its result is a truth value", "nn.not", "nn.is_nan", "nn.is_inf")


@unary("nn.abs")
def absolute(dy: Formula, x: Formula, y: Formula) -> Formula:
    """Return the cotangent of x for y = |x|: dy times the sign of x, 0 at 0."""
    return dy * x.of("sign")


@unary("nn.neg")
def neg(dy: Formula, x: Formula, y: Formula) -> Formula:
    """Return the cotangent of x for y = -x: -dy."""
    return -dy


@unary("nn.exp")
def exp(dy: Formula, x: Formula, y: Formula) -> Formula:
    """Return the cotangent of x for y = e^x: dy y."""
    return dy * y


@unary("nn.log")
def log(dy: Formula, x: Formula, y: Formula) -> Formula:
    """Return the cotangent of x for y = ln x: dy / x."""
    return dy / x


@gradient("nn.sqrt")
def square_root(b: OpMaker, site: GradientSite) -> Cotangents:
    """Return the cotangent of x for y = sqrt x: dy / (2 y).

    At 0 that is infinite, and not a number for what x is computed from; for the root of a sum or mean, as norms and deviations are, it is
    0 there: one of the norm's subgradients, and PyTorch's.
    """
    dy, y = Formula(b, site.dy), Formula(b, site.y)
    found = dy / (y * 2.0)
    return [(y.equals(0.0).choose(0.0, found) if _is_sum(site.operand(0)) else found).value]


def _is_sum(value: SSAValue) -> bool:
    """Return whether a value is a sum or mean of others, or a multiple of one."""
    owner = value.owner
    if isinstance(owner, NNOp) and owner.name in ("nn.div", "nn.mul", "nn.reshape"):
        owner = owner.operands[0].owner
    return isinstance(owner, NNOp) and owner.name in ("nn.reduce_sum", "nn.reduce_mean")


@unary("nn.rsqrt")
def rsqrt(dy: Formula, x: Formula, y: Formula) -> Formula:
    """Return the cotangent of x for y = 1 / sqrt x: -dy y^3 / 2."""
    return dy * -0.5 * (y * y * y)


@unary("nn.reciprocal")
def reciprocal(dy: Formula, x: Formula, y: Formula) -> Formula:
    """Return the cotangent of x for y = 1 / x: -dy y^2."""
    return -(dy * y * y)


@unary("nn.sin")
def sin(dy: Formula, x: Formula, y: Formula) -> Formula:
    """Return the cotangent of x for y = sin x: dy cos x."""
    return dy * x.of("cos")


@unary("nn.cos")
def cos(dy: Formula, x: Formula, y: Formula) -> Formula:
    """Return the cotangent of x for y = cos x: -dy sin x."""
    return -(dy * x.of("sin"))


@unary("nn.erf")
def erf(dy: Formula, x: Formula, y: Formula) -> Formula:
    """Return the cotangent of x for y = erf x: dy 2 / sqrt(pi) exp(-x^2)."""
    return dy * (2 / sqrt(pi)) * (-(x * x)).of("exp")


@gradient("nn.sign", "nn.floor", "nn.ceil", "nn.round")
def constant_almost_everywhere(b: OpMaker, site: GradientSite) -> Cotangents:
    """Return no cotangent for a function that is constant almost everywhere: its gradient counts as 0, also where it jumps."""
    return [None]


@gradient("nn.identity")
def identity(b: OpMaker, site: GradientSite) -> Cotangents:
    """Return dy, the cotangent of x for y = x."""
    return [site.dy]


@gradient("nn.cast")
def cast(b: OpMaker, site: GradientSite) -> Cotangents:
    """Return the cotangent in the operand's dtype."""
    before: Any = b.spec(site.operand(0))
    return [b.cast(site.dy, before.dtype) if is_differentiable(before) else None]
