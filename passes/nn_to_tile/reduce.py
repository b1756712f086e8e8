"""Lowering of reductions, places of extremes, cumulative sums and products."""

from __future__ import annotations

from xdsl.ir import SSAValue

from ttc.dialects.core.ir.spec import spec_of
from ttc.dialects.nn.base import NNOp
from ttc.dialects.tile import reduce as tile
from ttc.passes.nn_to_tile.lowering import Lowering, in_rows, natural_fold


def lower_reduce_sum(op: NNOp, low: Lowering) -> SSAValue:
    return _reduce(op, low)


def lower_reduce_mean(op: NNOp, low: Lowering) -> SSAValue:
    return _reduce(op, low)


def lower_reduce_max(op: NNOp, low: Lowering) -> SSAValue:
    return _reduce(op, low)


def lower_reduce_min(op: NNOp, low: Lowering) -> SSAValue:
    return _reduce(op, low)


def lower_reduce_prod(op: NNOp, low: Lowering) -> SSAValue:
    return _reduce(op, low)


def lower_argmax(op: NNOp, low: Lowering) -> SSAValue:
    """Lower nn.argmax to tile.argmax, in row layout."""
    return in_rows(op, tile.ArgMaxOp, low)


def lower_argmin(op: NNOp, low: Lowering) -> SSAValue:
    """Lower nn.argmin to tile.argmin, in row layout."""
    return in_rows(op, tile.ArgMinOp, low)


def lower_cumsum(op: NNOp, low: Lowering) -> SSAValue:
    """Lower nn.cumsum to tile.cumsum, in row layout."""
    return in_rows(op, tile.CumsumOp, low)


def lower_cumprod(op: NNOp, low: Lowering) -> SSAValue:
    """Lower nn.cumprod to tile.cumprod, in row layout."""
    return in_rows(op, tile.CumprodOp, low)


def _reduce(op: NNOp, low: Lowering) -> SSAValue:
    """tile.reduce in the fold of the operand; a result of lower rank takes the fold of fewest tiles."""
    x = low.tile(op.operands[0])
    attrs = op.plain_attrs()
    fold = None if attrs["keepdims"] else low.wish(op.results[0]) or natural_fold(spec_of(op.results[0].type).shape)
    return low.emit(tile.ReduceOp, x, like=op.results[0], fold=fold, fn=op.name.removeprefix("nn.reduce_"), **attrs)
