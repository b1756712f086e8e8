"""Pieces of several tensors in turn."""

from __future__ import annotations

from math import prod

from xdsl.irdl import irdl_op_definition, opt_prop_def, prop_def, result_def, traits_def, var_operand_def
from xdsl.traits import Pure

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.attributes import INT, INTS, STR
from ttc.dialects.tile.base import TILE, Tile, TileOp
from ttc.dialects.tile.kernels.splice import Pieces


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
    pieces = prop_def(INTS)
    units = prop_def(INT)
    granularity = prop_def(STR)
    grid = opt_prop_def(INTS)
    mblock = opt_prop_def(INTS)
    block = opt_prop_def(INTS)
    order = opt_prop_def(STR)
    y = result_def(TILE)
    traits = traits_def(Pure())

    @classmethod
    def infer(
        cls,
        *xs: Tile,
        pieces: tuple[int, ...],
        units: int,
        granularity: str,
        grid: tuple[int, ...] = (1, 1),
        mblock: tuple[int, ...] = (1, 1),
        block: tuple[int, ...] = (1, 1),
        order: str = "r",
    ) -> tuple[int, ...]:
        if granularity not in ("t", "ublock") or order not in ("r", "c"):
            raise Error("E0402", f"there is no splice of granularity '{granularity}' in order '{order}'")
        if not xs or any(len(x.shape) != 3 for x in xs) or len(pieces) != 3 * len(xs):
            raise Error("E0401", f"a splice with pieces {list(pieces)} does not take {', '.join(str(list(x.shape)) for x in xs)}")
        if granularity == "t":
            if len({x.shape[1:] for x in xs}) != 1:
                raise Error("E0401", f"matrices of {', '.join(str(list(x.shape[1:])) for x in xs)} cannot be spliced")
            Pieces(pieces).taken([x.shape[0] for x in xs], units)
            return (units, *xs[0].shape[1:])
        sides = (*grid, *mblock, *block)
        if len(sides) != 6 or min(sides) < 1 or units != prod(mblock):
            raise Error("E0402", f"{units} blocks of {list(block)} do not fill {list(mblock)} on a grid of {list(grid)}")
        share = (grid[0] * block[0], grid[1] * block[1])
        if any(x.shape[0] != xs[0].shape[0] or x.shape[1] % share[0] or x.shape[2] % share[1] for x in xs):
            raise Error("E0401", f"{', '.join(str(list(x.shape)) for x in xs)} cannot be cut into blocks of {list(block)}")
        Pieces(pieces).taken([x.shape[1] // share[0] * (x.shape[2] // share[1]) for x in xs], units)
        return (xs[0].shape[0], share[0] * mblock[0], share[1] * mblock[1])
