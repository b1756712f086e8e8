"""Gradients of softmax and its logarithm."""

from __future__ import annotations

from ttc.dialects.nn.gradients.base import Cotangents, GradientSite, gradient, total
from ttc.dialects.nn.making import OpMaker


@gradient("nn.softmax")
def softmax(b: OpMaker, site: GradientSite) -> Cotangents:
    """Return the cotangent of x for y = softmax x: y (dy - sum dy y)."""
    weighted = b.nn("mul", site.dy, site.y)
    return [b.nn("sub", weighted, b.nn("mul", site.y, total(b, weighted, (site.attrs["axis"],), keepdims=True)))]


@gradient("nn.log_softmax")
def log_softmax(b: OpMaker, site: GradientSite) -> Cotangents:
    """Return the cotangent of x for y = log softmax x: dy - exp(y) sum dy."""
    summed = total(b, site.dy, (site.attrs["axis"],), keepdims=True)
    return [b.nn("sub", site.dy, b.nn("mul", b.nn("exp", site.y), summed))]
