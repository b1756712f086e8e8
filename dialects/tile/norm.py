"""Normalizations over the trailing dimensions."""

from __future__ import annotations

from xdsl.irdl import (
    AttrSizedOperandSegments,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import Pure

from ttc.dialects.core.ir.attributes import FLOAT, INT
from ttc.dialects.nn.base import axis_in
from ttc.dialects.tile.base import TILE, Tile, TileOp, require_broadcastable


@irdl_op_definition
class LayerNormOp(TileOp):
    """Layer normalization over dimensions axis..rank-1: y = (x - mean) / sqrt(variance + eps) * scale + bias.

    Args:    x: floating-point tile.  scale, bias: tiles that broadcast to x.  axis: in [-rank, rank).  eps: added to the variance.
    Returns: y: tile of the shape of x.
    Raises:  E0412 if axis is outside the rank.  E0401 if scale or bias do not broadcast.
    """

    name = "tile.layer_norm"
    x = operand_def(TILE)
    scale = opt_operand_def(TILE)
    bias = opt_operand_def(TILE)
    axis = prop_def(INT)
    eps = prop_def(FLOAT)
    y = result_def(TILE)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(Pure())

    @classmethod
    def infer(cls, x: Tile, scale: Tile | None = None, bias: Tile | None = None, *, axis: int, eps: float) -> tuple[int, ...]:
        axis_in(axis, len(x.shape))
        require_broadcastable(scale, x.shape)
        require_broadcastable(bias, x.shape)
        return x.shape


@irdl_op_definition
class RmsNormOp(TileOp):
    """Root-mean-square normalization over dimensions axis..rank-1: y = x / sqrt(mean x^2 + eps) * scale.

    Args:    x: floating-point tile.  scale: tile that broadcasts to x.  axis: in [-rank, rank).  eps: added to the mean square.
    Returns: y: tile of the shape of x.
    Raises:  E0412 if axis is outside the rank.  E0401 if scale does not broadcast.
    """

    name = "tile.rms_norm"
    x = operand_def(TILE)
    scale = operand_def(TILE)
    axis = prop_def(INT)
    eps = prop_def(FLOAT)
    y = result_def(TILE)
    traits = traits_def(Pure())

    @classmethod
    def infer(cls, x: Tile, scale: Tile, *, axis: int, eps: float) -> tuple[int, ...]:
        axis_in(axis, len(x.shape))
        require_broadcastable(scale, x.shape)
        return x.shape
