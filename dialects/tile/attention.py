"""Scaled dot-product attention as an op of tile."""

from __future__ import annotations

from xdsl.irdl import irdl_op_definition, operand_def, opt_operand_def, prop_def, result_def, traits_def
from xdsl.traits import Pure

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.attributes import BOOL, FLOAT
from ttc.dialects.nn.base import broadcast_shapes
from ttc.dialects.tile.base import TILE, Tile, TileOp, require_broadcastable


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
    scale = prop_def(FLOAT)
    zero_masked = prop_def(BOOL)
    y = result_def(TILE)
    traits = traits_def(Pure())

    @classmethod
    def infer(cls, q: Tile, k: Tile, v: Tile, mask: Tile | None = None, *, scale: float, zero_masked: bool) -> tuple[int, ...]:
        shapes = [list(x.shape) for x in (q, k, v)]
        if min(map(len, shapes)) < 2 or q.shape[-1] != k.shape[-1] or k.shape[-2] != v.shape[-2]:
            raise Error("E0401", f"attention over {shapes[0]}, {shapes[1]} and {shapes[2]}: inner sizes differ")
        lead = broadcast_shapes(q.shape[:-2], k.shape[:-2], v.shape[:-2])
        require_broadcastable(mask, (*lead, q.shape[-2], k.shape[-2]))
        return (*lead, q.shape[-2], v.shape[-1])
