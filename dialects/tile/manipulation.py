"""What Buda netlists do to an input before an op reads it, and to a result: copies, tiles of other sides, formats."""

from __future__ import annotations

from typing import ClassVar

from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def, traits_def
from xdsl.traits import Pure

from ttc.dialects.core.errors import Error
from ttc.dialects.core.formats import format_named
from ttc.dialects.core.ir.attributes import INT, INTS, STR
from ttc.dialects.core.tiling.arrays import MAX_ELEMENTS
from ttc.dialects.nn.base import axis_in
from ttc.dialects.tile.base import TILE, Tile, TileOp


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
    axis = prop_def(INT)
    n = prop_def(INT)
    y = result_def(TILE)
    traits = traits_def(Pure())

    @classmethod
    def infer(cls, x: Tile, *, axis: int, n: int) -> tuple[int, ...]:
        at = axis_in(axis, len(x.shape))
        if n < 1 or x.elements * n > MAX_ELEMENTS:
            raise Error("E0402", f"{list(x.shape)} cannot be repeated {n:,} times")
        return (*x.shape[:at], x.shape[at] * n, *x.shape[at + 1 :])


@irdl_op_definition
class TileBroadcastOp(TileOp):
    """One row (dim `r`), column (`c`) or element (`rc`) of every tile, the first, in place of all of the tile.

    Args:    x: tile[..., rows, columns] of whole tiles.  dim: r, c or rc.  tile: height and width of a tile in elements.
    Returns: y: tile of the shape of x.
    Raises:  E0401 if x does not consist of whole tiles.  E0402 for another dim.
    Source:  the tile manipulation `tile_broadcast` of Buda netlists; biases of matmuls.
    """

    DIMS: ClassVar[tuple[str, ...]] = ("r", "c", "rc")

    name = "tile.tile_broadcast"
    x = operand_def(TILE)
    dim = prop_def(STR)
    tile = prop_def(INTS)
    y = result_def(TILE)
    traits = traits_def(Pure())

    @classmethod
    def infer(cls, x: Tile, *, dim: str, tile: tuple[int, ...]) -> tuple[int, ...]:
        if dim not in cls.DIMS:
            raise Error("E0402", f"a tile is broadcast along r, c or rc, not '{dim}'")
        tiles_in(x.shape, tile)
        return x.shape


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
    source = prop_def(INTS)
    kept = prop_def(INTS)
    target = prop_def(INTS)
    y = result_def(TILE)
    traits = traits_def(Pure())

    @classmethod
    def infer(cls, x: Tile, *, source: tuple[int, ...], kept: tuple[int, ...], target: tuple[int, ...]) -> tuple[int, ...]:
        rows, columns = tiles_in(x.shape, source)
        if not len(kept) == len(target) == 2 or any(not 1 <= k <= min(s, t) for k, s, t in zip(kept, source, target, strict=True)):
            raise Error("E0402", f"{list(kept)} elements do not fit tiles of {list(source)} and {list(target)}")
        return (*x.shape[:-2], rows * target[0], columns * target[1])


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
    to = prop_def(STR)
    rounding = prop_def(STR)
    y = result_def(TILE)
    traits = traits_def(Pure())

    @classmethod
    def infer(cls, x: Tile, *, to: str, rounding: str) -> tuple[int, ...]:
        format_named(to)
        if rounding not in ("rne", "truncate"):
            raise Error("E0402", f"there is no rounding '{rounding}'")
        return x.shape


def tiles_in(shape: tuple[int, ...], tile: tuple[int, ...]) -> tuple[int, int]:
    """Rows and columns in tiles of matrices of whole tiles.  Raises E0401 for others."""
    if len(tile) != 2 or min(tile) < 1 or len(shape) < 2 or shape[-2] % tile[0] or shape[-1] % tile[1]:
        raise Error("E0401", f"{list(shape)} does not consist of tiles of {list(tile)}")
    return shape[-2] // tile[0], shape[-1] // tile[1]
