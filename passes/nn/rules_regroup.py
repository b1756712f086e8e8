"""Rules for transposes around reshapes: a reshape that keeps what moves together changes places with a transpose, so that two become one.

Pixel shuffles and windows on tensors with channels last become one reshape, one transpose, one reshape that way.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.ir import SSAValue

from ttc.dialects.core.plain.weights import WeightStore
from ttc.dialects.nn.shape import ReshapeOp, TransposeOp
from ttc.passes.base import Rewriter
from ttc.passes.nn.match import composed, inverse, is_identity, owner, perm_of, reshaped, shape_of, single_use
from ttc.passes.nn.rules import Build, RewriteRule, static

MAX_RANK = 4
"""The most dimensions that are taken apart so that one transpose takes the place of two."""

Groups = list[tuple[list[int], list[int]]]
"""Neighbouring dimensions before a reshape, and those after it that hold the same elements."""


def regroup(before: Sequence[int], after: Sequence[int]) -> Groups | None:
    """Return the finest groups of a reshape, none of them empty; None for shapes without elements or dimensions, or that depend on data."""
    if min((*before, *after), default=0) < 1 or not before or not after:
        return None
    groups: Groups = []
    i = j = 0
    while i < len(before) or j < len(after):
        ins, outs, p, q = [], [], 1, 1
        while p != q or not (ins or outs):
            if j == len(after) or (i < len(before) and p <= q and not (p == q == after[j] == 1)):
                p, i = p * before[i], _add(ins, i)
            else:
                q, j = q * after[j], _add(outs, j)
        groups.append((ins, outs))
    return _without_empty(groups)


def _add(dims: list[int], dim: int) -> int:
    dims.append(dim)
    return dim + 1


def _without_empty(groups: Groups) -> Groups:
    """Dimensions of size 1 that stand alone on one side join a neighbour."""
    merged: Groups = []
    for ins, outs in groups:
        if merged and (not ins or not outs or not merged[-1][0] or not merged[-1][1]):
            merged[-1] = (merged[-1][0] + ins, merged[-1][1] + outs)
        else:
            merged.append((ins, outs))
    return merged


def reshape_first(perm: Sequence[int], groups: Groups, after: Sequence[int]) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """Return, for a reshape after a transpose, the shape to take before, and the permutation then; None if the reshape splits what moves.

    Args:
        perm: of the transpose.
        groups: of the reshape.
        after: shape that it gives.
    """
    places = [[perm[d] for d in ins] for ins, _ in groups]
    if any(p != list(range(p[0], p[0] + len(p))) for p in places):
        return None
    order = sorted(range(len(groups)), key=lambda g: places[g][0])
    outs = [o for g in order for o in groups[g][1]]
    return tuple(after[o] for o in outs), tuple(outs.index(o) for o in range(len(after)))


def transpose_first(groups: Groups, perm: Sequence[int]) -> tuple[int, ...] | None:
    """Return, for a transpose after a reshape, the permutation that does the same before; None if it moves parts of a group."""
    places = [[list(perm).index(o) for o in outs] for _, outs in groups]
    if any(p != list(range(p[0], p[0] + len(p))) for p in places):
        return None
    order = sorted(range(len(groups)), key=lambda g: places[g][0])
    return tuple(d for g in order for d in groups[g][0])


def _between_transposes(op: TransposeOp, _: WeightStore) -> Build | None:
    """Return a reshape between two transposes: one transpose, the reshape before or after it."""
    reshape = owner(op.operands[0], ReshapeOp)
    inner = None if reshape is None else owner(reshape.operands[0], TransposeOp)
    if reshape is None or inner is None or not static(op.results[0]) or not single_use(reshape.results[0]):
        return None
    x, sources = inner.operands[0], (inner, reshape, op)
    groups = regroup(shape_of(inner.results[0]), shape_of(reshape.results[0]))
    moved = None if groups is None else transpose_first(groups, perm_of(op))
    if moved is not None:
        perm = composed(perm_of(inner), moved)

        def build(rewriter: Rewriter) -> SSAValue:
            value = x if is_identity(perm) else rewriter.build(op, TransposeOp, x, sources=sources, perm=perm).results[0]
            return rewriter.build(op, ReshapeOp, value, sources=sources, shape=shape_of(op.results[0])).results[0]

        return build
    found = None if groups is None else reshape_first(perm_of(inner), groups, shape_of(reshape.results[0]))
    if found is None:
        return _taken_apart(op, reshape, inner)
    shape, then = found

    def build_last(rewriter: Rewriter) -> SSAValue:
        value = rewriter.build(op, ReshapeOp, x, sources=sources, shape=shape).results[0]
        return rewriter.build(op, TransposeOp, value, sources=sources, perm=composed(then, perm_of(op))).results[0]

    return build_last


def _taken_apart(op: TransposeOp, reshape: ReshapeOp, inner: TransposeOp) -> Build | None:
    """Return one transpose of dimensions taken apart far enough, in place of two around a reshape; None for more than MAX_RANK of them."""
    parts = _common_parts(shape_of(inner.results[0]), shape_of(reshape.results[0]))
    if not parts:
        return None
    sizes, perm = _merged(parts, inverse(perm_of(inner)), perm_of(op))
    if len(sizes) > MAX_RANK:
        return None

    def build(rewriter: Rewriter) -> SSAValue:
        apart = reshaped(rewriter, op, inner.operands[0], sizes)
        moved = rewriter.build(op, TransposeOp, apart, sources=(inner, reshape, op), perm=perm).results[0]
        return reshaped(rewriter, op, moved, shape_of(op.results[0]))

    return build


def _common_parts(shape: Sequence[int], other: Sequence[int]) -> list[tuple[int, int, int]]:
    """Return the sizes that dimensions of two shapes of one tensor are both made of, each with the dimensions it is in; none if there are
    no such sizes.
    """
    parts: list[tuple[int, int, int]] = []
    left, right = [[size, i] for i, size in enumerate(shape) if size != 1], [[size, i] for i, size in enumerate(other) if size != 1]
    while left and right:
        size = min(left[0][0], right[0][0])
        if size == 0 or left[0][0] % size or right[0][0] % size:
            return []
        parts.append((size, left[0][1], right[0][1]))
        for sizes in (left, right):
            sizes[0][0] //= size
            if sizes[0][0] == 1:
                sizes.pop(0)
    return parts


def _merged(parts: Sequence[tuple[int, int, int]], first: Sequence[int], last: Sequence[int]) -> tuple[list[int], tuple[int, ...]]:
    """Return the sizes of the fewest dimensions that bring parts from one order to another, and the permutation that does.

    Args:
        parts: sizes, each with a dimension of the first and of the last order.
        first, last: orders of these dimensions.
    """
    before = [part for dim in first for part in range(len(parts)) if parts[part][1] == dim]
    place = {part: i for i, part in enumerate(part for dim in last for part in range(len(parts)) if parts[part][2] == dim)}
    groups: list[list[int]] = []
    for part in before:
        if groups and place[part] == place[groups[-1][-1]] + 1:
            groups[-1].append(part)
        else:
            groups.append([part])
    order = sorted(range(len(groups)), key=lambda group: place[groups[group][0]])
    return [prod(parts[part][0] for part in group) for group in groups], tuple(order)


def _around_transpose(op: ReshapeOp, _: WeightStore) -> Build | None:
    """Return a transpose between two reshapes, of which the second keeps what moves together: one reshape before the transpose."""
    transpose = owner(op.operands[0], TransposeOp)
    first = None if transpose is None else owner(transpose.operands[0], ReshapeOp)
    if transpose is None or first is None or not static(op.results[0]) or not single_use(transpose.results[0]):
        return None
    groups = regroup(shape_of(transpose.results[0]), shape_of(op.results[0]))
    found = None if groups is None else reshape_first(perm_of(transpose), groups, shape_of(op.results[0]))
    if found is None:
        return None
    shape, perm = found

    def build(rewriter: Rewriter) -> SSAValue:
        value = rewriter.build(op, ReshapeOp, first.operands[0], sources=(first, op), shape=shape).results[0]
        return rewriter.build(op, TransposeOp, value, sources=(transpose,), perm=perm).results[0]

    return build


def rules() -> list[RewriteRule]:
    """Return the rewrite rules for transposes around reshapes."""
    return [
        RewriteRule("between-transposes", (TransposeOp,), _between_transposes),
        RewriteRule("around-transpose", (ReshapeOp,), _around_transpose),
    ]
