"""Lowering of reductions over dimensions from nn to tile."""

from __future__ import annotations

from xdsl.ir import SSAValue

from ttc.dialects.core.ir.spec import spec_of
from ttc.dialects.nn.base import NNOp
from ttc.dialects.tile import reduce as tile
from ttc.passes.nn_to_tile import TO_TILE
from ttc.passes.nn_to_tile.lowering import FunctionLowering, natural_fold


@TO_TILE.rule("reduce_sum", "reduce_mean", "reduce_max", "reduce_min", "reduce_prod")
def lower_reduce(op: NNOp, low: FunctionLowering) -> SSAValue:
    """Lower a reduction to tile.reduce in the fold of the operand; a result of lower rank takes the fold of fewest tiles."""
    x = low.tile(op.operands[0])
    attrs = op.plain_attrs()
    fold = None if attrs["keepdims"] else low.wish(op.results[0]) or natural_fold(spec_of(op.results[0].type).shape)
    return low.emit(tile.ReduceOp, x, like=op.results[0], fold=fold, fn=op.name.removeprefix("nn.reduce_"), **attrs)
