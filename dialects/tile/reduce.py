"""Reductions over dimensions as an op of tile."""

from __future__ import annotations

from xdsl.irdl import irdl_op_definition, operand_def, result_def

from ttc.dialects.tile.base import TILE, TileOp


@irdl_op_definition
class ReduceOp(TileOp):
    """Reduction over some dimensions: sum, mean, max, min or prod.

    Args:    x: tile.  fn: sum, mean, max, min or prod.  axes: in [-rank, rank), each once.  keepdims: reduced dimensions stay, of size 1.
    Returns: y: tile without the reduced dimensions, or with size 1 there.
    Raises:  E0402 for another fn.  E0412 if an axis is outside the rank or named twice.
    """

    name = "tile.reduce"
    x = operand_def(TILE)
    y = result_def(TILE)
