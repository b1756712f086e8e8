"""Ops of tile that order elements along a dimension."""

from __future__ import annotations

from xdsl.irdl import irdl_op_definition, operand_def, result_def, traits_def
from xdsl.traits import Pure

from ttc.dialects.tile.base import TILE, SharedOp, TileOp


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
    traits = traits_def(Pure())


@irdl_op_definition
class ReverseSequenceOp(SharedOp):
    """The beginnings of sequences in reverse order; what follows stays.

    For time_axis 0 and batch_axis 1: y[t, b, ...] = x[lengths[b] - 1 - t, b, ...] where t < lengths[b], x[t, b, ...] elsewhere.

    Args:    x: tile[...].  lengths: integer tile[d_batch_axis], each in [0, d_time_axis].  time_axis, batch_axis: distinct, in [0, rank).
    Returns: y: tile of the shape of x.
    Raises:  E0412 if an axis is outside the rank, E0402 if they are the same, E0401 if lengths does not fit.  E0802 at run time for a
             length out of range.
    """

    name = "tile.reverse_sequence"
    x = operand_def(TILE)
    lengths = operand_def(TILE)
    y = result_def(TILE)
    traits = traits_def(Pure())
