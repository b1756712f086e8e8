"""Gradients of steps between real numbers and the integers that stand for them."""

from __future__ import annotations

from ttc.dialects.nn.gradients.base import Cotangents, GradientSite, gradient, no_gradient, unbroadcast
from ttc.dialects.nn.making import OpMaker

no_gradient("its result is an integer", "nn.quantize")


@gradient("nn.dequantize")
def dequantize(b: OpMaker, site: GradientSite) -> Cotangents:
    """Return the cotangent of the scale: dy times the integers' distance from zero."""
    x, scale, zero = (site.operand(i) for i in range(3))
    dtype = b.dtype(scale)
    distance = b.nn("sub", b.cast(x, dtype), b.cast(zero, dtype))
    return [None, unbroadcast(b, b.nn("mul", site.dy, distance), scale), None]
