"""Rules for gathers whose indices are constant and run through their tensor in order: slices and reshapes in disguise."""

from __future__ import annotations

from math import prod

import numpy as np
from numpy.typing import NDArray
from xdsl.ir import Operation, SSAValue

from ttc.dialects.core.ir.leaves import ConstantOp
from ttc.dialects.core.ir.spec import spec_of
from ttc.dialects.core.plain.weights import WeightStore
from ttc.dialects.nn.index import GatherElementsOp, GatherNdOp, GatherOp
from ttc.dialects.nn.pieces import ConcatOp, SliceOp
from ttc.dialects.nn.shape import ExpandOp, ReshapeOp
from ttc.passes.base import Rewriter
from ttc.passes.nn.match import MAX_READ, attr, constant_array, reshaped, shape_of
from ttc.passes.nn.rules import Build, RewriteRule, static


def _gather(op: GatherOp, weights: WeightStore) -> Build | None:
    """Indices start, start + 1, ... along one axis, or the same index everywhere."""
    x = op.operands[0]
    indices = _indices(op, weights)
    if indices is None:
        return None
    axis = attr(op, "axis") % len(shape_of(x))
    size = shape_of(x)[axis]
    start = _run(indices.ravel(), size)
    if start is not None:
        return lambda rewriter: _part(rewriter, op, x, {axis: (start, indices.size)})
    if indices.size and bool(np.all(indices == indices.flat[0])):
        start = _run(indices.ravel()[:1], size)
    return None if start is None else lambda rewriter: _repeated(rewriter, op, x, axis, start)


def _gather_table(op: GatherOp, weights: WeightStore) -> Build | None:
    """Rows of a constant at places that a constant table gives are rows of one constant."""
    x, inner = op.operands[0], op.operands[1].owner
    if (
        not isinstance(inner, GatherOp)
        or attr(op, "axis") != 0
        or not isinstance(x.owner, ConstantOp)
        or len(shape_of(inner.operands[0])) != 1
    ):
        return None
    table, rows = constant_array(inner.operands[0], weights, MAX_READ), shape_of(x)[0]
    small = spec_of(op.results[0].type).rank and table is not None and table.size * max(1, prod(shape_of(x)[1:])) <= MAX_READ
    if table is None or not small or bool(np.any(table < -rows)) or bool(np.any(table >= rows)):
        return None

    def build(rewriter: Rewriter) -> SSAValue:
        rows = rewriter.build(op, GatherOp, x, inner.operands[0], axis=0).results[0]
        return rewriter.build(op, GatherOp, rows, inner.operands[1], sources=(op, inner), axis=0).results[0]

    return build


def _gather_elements(op: GatherElementsOp, weights: WeightStore) -> Build | None:
    """Return indices that depend on the place along their axis alone, and run."""
    x = op.operands[0]
    indices = _indices(op, weights)
    if indices is None or indices.size == 0:
        return None
    axis = attr(op, "axis") % indices.ndim
    lines = np.moveaxis(indices, axis, -1).reshape(-1, indices.shape[axis])
    start = _run(lines[0], shape_of(x)[axis]) if bool(np.all(lines == lines[0])) else None
    if start is None:
        return None
    ranges = {i: (start if i == axis else 0, size) for i, size in enumerate(indices.shape)}
    return lambda rewriter: _part(rewriter, op, x, ranges)


def _gather_nd(op: GatherNdOp, weights: WeightStore) -> Build | None:
    """Index tuples that run through the leading dimensions in row-major order."""
    x = op.operands[0]
    indices = _indices(op, weights)
    if indices is None or attr(op, "batch_dims") or indices.shape[-1] == 0:
        return None
    shape = shape_of(x)
    leading, rest = shape[: indices.shape[-1]], shape[indices.shape[-1] :]
    tuples = indices.reshape(-1, len(leading))
    if tuples.size == 0 or bool(np.any(tuples < -np.array(leading))) or bool(np.any(tuples >= np.array(leading))):
        return None
    places = np.ravel_multi_index(tuple(np.where(t < 0, t + d, t) for t, d in zip(tuples.T, leading, strict=True)), leading)
    count = int(np.prod(leading))
    start = _run(places, count)
    if start is None:
        return None

    def build(rewriter: Rewriter) -> SSAValue:
        flat = rewriter.build(op, ReshapeOp, x, shape=(count, *rest)).results[0]
        return _part(rewriter, op, flat, {0: (start, len(places))})

    return build


