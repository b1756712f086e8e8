"""Gradients of ops with regions, and of what data has to fulfil."""

from __future__ import annotations

from ttc.dialects.nn.gradients.base import Cotangents, GradientSite, gradient, no_gradient
from ttc.dialects.nn.making import OpMaker

no_gradient("gradients through regions, of which data decide what runs, are not supported", "nn.branch", "nn.loop")


@gradient("nn.require")
def require(b: OpMaker, site: GradientSite) -> Cotangents:
    """Return dy as the cotangent of x; the condition has none."""
    return [site.dy, None]
