"""Products with matrices of tiles: sparse ones that a stream of codes describes, and one tile a column."""

from __future__ import annotations

from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def, traits_def
from xdsl.traits import Pure

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.attributes import INT, INTS
from ttc.dialects.core.tiling.arrays import MAX_ELEMENTS, SIDE
from ttc.dialects.core.tiling.sparse_codes import Codes
from ttc.dialects.tile.base import TILE, Tile, TileOp
from ttc.dialects.tile.manipulation import tiles_in


@irdl_op_definition
class EncodedMatmulOp(TileOp):
    """Sparse matrices times x: their distinct tiles are an operand, and which of them stand where is another.

    Each row of cores has matrices of its own, and so has each fracture of its columns; `dialects/core/tiling/sparse_codes.py` says how
    codes read.  All matrices of x, one above another, are one matrix; those of the result are `shape[0]` products with it.

    Args:    tiles: tile[1, rows of cores * 32, tiles * 32].  x: tile[z, rows, columns].  codes: tile[1, rows of cores * 32, columns] of
             unsigned integers.  shape: of the result.  grid: rows and columns of cores.  fractures: how many share the columns of a row
             of cores.  mblock_m: blocks down a core's result.  u_rt, u_kt: rows and columns of tiles of a block.
             tile_bits, ublock_bits: of the codes of tiles and blocks.
    Returns: y: tile of that shape.
    Raises:  E0401 if the operands cannot be shared out, E0402 for attributes out of range.  E0802 at run time for codes without meaning.
    Source:  matmul with attribute `identity` of Buda netlists.
    """

    name = "tile.encoded_matmul"
    tiles = operand_def(TILE)
    x = operand_def(TILE)
    codes = operand_def(TILE)
    shape = prop_def(INTS)
    grid = prop_def(INTS)
    fractures = prop_def(INT)
    mblock_m = prop_def(INT)
    u_rt = prop_def(INT)
    u_kt = prop_def(INT)
    tile_bits = prop_def(INT)
    ublock_bits = prop_def(INT)
    y = result_def(TILE)
    traits = traits_def(Pure())

    @classmethod
    def infer(
        cls,
        tiles: Tile,
        x: Tile,
        codes: Tile,
        *,
        shape: tuple[int, ...],
        grid: tuple[int, ...],
        fractures: int,
        mblock_m: int,
        u_rt: int,
        u_kt: int,
        tile_bits: int,
        ublock_bits: int,
    ) -> tuple[int, ...]:
        if tile_bits:  # netlists may leave the sizes of codes out: only running them asks
            Codes(mblock_m, u_rt, u_kt, tile_bits, ublock_bits).check()
        if len(shape) != 3 or len(grid) != 2 or min((*shape, *grid, fractures)) < 1 or len(x.shape) != 3 or grid[1] % fractures:
            raise Error("E0402", f"a sparse product of shape {list(shape)} does not lie on a grid of {list(grid)} in {fractures} fractures")
        for operand in (tiles, codes):
            rows, columns = tiles_in(operand.shape, (SIDE, SIDE))
            if len(operand.shape) != 3 or operand.shape[0] != 1 or rows % grid[0] or columns % fractures:
                raise Error("E0401", f"{list(operand.shape)} cannot be shared out over {list(grid)} cores")
        tiles_in(x.shape, (SIDE, SIDE))
        whole = (grid[0] * mblock_m * u_rt * SIDE, x.shape[2])
        if shape[1:] != whole or x.shape[2] % (fractures * SIDE) or shape[0] * whole[0] * whole[1] > MAX_ELEMENTS:
            raise Error("E0401", f"blocks of {whole[0]} rows times {list(x.shape)} do not give {list(shape)}")
        return shape


@irdl_op_definition
class TileDepthwiseOp(TileOp):
    """Sum over blocks of columns of a, every tile of them times the tile of b in the block's row and in its own column.

        y[r, c] = sum over z < count of a[r, z * columns + c] @ b[z, c],  r, c in tiles of 32 x 32

    Args:    a: tile[t, rows, count * columns].  b: tile[t, count * 32, columns].  count: number of blocks.
    Returns: y: tile[t, rows, columns].
    Raises:  E0401 if the shapes do not fit.
    Source:  op `depthwise` of Buda netlists; `tile.depthwise` is the case of diagonal tiles.
    """

    name = "tile.tile_depthwise"
    a = operand_def(TILE)
    b = operand_def(TILE)
    count = prop_def(INT)
    y = result_def(TILE)
    traits = traits_def(Pure())

    @classmethod
    def infer(cls, a: Tile, b: Tile, *, count: int) -> tuple[int, ...]:
        rows, columns = tiles_in(a.shape, (SIDE, SIDE))
        fits = len(a.shape) == 3 and count > 0 and columns % count == 0
        if not fits or b.shape != (a.shape[0], count * SIDE, columns // count * SIDE):
            raise Error("E0401", f"a depthwise product of {count} blocks does not take {list(a.shape)} and {list(b.shape)}")
        return (a.shape[0], rows * SIDE, columns // count * SIDE)
