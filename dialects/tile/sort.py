"""The order of elements along a dimension as an op of tile."""

from __future__ import annotations

from xdsl.irdl import irdl_op_definition, operand_def, result_def

from ttc.dialects.tile.base import TILE, TileOp


@irdl_op_definition
class OrderOp(TileOp):
    """Places of the k largest (or smallest) elements along one axis, in order; of equal ones the first comes first, NaN comes last.

    Args:    x: tile[..., d_axis, ...].  k: in [0, d_axis].  axis: in [-rank, rank).  largest: or smallest.
    Returns: y: integer tile[..., k, ...], each in [0, d_axis).
    Raises:  E0412 if axis is outside the rank, E0402 if k does not suit it.
    """

    name = "tile.order"
    x = operand_def(TILE)
    y = result_def(TILE)
