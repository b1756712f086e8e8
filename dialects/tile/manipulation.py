"""What Buda netlists do to an input before an op reads it, and to a result: copies, tiles of other sides, formats."""

from __future__ import annotations

from xdsl.irdl import irdl_op_definition, operand_def, result_def

from ttc.dialects.tile.base import TILE, TileOp


@irdl_op_definition
class RepeatOp(TileOp):
    """x laid n times one after another along an axis: y[..., i, ...] = x[..., i mod size of x, ...].

    Args:    x: tile.  axis: in [-rank, rank).  n: number of copies.
    Returns: y: tile whose axis is n times as long.
    Raises:  E0402 if n is out of range.  E0412 if axis is outside the rank.
    Source:  the tile manipulation `broadcast` of Buda netlists.
    """

    name = "tile.repeat"
    x = operand_def(TILE)
    y = result_def(TILE)


@irdl_op_definition
class TileBroadcastOp(TileOp):
    """One row (dim `r`), column (`c`) or element (`rc`) of every tile, the first, in place of all of the tile.

    Args:    x: tile[..., rows, columns] of whole tiles.  dim: r, c or rc.  tile: height and width of a tile in elements.
    Returns: y: tile of the shape of x.
    Raises:  E0401 if x does not consist of whole tiles.  E0402 for another dim.
    Source:  the tile manipulation `tile_broadcast` of Buda netlists; biases of matmuls.
    """

    name = "tile.tile_broadcast"
    x = operand_def(TILE)
    y = result_def(TILE)


@irdl_op_definition
class RetileOp(TileOp):
    """Tiles of other sides: each tile of `source` becomes one of `target`, in which its upper left `kept` elements stand beside zeros.

    Args:    x: tile[..., rows, columns] of whole tiles of height and width `source`.  kept, target: heights and widths.
    Returns: y: tile of as many tiles.
    Raises:  E0401 if x does not consist of whole tiles.  E0402 if what is kept is larger than either tile.
    Source:  tiles with fewer than 32 rows or columns in Buda netlists, which compute in frames of 32 x 32.
    """

    name = "tile.retile"
    x = operand_def(TILE)
    y = result_def(TILE)


@irdl_op_definition
class AdjustOp(TileOp):
    """Numbers as a format holds them, whatever the format of the result: y[i] = round(x[i]).

    Args:    x: tile of any shape.  to: name of the format.  rounding: `rne` to the nearest, or `truncate`.
    Returns: y: tile of the shape of x.
    Raises:  E0402 for another rounding.  E0607 for a format that does not exist.
    Source:  conversions of operands in the reference semantics of Buda netlists.
    """

    name = "tile.adjust"
    x = operand_def(TILE)
    y = result_def(TILE)
