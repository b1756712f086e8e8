"""Normalizations over the trailing dimensions."""

from __future__ import annotations

from xdsl.irdl import (
    AttrSizedOperandSegments,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    result_def,
    traits_def,
)
from xdsl.traits import Pure

from ttc.dialects.tile.base import TILE, TileOp


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
    y = result_def(TILE)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(Pure())


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
    y = result_def(TILE)
    traits = traits_def(Pure())
