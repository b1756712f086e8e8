"""Lowering of attention from nn to tile."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from ttc.dialects.core.ir.adapter import set_type
from ttc.dialects.core.ir.spec import spec_of
from ttc.dialects.nn.attention import AttentionOp, AttentionTrainingOp
from ttc.dialects.tile import attention as tile
from ttc.dialects.tile.base import tile_of, tile_type
from ttc.passes.nn_to_tile import TO_TILE, WISHES
from ttc.passes.nn_to_tile.lowering import FunctionLowering
from ttc.passes.nn_to_tile.rows import in_rows

WISHES.add("attention", lambda op: dict.fromkeys(op.operands, 1))


@TO_TILE.rule("attention")
def lower_attention(op: AttentionOp, low: FunctionLowering) -> SSAValue:
    """Lower attention to tile.attention of the same attributes."""
    q, k, v, *rest = op.operands
    mask = [low.tile(x, 1) for x in rest] or [None]
    return low.emit(tile.AttentionOp, low.tile(q, 1), low.tile(k, 1), low.tile(v, 1), *mask, like=op.results[0], fold=1, **op.plain_attrs())


@TO_TILE.rule("attention_training")
def lower_attention_training(op: AttentionTrainingOp, low: FunctionLowering) -> Sequence[SSAValue]:
    """Lower attention in training to the tile op of its name; the logarithms of its sums keep a format of their own."""
    y, log_sums = in_rows(op, low)
    set_type(log_sums, tile_type(tile_of(log_sums).with_(format=low.format(spec_of(op.log_sums.type).dtype))))
    return [y, log_sums]
