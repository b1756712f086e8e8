"""Gradients of ops that draw random numbers: the numbers themselves have none."""

from __future__ import annotations

from ttc.dialects.nn.gradients.base import Cotangents, GradientSite, gradient, no_gradient
from ttc.dialects.nn.making import OpMaker

no_gradient("it draws numbers from an integer", "nn.random_uniform", "nn.random_normal")


@gradient("nn.dropout")
def dropout(b: OpMaker, site: GradientSite) -> Cotangents:
    """Return dy with those elements dropped that were dropped of x: the same numbers are drawn again."""
    return [b.nn("dropout", site.dy, site.operand(1), site.operand(2), p=site.attrs["p"], stream=site.attrs["stream"]), None, None]
