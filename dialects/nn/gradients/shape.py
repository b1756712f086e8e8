"""Gradients of ops that keep elements and change shape."""

from __future__ import annotations

from ttc.dialects.nn.gradients.base import Cotangents, GradientSite, gradient, no_gradient, total, unbroadcast
from ttc.dialects.nn.making import OpMaker

no_gradient("its result is an integer", "nn.shape")


@gradient("nn.reshape")
def reshape(b: OpMaker, site: GradientSite) -> Cotangents:
    """Return dy reshaped to x's shape."""
    return [b.reshape(site.dy, *b.shape(site.operand(0)))]


@gradient("nn.transpose")
def transpose(b: OpMaker, site: GradientSite) -> Cotangents:
    """Return dy with the permutation undone."""
    perm = site.attrs["perm"]
    return [b.nn("transpose", site.dy, perm=tuple(sorted(range(len(perm)), key=perm.__getitem__)))]


@gradient("nn.expand")
def expand(b: OpMaker, site: GradientSite) -> Cotangents:
    """Return the sum over what x was repeated along."""
    return [unbroadcast(b, site.dy, site.operand(0))]


@gradient("nn.repeat")
def repeat(b: OpMaker, site: GradientSite) -> Cotangents:
    """Return the sum over all copies."""
    shape = b.shape(site.operand(0))
    apart = [n for pair in zip(site.attrs["repeats"], shape, strict=True) for n in pair]
    return [total(b, b.reshape(site.dy, *apart), tuple(range(0, len(apart), 2)))]
