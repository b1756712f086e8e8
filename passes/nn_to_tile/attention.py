"""Lowering of attention."""

from __future__ import annotations

from xdsl.ir import SSAValue

from ttc.dialects.nn.attention import AttentionOp
from ttc.dialects.tile import attention as tile
from ttc.passes.nn_to_tile.lowering import Lowering


def wants_attention(op: AttentionOp) -> dict[SSAValue, int]:
    """A matrix each for every leading dimension."""
    return {op.q: 1, op.k: 1, op.v: 1} | ({} if op.mask is None else {op.mask: 1})


def lower_attention(op: AttentionOp, low: Lowering) -> SSAValue:
    """tile.attention of the same attributes."""
    mask = None if op.mask is None else low.tile(op.mask, 1)
    operands = (low.tile(op.q, 1), low.tile(op.k, 1), low.tile(op.v, 1), mask)
    return low.emit(tile.AttentionOp, *operands, like=op.y, fold=1, **op.plain_attrs())
