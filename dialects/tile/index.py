"""Ops that read where an index tensor says."""

from __future__ import annotations

from xdsl.irdl import irdl_op_definition, operand_def, result_def, traits_def
from xdsl.traits import Pure

from ttc.dialects.tile.base import TILE, SharedOp, TileOp


@irdl_op_definition
class EmbeddingOp(TileOp):
    """Rows of a table: y[..., :] = table[indices[...], :].

    Args:    table: tile[rows, width].  indices: integer tile[...], each in [-rows, rows); negative ones count from the end.
    Returns: y: tile[..., width].
    Raises:  E0401 unless the table is of rank 2.  E0802 at run time for an index out of range.
    """

    name = "tile.embedding"
    table = operand_def(TILE)
    indices = operand_def(TILE)
    y = result_def(TILE)
    traits = traits_def(Pure())


class _Gather(SharedOp):
    x = operand_def(TILE)
    indices = operand_def(TILE)
    y = result_def(TILE)
    traits = traits_def(Pure())


@irdl_op_definition
class GatherOp(_Gather):
    """Slices of x along one axis: y[a.., i.., b..] = x[a.., indices[i..], b..].

    Args:    x: tile[a.., d_axis, b..].  indices: integer tile[i..], each in [-d_axis, d_axis).  axis: in [-rank, rank).
    Returns: y: tile[a.., i.., b..].
    Raises:  E0412 if axis is outside the rank.  E0802 at run time for an index out of range.
    """

    name = "tile.gather"


@irdl_op_definition
class GatherElementsOp(_Gather):
    """Elements of x, one for each place of indices: for axis 1 of rank 3, y[i, j, k] = x[i, indices[i, j, k], k].

    Args:    x: tile[...].  indices: integer tile of x's rank, each in [-d_axis, d_axis); in dimensions other than the axis not larger
             than x.  axis: in [-rank, rank).
    Returns: y: tile of the shape of indices.
    Raises:  E0412 if axis is outside the rank, E0401 if indices do not suit x.  E0802 at run time for an index out of range.
    """

    name = "tile.gather_elements"


@irdl_op_definition
class GatherNdOp(_Gather):
    """Slices of x at index tuples: y[n.., i..] = x[n.., indices[n.., i.., 0], ..., indices[n.., i.., k - 1]].

    Args:    x: tile[n.., d.., r..], k dimensions d.  indices: integer tile[n.., i.., k], entry j in [-d_j, d_j).
             batch_dims: number of dimensions n, which x and indices share.
    Returns: y: tile[n.., i.., r..].
    Raises:  E0401 if shapes do not suit each other, E0402 for another batch_dims.  E0802 at run time for an index out of range.
    """

    name = "tile.gather_nd"


@irdl_op_definition
class LookupOp(TileOp):
    """Rows of a table as the device gathers them: the index 0xFFFFFFFF stands for a row of zeros, every matrix of the result is the same.

    The rows of the index tensor are shared out over cores, and so are those of the result.  A core reads its tiles one after another, each
    row by row, and fills the first `count` of its rows; zeros follow.

    Args:    table: tile[..., width], all but the last dimension rows.  indices: integer tile[z, rows, columns] of whole tiles of 32 x 32.
             rows: of the result.  cores: how many share them.  count: indices of a core.  t: matrices of the result.
    Returns: y: tile[t, rows, width].
    Raises:  E0401 if the indices cannot be shared out or are too few, E0402 if rows do not hold them.  E0802 at run time for an index
             outside the table.
    Source:  op `embedding` of Buda netlists.
    """

    name = "tile.lookup"
    table = operand_def(TILE)
    indices = operand_def(TILE)
    y = result_def(TILE)
    traits = traits_def(Pure())
