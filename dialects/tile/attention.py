"""Scaled dot-product attention as an op of tile."""

from __future__ import annotations

from xdsl.irdl import irdl_op_definition, operand_def, opt_operand_def, result_def

from ttc.dialects.tile.base import TILE, TileOp


@irdl_op_definition
class AttentionOp(TileOp):
    """Scaled dot-product attention over the last two dimensions: y = softmax(q k^T * scale + mask) v.

    Args:    q: tile[..., s, d].  k: tile[..., t, d].  v: tile[..., t, e].  mask: additive, broadcasts to [..., s, t].
             scale: factor of the scores.  zero_masked: rows whose scores are all -inf give 0 instead of NaN.
    Returns: y: tile[..., s, e].
    Raises:  E0401 if the shapes do not fit.
    """

    name = "tile.attention"
    q = operand_def(TILE)
    k = operand_def(TILE)
    v = operand_def(TILE)
    mask = opt_operand_def(TILE)
    y = result_def(TILE)
