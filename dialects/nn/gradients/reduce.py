"""Gradients of reductions over axes and of cumulative sums and products."""

from __future__ import annotations

from xdsl.ir import SSAValue

from ttc.dialects.core.shapes import axes_in
from ttc.dialects.nn.formulas import Formula
from ttc.dialects.nn.gradients.base import Cotangents, GradientSite, Ints, elements, gradient, no_gradient, total
from ttc.dialects.nn.making import OpMaker
from ttc.dialects.nn.shapes.reduce import reduced_shape

no_gradient("its result is an integer", "nn.argmax", "nn.argmin")


def _kept(b: OpMaker, site: GradientSite, value: SSAValue) -> SSAValue:
    """Return a value of the result's shape, with size 1 in place of the axes."""
    shape = b.shape(site.operand(0))
    return b.reshape(value, *reduced_shape(shape, axes_in(site.attrs["axes"], len(shape)), True))


def _axes(b: OpMaker, site: GradientSite) -> Ints:
    return axes_in(site.attrs["axes"], b.rank(site.operand(0)))


@gradient("nn.reduce_sum")
def reduce_sum(b: OpMaker, site: GradientSite) -> Cotangents:
    """Return the cotangent of x: dy for every element of the sum."""
    shape = b.shape(site.operand(0))
    kept = _kept(b, site, site.dy)
    return [kept if b.shape(kept) == shape else b.nn("expand", kept, shape=shape)]


@gradient("nn.reduce_mean")
def reduce_mean(b: OpMaker, site: GradientSite) -> Cotangents:
    """Return the cotangent of x: dy over the number of elements, for each of them."""
    shape = b.shape(site.operand(0))
    count = max(elements([shape[i] for i in _axes(b, site)]), 1)
    kept = _kept(b, site, b.nn("mul", site.dy, b.scalar(1 / count, site.dy)))
    return [kept if b.shape(kept) == shape else b.nn("expand", kept, shape=shape)]


@gradient("nn.reduce_max", "nn.reduce_min")
def reduce_extreme(b: OpMaker, site: GradientSite) -> Cotangents:
    """Return the cotangent of x: dy for the extreme element, in equal shares if there are several."""
    x = site.operand(0)
    if not _axes(b, site):
        return [site.dy]
    reached = b.cast(b.nn("equal", x, _kept(b, site, site.y)), b.dtype(x))
    shares = Formula(b, _kept(b, site, site.dy)) / Formula(b, total(b, reached, _axes(b, site), keepdims=True))
    return [b.nn("mul", reached, shares.value)]


@gradient("nn.reduce_prod")
def reduce_prod(b: OpMaker, site: GradientSite) -> Cotangents:
    """Return the cotangent of x: dy times the product of all other elements."""
    x, axes = site.operand(0), _axes(b, site)
    if not axes:
        return [site.dy]
    is_zero, others = _nonzero(b, x)
    product = b.nn("reduce_prod", others, axes=axes, keepdims=True)
    count = total(b, b.cast(is_zero, b.dtype(x)), axes, keepdims=True)
    return [b.nn("mul", _kept(b, site, site.dy), product_of_others(b, x, product, count))]


def _nonzero(b: OpMaker, x: SSAValue) -> tuple[SSAValue, SSAValue]:
    """Return where x is 0, and x with 1 there."""
    is_zero = b.nn("equal", x, b.scalar(0, x))
    return is_zero, b.nn("where", is_zero, b.scalar(1, x), x)


def product_of_others(b: OpMaker, x: SSAValue, product: SSAValue, zeros: SSAValue) -> SSAValue:
    """Return the product of all factors but x.

    Args:    product: of the factors that are not 0.  zeros: how many are 0, of x's dtype.  Both broadcast with x.
    """
    is_zero, divisor = _nonzero(b, x)
    left = b.nn("sub", zeros, b.cast(is_zero, b.dtype(x)))
    rest = b.nn("div", product, divisor)
    return b.nn("where", b.nn("equal", left, b.scalar(0, x)), rest, b.scalar(0, x))


@gradient("nn.cumsum")
def cumsum(b: OpMaker, site: GradientSite) -> Cotangents:
    """Return the cumulative sum of dy in the other direction."""
    attrs = {**site.attrs, "reverse": not site.attrs["reverse"]}
    return [b.nn("cumsum", site.dy, **attrs)]


@gradient("nn.cumprod")
def cumprod(b: OpMaker, site: GradientSite) -> Cotangents:
    """Return the cotangent of x: the sum of dy y over the products that x is in, over x; for the first 0 with the products that 1 in its
    place gives.
    """
    x, attrs = site.operand(0), site.attrs
    turned = {**attrs, "reverse": not attrs["reverse"]}
    is_zero, divisor = _nonzero(b, x)
    number = b.nn("cumsum", b.cast(is_zero, b.dtype(x)), **{**attrs, "exclusive": False})
    first = b.nn("and", is_zero, b.nn("equal", number, b.scalar(1, x)))
    without = b.nn("cumprod", b.nn("where", first, b.scalar(1, x), x), **attrs)
    at_zero = b.nn("cumsum", b.nn("mul", site.dy, without), **turned)
    elsewhere = b.nn("div", b.nn("cumsum", b.nn("mul", site.dy, site.y), **turned), divisor)
    rest = b.nn("where", is_zero, b.scalar(0, x), elsewhere)
    return [b.nn("where", first, at_zero, rest)]
