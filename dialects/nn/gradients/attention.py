"""Gradient of scaled dot-product attention."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from xdsl.ir import SSAValue

from ttc.dialects.nn.gradients.base import (
    Cotangents,
    GradientSite,
    cotangent,
    gradient,
    no_gradient,
    product,
    total,
    unbroadcast,
)
from ttc.dialects.nn.making import OpMaker, filled

no_gradient("second derivatives of attention are taken where it is written out", "nn.attention_gradient")


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


@gradient("nn.attention_training")
def attention_training(b: OpMaker, site: GradientSite) -> Cotangents:
    """Return cotangents of q, k and v by `nn.attention_gradient`; written out where that of the mask is wanted, or log_sums has one."""
    q, k, v = (site.operand(i) for i in range(3))
    mask, scale = site.operands[3], site.attrs["scale"]
    y, log_sums = site.results
    operands = AttentionOperands(q, k, v, y, log_sums, cotangent(b, site, 0), mask)
    of_mask = None
    if site.cotangents[1] is None and not site.wanted[3]:
        found = b.nn_all("attention_gradient", *operands, scale=scale)
    else:
        *found, of_scores_ = written_out(b, operands, scale, site.cotangents[1])
        if mask is not None and site.wanted[3]:
            of_mask = unbroadcast(b, b.cast(of_scores_, b.dtype(mask)), mask)
    given = [unbroadcast(b, dx, x) if wanted else None for dx, x, wanted in zip(found, (q, k, v), site.wanted, strict=False)]
    return [*given, of_mask]


class AttentionOperands(NamedTuple):
    """The operands of `nn.attention_gradient`, in order."""

    q: SSAValue
    k: SSAValue
    v: SSAValue
    y: SSAValue
    log_sums: SSAValue
    dy: SSAValue
    mask: SSAValue | None


def written_out(b: OpMaker, x: AttentionOperands, scale: float, of_sums: SSAValue | None = None) -> tuple[SSAValue, ...]:
    """Return the cotangents of q, k, v and of the scores, of all leading dimensions, with the whole matrix of scores.

    of_sums: the cotangent of log_sums, if it has one.
    """
    dtype = b.dtype(x.log_sums)
    dy, q, k, v, y = (b.cast(value, dtype) for value in (x.dy, x.q, x.k, x.v, x.y))
    sums = b.reshape(x.log_sums, *b.shape(x.log_sums), 1)
    p = b.nn("exp", b.nn("sub", scores_of(b, x.q, x.k, x.mask, scale, dtype), sums))
    scores = of_scores(b, p, dy, y, v)
    if of_sums is not None:
        scores = b.nn("add", scores, b.nn("mul", p, b.reshape(of_sums, *b.shape(of_sums), 1)))
    scaled = b.nn("mul", scores, b.scalar(scale, scores))
    found = product(b, scaled, k), product(b, scaled, q, transpose_a=True), product(b, p, dy, transpose_a=True)
    return *(b.cast(value, b.dtype(x.q)) for value in found), scores


def log_sums_written_out(
    b: OpMaker, q: SSAValue, k: SSAValue, mask: SSAValue | None, scale: float, dtype: np.dtype, *, zero_masked: bool
) -> SSAValue:
    """Return ln sum exp of each row of scores in a dtype; with zero_masked, 0 for a row that is hidden whole."""
    scores = scores_of(b, q, k, mask, scale, dtype)
    last = (b.rank(scores) - 1,)
    largest = b.nn("reduce_max", scores, axes=last, keepdims=True)
    found = b.nn("add", largest, b.nn("log", total(b, b.nn("exp", b.nn("sub", scores, largest)), last, keepdims=True)))
    if zero_masked:
        hidden = b.nn("equal", largest, b.scalar(-np.inf, largest))
        found = b.nn("where", hidden, b.scalar(0, found), found)
    return b.reshape(found, *b.shape(found)[:-1])


def scores_of(b: OpMaker, q: SSAValue, k: SSAValue, mask: SSAValue | None, scale: float, dtype: np.dtype) -> SSAValue:
    """Return q k^T scale + mask in a dtype."""
    scores = product(b, b.cast(q, dtype), b.cast(k, dtype), transpose_b=True)
    if scale != 1:
        scores = b.nn("mul", scores, b.scalar(scale, scores))
    return scores if mask is None else b.nn("add", scores, b.cast(mask, dtype))


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
