"""Normalizations of maps over pixels, and over groups of channels, with channels last."""

from __future__ import annotations

from math import prod
from typing import NamedTuple

import numpy as np
from xdsl.ir import Operation, SSAValue

from ttc.dialects.core.ir.leaves import ConstantOp
from ttc.dialects.nn.base import NNOp
from ttc.dialects.nn.binary import AddOp, MulOp, SubOp
from ttc.dialects.nn.norm import LayerNormOp
from ttc.dialects.nn.reduce import ReduceMeanOp
from ttc.dialects.nn.shape import ExpandOp, ReshapeOp
from ttc.dialects.nn.unary import RsqrtOp
from ttc.passes.base import Rewriter
from ttc.passes.nn.match import attr, is_constant, reshaped, shape_of, sole_user, spec


class GroupNorm(NamedTuple):
    """A normalization of maps [n, c, pixels..] over pixels and channels of a group, without scale.

    Args:
        ops: that make it up, in program order; the last one gives its result.
        groups: of channels.
        eps: added to the variance.
        factors: sums and products with a constant, of one element or one a group, that follow before channels stand apart again.
    """

    ops: tuple[NNOp, ...]
    groups: int
    eps: float
    factors: tuple[tuple[type[NNOp], SSAValue], ...] = ()


def group_norm(op: NNOp) -> GroupNorm | None:
    """Return the normalization that starts at an op: a layer_norm of pixels, or a reshape that joins groups, a layer_norm, a reshape
    back.
    """
    if isinstance(op, LayerNormOp):
        shape = shape_of(op.operands[0])
        return GroupNorm((op,), shape[1], attr(op, "eps")) if _is_plain(op, 2) and len(shape) > 2 else None
    x, joined = shape_of(op.operands[0]), shape_of(op.results[0])
    norm = sole_user(op.results[0])
    if not isinstance(norm, LayerNormOp) or not _is_plain(norm, 2):
        return None
    if len(joined) < 3 or joined[0] != x[0] or min(x) < 1 or x[1] % joined[1] or prod(joined[2:]) != prod(x[1:]) // joined[1]:
        return None
    ops, factors = _factors(norm, joined)
    back = sole_user(ops[-1].results[0])
    if not isinstance(back, ReshapeOp) or shape_of(back.results[0]) != x:
        return None
    return GroupNorm((op, *ops, back), joined[1], attr(norm, "eps"), tuple(factors))


def _factors(norm: LayerNormOp, joined: tuple[int, ...]) -> tuple[list[NNOp], list[tuple[type[NNOp], SSAValue]]]:
    """Return the norm and the sums and products that alone follow it, one by one; and the constants of these."""
    ops: list[NNOp] = [norm]
    factors: list[tuple[type[NNOp], SSAValue]] = []
    while isinstance(following := sole_user(ops[-1].results[0]), AddOp | MulOp):
        other = next(x for x in following.operands if x is not ops[-1].results[0])
        shape = (1,) * (len(joined) - len(shape_of(other))) + shape_of(other)
        if not is_constant(other) or any(size not in (1, joined[1] if i == 1 else 1) for i, size in enumerate(shape)):
            break
        factors.append((type(following), other))
        ops.append(following)
    return ops, factors


def _is_plain(op: LayerNormOp, axis: int) -> bool:
    """Return whether the dimensions from an axis on are normalized, without scale and bias."""
    return len(op.operands) == 1 and attr(op, "axis") % len(shape_of(op.operands[0])) == axis


def normalized(rewriter: Rewriter, norm: GroupNorm, x: SSAValue) -> SSAValue:
    """Return the normalization of x[n, pixels.., c], before the last of its ops.

    Statistics are those of channels, averaged over groups, so that nothing as large as x changes its shape.
    """
    anchor, sources = norm.ops[-1], norm.ops

    def build(kind: type[NNOp], *operands: SSAValue, **attrs: object) -> SSAValue:
        return rewriter.build(anchor, kind, *operands, sources=sources, **attrs).results[0]

    pixels = tuple(range(1, len(shape_of(x)) - 1))

    def mean(value: SSAValue) -> SSAValue:
        return _of_groups(rewriter, norm, build(ReduceMeanOp, value, axes=pixels, keepdims=True))

    centred = build(SubOp, x, mean(x))
    variance = mean(build(MulOp, centred, centred))
    y = build(MulOp, centred, build(RsqrtOp, build(AddOp, variance, _number(rewriter, anchor, norm.eps, x))))
    size = shape_of(x)[-1] // norm.groups
    for kind, constant in norm.factors:
        groups = reshaped(rewriter, anchor, constant, (prod(shape_of(constant)), 1))
        channels = build(ExpandOp, groups, shape=(norm.groups, size))
        y = build(kind, y, reshaped(rewriter, anchor, channels, (norm.groups * size,)))
    return y


def _of_groups(rewriter: Rewriter, norm: GroupNorm, means: SSAValue) -> SSAValue:
    """Means of channels [n, 1.., c] averaged over groups, each group's for all its channels."""
    shape, anchor = shape_of(means), norm.ops[-1]
    if norm.groups == shape[-1]:
        return means
    apart = reshaped(rewriter, anchor, means, (shape[0], norm.groups, shape[-1] // norm.groups))
    one = rewriter.build(anchor, ReduceMeanOp, apart, sources=norm.ops, axes=(2,), keepdims=True).results[0]
    many = rewriter.build(anchor, ExpandOp, one, sources=norm.ops, shape=shape_of(apart)).results[0]
    return reshaped(rewriter, anchor, many, shape)


def _number(rewriter: Rewriter, anchor: Operation, value: float, like: SSAValue) -> SSAValue:
    return rewriter.insert(anchor, ConstantOp.literal(np.array(value).astype(spec(like).dtype), rewriter.location((anchor,)))).result
