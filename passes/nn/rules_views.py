"""Rules for ops that move data without computing: what moves nothing goes, what moves twice moves once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.ir import Operation, SSAValue

from ttc.dialects.core.plain.weights import WeightStore
from ttc.dialects.core.shapes import broadcast_shapes
from ttc.dialects.nn.base import NNOp
from ttc.dialects.nn.linear import MatmulOp
from ttc.dialects.nn.pieces import ConcatOp, PadOp, SliceOp, SplitOp
from ttc.dialects.nn.shape import ExpandOp, RepeatOp, ReshapeOp, TransposeOp
from ttc.dialects.nn.unary import CastOp
from ttc.passes.base import Rewriter
from ttc.passes.nn.match import (
    attr,
    composed,
    elementwise,
    is_identity,
    owner,
    perm_of,
    rebuilt,
    shape_of,
    spec,
)
from ttc.passes.nn.rules import Build, RewriteRule, become, same_type, static


def _nothing_moved(op: Operation, _: WeightStore) -> Build | None:
    """Return a reshape, expand or cast to the type that its operand has."""
    return same_type(op, op.operands[0]) if static(op.results[0]) else None


def _merged_views(op: ReshapeOp | ExpandOp, _: WeightStore) -> Build | None:
    """Return a reshape of a reshape, an expand of an expand."""
    inner = owner(op.operands[0], type(op))
    if inner is None:
        return None
    return lambda rewriter: rebuilt(rewriter, op, op, inner.operands, (inner, op)).results[0]


def _transpose(op: TransposeOp, _: WeightStore) -> Build | None:
    """Return a transpose that moves nothing, or nothing but dimensions of size 1; a transpose of a transpose."""
    x, perm = op.operands[0], perm_of(op)
    inner = owner(x, TransposeOp)
    if inner is not None:
        x, perm = inner.operands[0], composed(perm_of(inner), perm)
    if is_identity(perm):
        return become(x)
    moved = [i for i in perm if shape_of(x)[i] != 1]
    sources = (op,) if inner is None else (inner, op)
    if moved == sorted(moved) and static(x):
        return lambda rewriter: rewriter.build(op, ReshapeOp, x, sources=sources, shape=shape_of(op.results[0])).results[0]
    return None if inner is None else lambda rewriter: rewriter.build(op, TransposeOp, x, sources=sources, perm=perm).results[0]


def _grouped_transpose(op: ReshapeOp, _: WeightStore) -> Build | None:
    """Return a reshape that merges dimensions, a transpose, and a reshape that takes them apart again: one transpose."""
    transpose = owner(op.operands[0], TransposeOp)
    first = None if transpose is None else owner(transpose.operands[0], ReshapeOp)
    if transpose is None or first is None or not static(first.operands[0]):
        return None
    x = first.operands[0]
    perm = _ungrouped(shape_of(x), shape_of(first.results[0]), perm_of(transpose), shape_of(op.results[0]))
    if perm is None:
        return None
    return lambda rewriter: rewriter.build(op, TransposeOp, x, sources=(first, transpose, op), perm=perm).results[0]


def _ungrouped(shape: Sequence[int], merged: Sequence[int], perm: Sequence[int], wanted: Sequence[int]) -> tuple[int, ...] | None:
    """Return the permutation of `shape` to `wanted` that equals reshaping to `merged` and transposing by `perm`; None if there is none."""
    groups = _groups(shape, merged)
    if groups is None or sorted(shape) != sorted(wanted):
        return None
    moving = iter([i for group in perm for i in groups[group]])
    ones = iter([i for i, size in enumerate(shape) if size == 1])
    found = [next(ones) if size == 1 else next(moving) for size in wanted]
    return tuple(found) if [shape[i] for i in found] == list(wanted) else None


def _groups(shape: Sequence[int], merged: Sequence[int]) -> list[list[int]] | None:
    """For each merged dimension, the dimensions larger than 1 that are merged in it; None if some are split."""
    remaining = [i for i, size in enumerate(shape) if size != 1]
    groups: list[list[int]] = []
    for size in merged:
        group: list[int] = []
        while size != 1:
            if not remaining or shape[remaining[0]] == 0 or size % shape[remaining[0]]:
                return None
            size //= shape[remaining[0]]
            group.append(remaining.pop(0))
        groups.append(group)
    return groups if not remaining else None


def _lifted_reshape(op: MatmulOp, _: WeightStore) -> Build | None:
    """Return a product of rows that were made a matrix before: the rows as they were, and the reshape after it, where it may cancel."""
    a, b, bias = op.named_operands()
    reshape = None if a is None else owner(a, ReshapeOp)
    if reshape is None or b is None or attr(op, "transpose_a") or not static(op.results[0]):
        return None
    x, rows = reshape.operands[0], shape_of(reshape.results[0])
    before = shape_of(x)
    regrouped = len(rows) == 2 < len(before) or [size for size in rows if size != 1] == [size for size in before if size != 1]
    if (
        not regrouped
        or len(before) < 2
        or rows[-1] != before[-1]
        or len(shape_of(b)) != 2
        or (bias is not None and len(shape_of(bias)) != 1)
    ):
        return None

    def build(rewriter: Rewriter) -> SSAValue:
        product = rebuilt(rewriter, op, op, (x, b, bias), (op,)).results[0]
        return rewriter.build(op, ReshapeOp, product, sources=(reshape,), shape=shape_of(op.results[0])).results[0]

    return build


def _expanded(op: RepeatOp, _: WeightStore) -> Build | None:
    """Return a repeat of dimensions that have one element: a view."""
    x, repeats = op.operands[0], attr(op, "repeats")
    if not static(x) or any(size != 1 and count != 1 for size, count in zip(shape_of(x), repeats, strict=True)):
        return None
    return lambda rewriter: rewriter.build(op, ExpandOp, x, shape=shape_of(op.results[0])).results[0]


def _whole_slice(op: SliceOp, _: WeightStore) -> Build | None:
    """Return a slice of everything, in order."""
    return same_type(op, op.operands[0]) if static(op.results[0]) and all(step == 1 for step in attr(op, "steps")) else None


def _there_and_back(op: CastOp, _: WeightStore) -> Build | None:
    """Return a cast to a wider type of the same kind and back."""
    inner = owner(op.operands[0], CastOp)
    if inner is None:
        return None
    source, wide = spec(inner.operands[0]).dtype, spec(inner.results[0]).dtype
    exact = source.kind == wide.kind and np.can_cast(source, wide, "safe")
    return same_type(op, inner.operands[0]) if exact else None


def _single(op: NNOp, _: WeightStore) -> Build | None:
    """Return a concat of one, a split in one, a pad by nothing, a repeat once."""
    if len(op.operands) != 1 or len(op.results) != 1 or not static(op.results[0]):
        return None
    return same_type(op, op.operands[0])


def _narrow(op: NNOp, _: WeightStore) -> Build | None:
    """Elementwise work on expanded operands: done before the expand, and the expand left out where broadcasting does it."""
    if not any(isinstance(x.owner, ExpandOp) for x in op.operands):
        return None
    operands = [x.owner.operands[0] if isinstance(x.owner, ExpandOp) else x for x in op.operands]
    result = shape_of(op.results[0])
    if not static(op.results[0]) or not all(static(x) for x in operands):
        return None
    narrow = broadcast_shapes(*[shape_of(x) for x in operands])

    def build(rewriter: Rewriter) -> SSAValue:
        value = rebuilt(rewriter, op, op, operands, (op,)).results[0]
        return value if narrow == result else rewriter.build(op, ExpandOp, value, shape=result).results[0]

    return build


def rules() -> list[RewriteRule]:
    """Return the rewrite rules for views."""
    return [
        RewriteRule("drop-view", (ReshapeOp, ExpandOp, CastOp), _nothing_moved),
        RewriteRule("grouped-transpose", (ReshapeOp,), _grouped_transpose),
        RewriteRule("merge-views", (ReshapeOp, ExpandOp), _merged_views),
        RewriteRule("merge-transposes", (TransposeOp,), _transpose),
        RewriteRule("lift-reshape", (MatmulOp,), _lifted_reshape),
        RewriteRule("expand", (RepeatOp,), _expanded),
        RewriteRule("whole-slice", (SliceOp,), _whole_slice),
        RewriteRule("cast-back", (CastOp,), _there_and_back),
        RewriteRule("single", (ConcatOp, SplitOp, PadOp, RepeatOp), _single),
        RewriteRule("narrow", tuple(sorted(elementwise(), key=lambda kind: kind.name)), _narrow),
    ]
