"""Lowering of elementwise ops from nn to tile."""

from __future__ import annotations

from xdsl.ir import SSAValue

from ttc.dialects.core.ir.spec import spec_of
from ttc.dialects.nn.base import NNOp
from ttc.dialects.tile.eltwise import MapOp
from ttc.passes.nn_to_tile.lowering import FunctionLowering


def lower_elementwise(op: NNOp, low: FunctionLowering) -> SSAValue:
    """Lower an elementwise op to tile.map of its name, in the fold of the first operand of full shape that is placed already."""
    attrs = op.plain_attrs()
    shape = spec_of(op.results[0].type).shape
    full = [x for x in op.operands if spec_of(x.type).shape == shape]
    fold = low.fold(next((x for x in full if low.is_placed(x)), (full or op.operands)[0]))
    tiles = [low.tile(x, fold) if spec_of(x.type).shape == shape else low.tile(x) for x in op.operands]
    names, values = (tuple(attrs), tuple(attrs.values())) if attrs else (None, None)
    return low.emit(MapOp, *tiles, like=op.results[0], fold=fold, fn=op.name.removeprefix("nn."), names=names, values=values)
