"""Reductions, places of extremes, cumulative sums and products."""

from __future__ import annotations

from xdsl.irdl import irdl_op_definition, operand_def, result_def, traits_def
from xdsl.traits import Pure

from ttc.dialects.tile.base import TILE, SharedOp, TileOp


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
    traits = traits_def(Pure())


class _Place(SharedOp):
    x = operand_def(TILE)
    y = result_def(TILE)
    traits = traits_def(Pure())


@irdl_op_definition
class ArgMaxOp(_Place):
    """Place of the largest element along one axis; a NaN counts as largest.

    Args:    x: tile[..., d_axis, ...].  axis: in [-rank, rank).  keepdims: whether it stays, of size 1.
             select_last: whether the last of equal elements is meant, not the first.
    Returns: y: integer tile without the axis, or with size 1 there.
    Raises:  E0412 if axis is outside the rank, E0401 if it is empty.
    """

    name = "tile.argmax"


@irdl_op_definition
class ArgMinOp(_Place):
    """Place of the smallest element along one axis; a NaN counts as smallest.

    Args:    x: tile[..., d_axis, ...].  axis: in [-rank, rank).  keepdims: whether it stays, of size 1.
             select_last: whether the last of equal elements is meant, not the first.
    Returns: y: integer tile without the axis, or with size 1 there.
    Raises:  E0412 if axis is outside the rank, E0401 if it is empty.
    """

    name = "tile.argmin"


class _Cumulative(SharedOp):
    x = operand_def(TILE)
    y = result_def(TILE)
    traits = traits_def(Pure())


@irdl_op_definition
class CumsumOp(_Cumulative):
    """Cumulative sum along one axis: y[i] = x[0] + ... + x[i].  Integers wrap around.

    Args:    x: tile.  axis: in [-rank, rank).  exclusive: whether x[i] itself is left out.  reverse: whether sums run from the end.
    Returns: y: tile of the shape of x.
    Raises:  E0412 if axis is outside the rank.
    """

    name = "tile.cumsum"


@irdl_op_definition
class CumprodOp(_Cumulative):
    """Cumulative product along one axis: y[i] = x[0] * ... * x[i].  Integers wrap around.

    Args:    x: tile.  axis: in [-rank, rank).  exclusive: whether x[i] itself is left out.  reverse: whether products run from the end.
    Returns: y: tile of the shape of x.
    Raises:  E0412 if axis is outside the rank.
    """

    name = "tile.cumprod"
