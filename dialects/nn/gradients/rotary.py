"""Gradient of rotary position embedding."""

from __future__ import annotations

from xdsl.ir import SSAValue

from ttc.dialects.nn.gradients.base import Cotangents, GradientSite, gradient, unbroadcast
from ttc.dialects.nn.making import OpMaker, part


@gradient("nn.rotary_embedding")
def rotary_embedding(b: OpMaker, site: GradientSite) -> Cotangents:
    """Return cotangents of a rotary embedding: of x dy cos - rotated(dy sin), as rotating is antisymmetric; of cos and sin dy x and dy
    rotated(x).
    """
    x, cos, sin = (site.operand(i) for i in range(3))
    dy, interleaved = site.dy, site.attrs["interleaved"]
    of_x = of_cos = of_sin = None
    if site.wanted[0]:
        of_x = b.nn("sub", b.nn("mul", dy, cos), _rotated(b, b.nn("mul", dy, sin), interleaved))
    if site.wanted[1]:
        of_cos = unbroadcast(b, b.nn("mul", dy, x), cos)
    if site.wanted[2]:
        of_sin = unbroadcast(b, b.nn("mul", dy, _rotated(b, x, interleaved)), sin)
    return [of_x, of_cos, of_sin]


def _rotated(b: OpMaker, x: SSAValue, interleaved: bool) -> SSAValue:
    """(-x2, x1) of the two halves of the features, or of the elements of each pair."""
    shape = b.shape(x)
    axis, half = len(shape) - 1, shape[-1] // 2
    if interleaved:
        axis, half = axis + 1, 1
        x = b.reshape(x, *shape[:-1], shape[-1] // 2, 2)
    first, second = part(b, x, axis, 0, half), part(b, x, axis, half, half)
    return b.reshape(b.nn("concat", b.nn("neg", second), first, axis=axis), *shape)
