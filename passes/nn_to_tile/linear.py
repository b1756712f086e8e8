"""Lowering of matmul and of determinants."""

from __future__ import annotations

from xdsl.ir import SSAValue

from ttc.dialects.core.ir.attributes import plain
from ttc.dialects.core.ir.spec import spec_of
from ttc.dialects.nn.linear import MatmulOp
from ttc.dialects.tile import linear as tile
from ttc.passes.nn_to_tile import TO_TILE, WISHES
from ttc.passes.nn_to_tile.lowering import FunctionLowering, natural_fold, tiles_of


@WISHES.rule("matmul")
def wants_matmul(op: MatmulOp) -> dict[SSAValue, int]:
    """Return the folds of the operands: with one matrix for all of a, its leading dimensions are rows; with a matrix each, they are not."""
    a, b, *_ = op.operands
    if not _has_one_matrix(op, b):
        return {a: 1, b: 1}
    return {a: natural_fold(spec_of(a.type).shape)}


@TO_TILE.rule("matmul")
def lower_matmul(op: MatmulOp, low: FunctionLowering) -> SSAValue:
    """Lower a product to tile.matmul of the same attributes, a in the fold of fewest tiles."""
    a, b, *rest = op.operands
    y = op.results[0]
    fold = _fold(op, a, b, low)
    bias = [low.tile(x, fold if spec_of(x.type).shape == spec_of(y.type).shape else None) for x in rest]
    return low.emit(tile.MatmulOp, low.tile(a, fold), low.tile(b, 1), *(bias or [None]), like=y, fold=fold, **op.plain_attrs())


def _has_one_matrix(op: MatmulOp, b: SSAValue) -> bool:
    return spec_of(b.type).rank == 2 and not plain(op.transpose_a)


def _fold(op: MatmulOp, a: SSAValue, b: SSAValue, low: FunctionLowering) -> int:
    if not _has_one_matrix(op, b):
        return 1
    shape = spec_of(a.type).shape
    held, natural = low.fold(a), natural_fold(shape)
    return natural if tiles_of(shape, natural) < tiles_of(shape, held) else held