def _gather_own(op: GatherNdOp, weights: WeightStore) -> Build | None:
    """Index tuples of samples that each begin with the sample's own number are tuples without it, in a dimension that both share."""
    x, indices = op.operands
    joined, shared, shape = indices.owner, attr(op, "batch_dims"), shape_of(indices)
    if not isinstance(joined, ConcatOp) or attr(joined, "axis") != len(shape) - 1 or not (static(x) and static(indices)):
        return None
    first, *others = joined.operands
    if not others or shape_of(first)[-1] != 1 or shared >= len(shape) - 1 or shape_of(x)[shared] != shape[shared]:
        return None
    own = _known(first, weights)
    if own is None or not bool(np.all(np.moveaxis(own, shared, -1) == np.arange(shape[shared]))):
        return None

    def build(rewriter: Rewriter) -> SSAValue:
        rest = others[0] if len(others) == 1 else rewriter.build(op, ConcatOp, *others, sources=(joined,), axis=len(shape) - 1).results[0]
        return rewriter.build(op, GatherNdOp, x, rest, batch_dims=shared + 1).results[0]

    return build


def _indices(op: Operation, weights: WeightStore) -> NDArray | None:
    return _known(op.operands[1], weights) if static(op.operands[0]) else None


def _known(value: SSAValue, weights: WeightStore, depth: int = 4) -> NDArray | None:
    """Return the value of a constant, or of constants that are reshaped, expanded and joined: ops that stay where their result is large.

    depth: the most ops that may be on the way.
    """
    op = value.owner
    if not isinstance(op, ReshapeOp | ExpandOp | ConcatOp):
        return constant_array(value, weights, MAX_READ)
    if depth == 0 or not static(value) or spec_of(value.type).elements > MAX_READ:
        return None
    parts = [_known(operand, weights, depth - 1) for operand in op.operands]
    arrays = [part for part in parts if part is not None]
    if len(arrays) < len(parts):
        return None
    if isinstance(op, ConcatOp):
        return np.concatenate(arrays, attr(op, "axis"))
    return arrays[0].reshape(shape_of(value)) if isinstance(op, ReshapeOp) else np.broadcast_to(arrays[0], shape_of(value))


def _run(indices: NDArray, size: int) -> int | None:
    """Return where a run of consecutive indices within a dimension starts; None if they are no run."""
    if indices.size == 0 or size == 0:
        return None
    first = int(indices[0]) + (size if indices[0] < 0 else 0)
    counted = np.where(indices < 0, indices + size, indices)
    if not 0 <= first <= size - indices.size:
        return None
    return first if np.array_equal(counted, np.arange(first, first + indices.size)) else None


def _part(rewriter: Rewriter, op: Operation, x: SSAValue, ranges: dict[int, tuple[int, int]]) -> SSAValue:
    """x within (start, length) along some axes, in the shape of the op's result."""
    shape = shape_of(x)
    starts = [ranges.get(i, (0, size))[0] for i, size in enumerate(shape)]
    sizes = [ranges.get(i, (0, size))[1] for i, size in enumerate(shape)]
    if sizes != list(shape):
        x = rewriter.build(op, SliceOp, x, starts=tuple(starts), sizes=tuple(sizes), steps=(1,) * len(shape)).results[0]
    return reshaped(rewriter, op, x, shape_of(op.results[0]))


def _repeated(rewriter: Rewriter, op: GatherOp, x: SSAValue, axis: int, index: int) -> SSAValue:
    """x at one index along an axis, expanded to the shape of the op's result."""
    result, shape = shape_of(op.results[0]), shape_of(x)
    starts = tuple(index if i == axis else 0 for i in range(len(shape)))
    sizes = tuple(1 if i == axis else size for i, size in enumerate(shape))
    chosen = rewriter.build(op, SliceOp, x, starts=starts, sizes=sizes, steps=(1,) * len(shape)).results[0]
    ones = (1,) * (len(result) - len(shape) + 1)
    placed = reshaped(rewriter, op, chosen, (*shape[:axis], *ones, *shape[axis + 1 :]))
    return placed if shape_of(placed) == result else rewriter.build(op, ExpandOp, placed, shape=result).results[0]


def rules() -> list[RewriteRule]:
    """Return the rewrite rules for gathers."""
    return [
        RewriteRule("gather-run", (GatherOp,), _gather),
        RewriteRule("gather-table", (GatherOp,), _gather_table),
        RewriteRule("gather-elements-run", (GatherElementsOp,), _gather_elements),
        RewriteRule("gather-nd-run", (GatherNdOp,), _gather_nd),
        RewriteRule("gather-nd-own", (GatherNdOp,), _gather_own),
    ]
