"""Lowering of ops that read where an index tensor says."""

from __future__ import annotations

from math import prod

from xdsl.ir import SSAValue

from ttc.dialects.core.spec import spec_of
from ttc.dialects.nn.base import NNOp, axis_in
from ttc.dialects.tile.index import EmbeddingOp
from ttc.dialects.tile.shape import ReshapeOp
from ttc.passes.nn_to_tile.lowering import Lowering, natural_fold
from ttc.passes.nn_to_tile.shape import take
from ttc.passes.rule_tables import Declined


def lower_gather(op: NNOp, low: Lowering) -> SSAValue:
    """A slice for one constant index, else tile.embedding for the rows of a constant table."""
    x, indices = op.operands
    shape = spec_of(x.type).shape
    axis = axis_in(op.plain_attrs()["axis"], len(shape))
    index = low.literal(indices)
    if index is not None and index.size == 1 and -shape[axis] <= index.item() < shape[axis]:
        return _pick(op, axis, index.item() % shape[axis], low)
    if axis != 0:
        raise Declined(f"it gathers along dimension {axis}")
    if low.leaf(x) is None and low.unit.target.tile is not None:
        raise Declined("its table is computed")
    return _embed(op, low)


def _pick(op: NNOp, axis: int, index: int, low: Lowering) -> SSAValue:
    part = take(low.tile(op.operands[0]), axis, index, 1, low)
    shape = spec_of(op.results[0].type).shape
    return low.emit(ReshapeOp, part, shape=shape, fold=low.wish(op.results[0]) or natural_fold(shape))


def _embed(op: NNOp, low: Lowering) -> SSAValue:
    """A table of another rank is reshaped to rank 2, and the result back."""
    table, indices = op.operands
    spec, result = spec_of(table.type), spec_of(op.results[0].type)
    fold = low.wish(op.results[0]) or natural_fold(result.shape)
    rows = low.tile(table, 1)
    if spec.rank != 2:
        rows = low.emit(ReshapeOp, rows, shape=(spec.shape[0], prod(spec.shape[1:])))
    y = low.emit(EmbeddingOp, rows, low.tile(indices), fold=fold)
    return y if spec.rank == 2 else low.emit(ReshapeOp, y, shape=result.shape, fold=fold)
