"""Rules for tensors cut in pieces and put together again: pieces that exist already are used, and only once cut."""

from __future__ import annotations

from itertools import accumulate

from xdsl.ir import Operation, SSAValue

from ttc.dialects.core.plain.weights import WeightStore
from ttc.dialects.nn.pieces import ConcatOp, SliceOp, SplitOp
from ttc.passes.nn.match import attr, owner, shape_of, single_use
from ttc.passes.nn.rules import Build, RewriteRule, become, static

MAX_PARTS = 128
"""The most operands that merging concats may give one: each merge reads all of them, and parts used twice would double them every time."""


def _axis(op: Operation) -> int:
    return attr(op, "axis") % len(shape_of(op.operands[0]))


def _flat_concat(op: ConcatOp, _: WeightStore) -> Build | None:
    """Return a concat of concats along one axis, and of tensors without elements."""
    axis = _axis(op)
    inner = [owner(x, ConcatOp) for x in op.operands]
    nested = [c is not None and _axis(c) == axis for c in inner]
    empty = [shape_of(x)[axis] == 0 for x in op.operands]
    if not any(nested) and not any(empty):
        return None
    merged = sum(len(c.operands) if c is not None and is_nested else 1 for c, is_nested in zip(inner, nested, strict=True))
    if any(nested) and merged > MAX_PARTS:
        return None
    parts: list[SSAValue] = []
    for x, concat, is_nested, is_empty in zip(op.operands, inner, nested, empty, strict=True):
        parts.extend(concat.operands if concat is not None and is_nested else [] if is_empty else [x])
    return (lambda rewriter: rewriter.build(op, ConcatOp, *parts, axis=axis).results[0]) if parts else None


def _range(value: SSAValue, axis: int) -> tuple[SSAValue, int, int] | None:
    """(x, start, end) of a value that is a range of x along one axis, whole otherwise."""
    split = owner(value, SplitOp)
    if split is not None and _axis(split) == axis:
        index = list(split.results).index(value)  # pyright: ignore[reportArgumentType]
        end = list(accumulate(attr(split, "sizes")))[index]
        return split.operands[0], end - attr(split, "sizes")[index], end
    cut = owner(value, SliceOp)
    if cut is None or not static(cut.operands[0]):
        return None
    x, starts, sizes = cut.operands[0], attr(cut, "starts"), attr(cut, "sizes")
    others = [i for i in range(len(sizes)) if i != axis]
    if any(step != 1 for step in attr(cut, "steps")) or any(sizes[i] != shape_of(x)[i] for i in others):
        return None
    return x, starts[axis], starts[axis] + sizes[axis]


def _put_together(op: ConcatOp, _: WeightStore) -> Build | None:
    """Return a concat of neighbouring ranges of one tensor: the range over all of them, or the tensor."""
    axis = _axis(op)
    ranges = [_range(x, axis) for x in op.operands]
    if len(ranges) < 2 or any(r is None for r in ranges) or not static(op.results[0]):
        return None
    found = [r for r in ranges if r is not None]
    x, start, _end = found[0]
    if any(r[0] is not x for r in found) or any(a[2] != b[1] for a, b in zip(found, found[1:], strict=False)):
        return None
    if op.results[0].type == x.type:
        return become(x)
    shape = shape_of(op.results[0])
    starts = tuple(start if i == axis else 0 for i in range(len(shape)))
    return lambda rewriter: rewriter.build(op, SliceOp, x, starts=starts, sizes=shape, steps=(1,) * len(shape)).results[0]


def _slice_of_slice(op: SliceOp, _: WeightStore) -> Build | None:
    """Return a slice of a slice that nothing else reads."""
    inner = owner(op.operands[0], SliceOp)
    if inner is None or not static(inner.operands[0]) or not single_use(inner.results[0]):
        return None
    steps = tuple(a * b for a, b in zip(attr(inner, "steps"), attr(op, "steps"), strict=True))
    starts = tuple(a + s * b for a, s, b in zip(attr(inner, "starts"), attr(inner, "steps"), attr(op, "starts"), strict=True))
    x, sizes = inner.operands[0], attr(op, "sizes")
    return lambda rewriter: rewriter.build(op, SliceOp, x, sources=(inner, op), starts=starts, sizes=sizes, steps=steps).results[0]


def _slice_of_concat(op: SliceOp, _: WeightStore) -> Build | None:
    """Return a slice that lies within one operand of a concat."""
    concat = owner(op.operands[0], ConcatOp)
    if concat is None or not static(op.operands[0]):
        return None
    axis = _axis(concat)
    starts, sizes, steps = attr(op, "starts"), attr(op, "sizes"), attr(op, "steps")
    if sizes[axis] == 0:
        return None
    ends = sorted((starts[axis], starts[axis] + (sizes[axis] - 1) * steps[axis]))
    offset = 0
    for x in concat.operands:
        size = shape_of(x)[axis]
        if offset <= ends[0] and ends[1] < offset + size:
            moved = tuple(s - offset if i == axis else s for i, s in enumerate(starts))
            return lambda rewriter, x=x: rewriter.build(
                op, SliceOp, x, sources=(concat, op), starts=moved, sizes=sizes, steps=steps
            ).results[0]
        offset += size
    return None


def joined(op: SplitOp) -> list[SSAValue] | None:
    """Return what the parts of a split of a concat are, if it cuts where the concat joined; None otherwise."""
    concat = owner(op.operands[0], ConcatOp)
    if concat is None or _axis(concat) != _axis(op):
        return None
    axis = _axis(op)
    same = tuple(shape_of(x)[axis] for x in concat.operands) == tuple(attr(op, "sizes"))
    return list(concat.operands) if same and [x.type for x in concat.operands] == [y.type for y in op.results] else None


def rules() -> list[RewriteRule]:
    """Return the rewrite rules for slices and concatenations."""
    return [
        RewriteRule("flat-concat", (ConcatOp,), _flat_concat),
        RewriteRule("put-together", (ConcatOp,), _put_together),
        RewriteRule("slice-of-slice", (SliceOp,), _slice_of_slice),
        RewriteRule("slice-of-concat", (SliceOp,), _slice_of_concat),
    ]
