"""Ops of tile that read rows of a table where an index tensor says."""

from __future__ import annotations

from xdsl.irdl import irdl_op_definition, operand_def, result_def

from ttc.dialects.tile.base import TILE, TileOp


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
