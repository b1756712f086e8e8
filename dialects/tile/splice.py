"""Pieces of several tensors in turn."""

from __future__ import annotations

from xdsl.irdl import irdl_op_definition, result_def, var_operand_def

from ttc.dialects.tile.base import TILE, TileOp


@irdl_op_definition
class SpliceOp(TileOp):
    """Units of several operands in turn, until the result is full: of each, some are dropped, some taken, some dropped.

    A unit is a matrix (granularity `t`), or a block of a core's share of every matrix (`ublock`): the matrices are cut over a grid of
    cores, a core's share into blocks, which count row by row (order `r`) or column by column (`c`).

    Args:    xs: tile[t, rows, columns] each.  pieces: index, length and stride of each operand: a turn drops `index` units of it, takes
             `length`, and drops what `stride` exceeds that by.  units: of the result.  granularity: t or ublock.
             grid: of cores.  mblock: rows and columns of blocks in a core's share of the result.  block: rows and columns of elements in
             a block.  order: r or c.  These four: of granularity ublock.
    Returns: y: tile[units, rows, columns], or tile[t, rows of the blocks, columns of the blocks].
    Raises:  E0401 if operands do not fit each other or their blocks, E0402 if the pieces do not use them up.
    Source:  op `splice` of Buda netlists.
    """

    name = "tile.splice"
    xs = var_operand_def(TILE)
    y = result_def(TILE)
