"""Lowering of attention from nn to tile."""

from __future__ import annotations

from xdsl.ir import SSAValue

from ttc.dialects.nn.attention import AttentionOp
from ttc.dialects.tile import attention as tile
from ttc.passes.nn_to_tile import TO_TILE, WISHES
from ttc.passes.nn_to_tile.lowering import FunctionLowering

WISHES.add("attention", lambda op: dict.fromkeys(op.operands, 1))


@TO_TILE.rule("attention")
def lower_attention(op: AttentionOp, low: FunctionLowering) -> SSAValue:
    """Lower attention to tile.attention of the same attributes."""
    q, k, v, *rest = op.operands
    mask = [low.tile(x, 1) for x in rest] or [None]
    return low.emit(tile.AttentionOp, low.tile(q, 1), low.tile(k, 1), low.tile(v, 1), *mask, like=op.results[0], fold=1, **op.plain_attrs())
