"""Gradients of ops that order elements."""

from __future__ import annotations

from ttc.dialects.nn.gradients.base import Cotangents, GradientSite, gradient
from ttc.dialects.nn.making import OpMaker, zeros


@gradient("nn.topk")
def topk(b: OpMaker, site: GradientSite) -> Cotangents:
    """Return the cotangent of x: the values' cotangents where the values came from, 0 elsewhere."""
    values = site.cotangents[0]
    if values is None:
        return [None]
    start, axis = zeros(b, site.operand(0)), site.attrs["axis"]
    return [b.nn("scatter_elements", start, site.results[1], values, axis=axis, reduction="add")]


@gradient("nn.reverse_sequence")
def reverse_sequence(b: OpMaker, site: GradientSite) -> Cotangents:
    """Return dy with the order undone, by the op itself."""
    return [b.nn("reverse_sequence", site.dy, site.operand(1), **site.attrs), None]
