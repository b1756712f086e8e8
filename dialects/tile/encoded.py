"""Products with matrices of tiles: sparse ones that a stream of codes describes, and one tile a column."""

from __future__ import annotations

from xdsl.irdl import irdl_op_definition, operand_def, result_def

from ttc.dialects.tile.base import TILE, TileOp


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
    y = result_def(TILE)


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
    y = result_def(TILE)
