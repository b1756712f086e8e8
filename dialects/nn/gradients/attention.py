"""Gradient of scaled dot-product attention."""

from __future__ import annotations

import numpy as np
from xdsl.ir import SSAValue

from ttc.dialects.nn.gradients.base import Cotangents, GradientSite, gradient, product, total, unbroadcast
from ttc.dialects.nn.making import OpMaker, filled


@gradient("nn.attention")
def attention(b: OpMaker, site: GradientSite) -> Cotangents:
    """Return cotangents of q, k, v and mask; the probabilities p are computed again: dv = p^T dy, dscores = p (dy v^T - sum dy y)."""
    q, k, v = (site.operand(i) for i in range(3))
    mask = site.operands[3]
    p = _probabilities(b, site, q, k, mask)
    of_q = of_k = of_v = of_mask = None
    if site.wanted[2]:
        of_v = unbroadcast(b, product(b, p, site.dy, transpose_a=True), v)
    if site.wanted[0] or site.wanted[1] or site.wanted[3]:
        scores = of_scores(b, p, site.dy, site.y, v)
        scaled = b.nn("mul", scores, b.scalar(site.attrs["scale"], scores))
        if site.wanted[0]:
            of_q = unbroadcast(b, product(b, scaled, k), q)
        if site.wanted[1]:
            of_k = unbroadcast(b, product(b, scaled, q, transpose_a=True), k)
        if site.wanted[3] and mask is not None:
            of_mask = unbroadcast(b, scores, mask)
    return [of_q, of_k, of_v, of_mask]


def of_scores(b: OpMaker, p: SSAValue, dy: SSAValue, y: SSAValue, v: SSAValue) -> SSAValue:
    """Return the cotangent of scores with these probabilities: p (dy v^T - sum dy y)."""
    common = total(b, b.nn("mul", dy, y), (b.rank(y) - 1,), keepdims=True)
    return b.nn("mul", p, b.nn("sub", product(b, dy, v, transpose_b=True), common))


def _probabilities(b: OpMaker, site: GradientSite, q: SSAValue, k: SSAValue, mask: SSAValue | None) -> SSAValue:
    """softmax(q k^T scale + mask), with rows of 0 where all scores are -inf and the op asks for them."""
    scores = product(b, q, k, transpose_b=True)
    scores = b.nn("mul", scores, b.scalar(site.attrs["scale"], scores))
    if mask is not None:
        scores = b.nn("add", scores, mask)
    found = b.nn("softmax", scores, axis=-1)
    if not site.attrs["zero_masked"] or mask is None:
        return found
    largest = b.nn("reduce_max", scores, axes=(-1,), keepdims=True)
    return b.nn("where", b.nn("equal", largest, b.scalar(-np.inf, largest)), filled(b, 0.0, found), found)
