"""Ops that read where an index tensor says."""

from __future__ import annotations

from xdsl.irdl import irdl_op_definition, operand_def, result_def, traits_def
from xdsl.traits import Pure

from ttc.dialects.core.errors import Error
from ttc.dialects.tile.base import TILE, Tile, TileOp


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

    @classmethod
    def infer(cls, table: Tile, indices: Tile) -> tuple[int, ...]:
        if len(table.shape) != 2:
            raise Error("E0401", f"an embedding table has rank 2, not {list(table.shape)}")
        return (*indices.shape, table.shape[1])
