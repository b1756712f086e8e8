"""Ops that write where an index tensor says."""

from __future__ import annotations

from xdsl.irdl import irdl_op_definition, operand_def, result_def, traits_def
from xdsl.traits import Pure

from ttc.dialects.tile.base import TILE, SharedOp


class _Scatter(SharedOp):
    x = operand_def(TILE)
    indices = operand_def(TILE)
    updates = operand_def(TILE)
    y = result_def(TILE)
    traits = traits_def(Pure())


@irdl_op_definition
class ScatterElementsOp(_Scatter):
    """x with elements replaced: for axis 1 of rank 3, y[i, indices[i, j, k], k] = updates[i, j, k].

    Args:    x: tile[...].  indices: integer tile of x's rank, each in [-d_axis, d_axis); in dimensions other than the axis not larger
             than x.  updates: tile of indices' shape.  axis: in [-rank, rank).
             reduction: none (of equal places the last in row-major order counts), or add, mul, max, min: combine with the element there.
    Returns: y: tile of the shape of x.
    Raises:  E0412 if axis is outside the rank, E0401 if shapes do not suit, E0402 for another reduction.  E0802 at run time for an index
             out of range.
    """

    name = "tile.scatter_elements"


@irdl_op_definition
class ScatterNdOp(_Scatter):
    """x with slices replaced at index tuples: y[indices[i.., 0], ..., indices[i.., k - 1]] = updates[i..].

    Args:    x: tile[d.., r..], k dimensions d.  indices: integer tile[i.., k], entry j in [-d_j, d_j).  updates: tile[i.., r..].
             reduction: none (of equal places the last in row-major order counts), or add, mul, max, min: combine with the element there.
    Returns: y: tile of the shape of x.
    Raises:  E0401 if shapes do not suit each other, E0402 for another reduction.  E0802 at run time for an index out of range.
    """

    name = "tile.scatter_nd"
