"""Lowering of ops that read where an index tensor says."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from math import prod

from numpy.typing import NDArray
from xdsl.ir import SSAValue

from ttc.dialects.core.ir.spec import spec_of
from ttc.dialects.core.shapes import axis_in
from ttc.dialects.nn.base import NNOp
from ttc.dialects.tile import index as tile
from ttc.dialects.tile.base import tile_of
from ttc.dialects.tile.shape import ConcatOp, ReshapeOp
from ttc.passes.nn_to_tile import TO_TILE
from ttc.passes.nn_to_tile.lowering import FunctionLowering, natural_fold
from ttc.passes.nn_to_tile.rows import in_rows
from ttc.passes.nn_to_tile.shape import take


@TO_TILE.rule("gather")
def lower_gather(op: NNOp, low: FunctionLowering) -> SSAValue | Sequence[SSAValue]:
    """Return a slice for one constant index, else tile.embedding for rows of a table, which on tiles is constant; else tile.gather.

    On tiles, slices for a few constant indices.
    """
    x, indices = op.operands
    shape = spec_of(x.type).shape
    axis = axis_in(op.plain_attrs()["axis"], len(shape))
    index = low.literal(indices)
    if index is not None and not bool(((-shape[axis] <= index) & (index < shape[axis])).all()):
        index = None
    if index is not None and index.size == 1:
        return _pick(op, axis, index, low)
    if axis == 0 and (low.leaf(x) is not None or not low.has_tiles):
        return _embed(op, low)
    if index is not None and index.size and low.has_tiles:
        return _pick(op, axis, index, low)
    return in_rows(op, low)


def _pick(op: NNOp, axis: int, index: NDArray, low: FunctionLowering) -> SSAValue:
    """A slice for each run of consecutive indices, one after another."""
    x = low.tile(op.operands[0])
    wanted = (index.ravel() % tile_of(x).shape[axis]).tolist()
    runs = [[i for _, i in run] for _, run in groupby(enumerate(wanted), lambda pair: pair[1] - pair[0])]
    parts = [take(x, axis, run[0], len(run), low) for run in runs]
    part = parts[0] if len(parts) == 1 else low.emit(ConcatOp, *parts, axis=axis)
    shape = spec_of(op.results[0].type).shape
    if tile_of(part).shape == shape:
        return part
    return low.emit(ReshapeOp, part, shape=shape, fold=low.wish(op.results[0]) or natural_fold(shape))


def _embed(op: NNOp, low: FunctionLowering) -> SSAValue:
    """A table of another rank is reshaped to rank 2, and the result back."""
    table, indices = op.operands
    spec, result = spec_of(table.type), spec_of(op.results[0].type)
    fold = low.wish(op.results[0]) or natural_fold(result.shape)
    rows = low.tile(table, 1)
    if spec.rank != 2:
        rows = low.emit(ReshapeOp, rows, shape=(spec.shape[0], prod(spec.shape[1:])))
    y = low.emit(tile.EmbeddingOp, rows, low.tile(indices), fold=fold)
    return y if spec.rank == 2 else low.emit(ReshapeOp, y, shape=result.shape, fold=fold)
