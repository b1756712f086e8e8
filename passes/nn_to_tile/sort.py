"""Lowering of ops that order elements."""

from __future__ import annotations

from xdsl.ir import SSAValue

from ttc.dialects.nn.sort import TopkOp
from ttc.dialects.tile import sort as tile
from ttc.dialects.tile.base import twin
from ttc.passes.nn_to_tile import TO_TILE
from ttc.passes.nn_to_tile.lowering import FunctionLowering


@TO_TILE.rule("topk")
def lower_topk(op: TopkOp, low: FunctionLowering) -> list[SSAValue]:
    """Lower topk to tile.order for the places, and a gather of the elements there."""
    low.require_rows()
    x = low.tile(op.x)
    places = low.emit(tile.OrderOp, x, like=op.indices, **op.plain_attrs())
    return [low.emit(twin("gather_elements"), x, places, axis=op.plain_attrs()["axis"]), places]
