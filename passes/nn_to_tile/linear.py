"""Lowering of matmul and of determinants."""

from __future__ import annotations

from xdsl.ir import SSAValue

from ttc.dialects.core.spec import spec_of
from ttc.dialects.nn.linear import DetOp, MatmulOp
from ttc.dialects.tile import linear as tile
from ttc.passes.nn_to_tile.lowering import Lowering, in_rows, natural_fold, tiles_of


def wants_matmul(op: MatmulOp) -> dict[SSAValue, int]:
    """With one matrix for all of a, its leading dimensions are rows; with a matrix each, they are not."""
    if not _has_one_matrix(op):
        return {op.a: 1, op.b: 1}
    return {op.a: natural_fold(spec_of(op.a.type).shape)}


def lower_matmul(op: MatmulOp, low: Lowering) -> SSAValue:
    """tile.matmul of the same attributes, a in the fold of fewest tiles."""
    fold = _fold(op, low)
    shape = spec_of(op.y.type).shape
    bias = op.bias
    tile_of_bias = None if bias is None else low.tile(bias, fold if spec_of(bias.type).shape == shape else None)
    operands = (low.tile(op.a, fold), low.tile(op.b, 1), tile_of_bias)
    return low.emit(tile.MatmulOp, *operands, like=op.y, fold=fold, **op.plain_attrs())


def lower_det(op: DetOp, low: Lowering) -> SSAValue:
    """tile.det."""
    return in_rows(op, tile.DetOp, low)


def _has_one_matrix(op: MatmulOp) -> bool:
    attrs = op.plain_attrs()
    return spec_of(op.b.type).rank == 2 and not attrs["transpose_a"]


def _fold(op: MatmulOp, low: Lowering) -> int:
    if not _has_one_matrix(op):
        return 1
    shape = spec_of(op.a.type).shape
    return min((low.fold(op.a), natural_fold(shape)), key=lambda fold: tiles_of(shape, fold))
