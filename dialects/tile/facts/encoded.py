"""Facts of products with matrices of tiles."""

from __future__ import annotations

from ttc.dialects.core.errors import Error
from ttc.dialects.core.shapes import Shape, tiles_in
from ttc.dialects.core.tiling.arrays import MAX_ELEMENTS, SIDE
from ttc.dialects.core.tiling.sparse_codes import Codes
from ttc.dialects.nn import counts
from ttc.dialects.tile.facts.base import INT, INTS, Ints, Role, fact

_CODES = ("fractures", "mblock_m", "u_rt", "u_kt", "tile_bits", "ublock_bits")


@fact(Role.CONTRACTION, {"shape": INTS, "grid": INTS, **dict.fromkeys(_CODES, INT)}, flops=counts.one_each)
def encoded_matmul(
    tiles: Shape,
    x: Shape,
    codes: Shape,
    *,
    shape: Ints,
    grid: Ints,
    fractures: int,
    mblock_m: int,
    u_rt: int,
    u_kt: int,
    tile_bits: int,
    ublock_bits: int,
) -> Shape:
    """Return the shape announced, of `shape[0]` products with all matrices of x.  Raises E0401, E0402."""
    if tile_bits:  # netlists may leave the sizes of codes out: only running them asks
        Codes(mblock_m, u_rt, u_kt, tile_bits, ublock_bits).check()
    if len(shape) != 3 or len(grid) != 2 or min((*shape, *grid, fractures)) < 1 or len(x) != 3 or grid[1] % fractures:
        raise Error("E0402", f"a sparse product of shape {list(shape)} does not lie on a grid of {list(grid)} in {fractures} fractures")
    for operand in (tiles, codes):
        rows, columns = tiles_in(operand, (SIDE, SIDE))
        if len(operand) != 3 or operand[0] != 1 or rows % grid[0] or columns % fractures:
            raise Error("E0401", f"{list(operand)} cannot be shared out over {list(grid)} cores")
    tiles_in(x, (SIDE, SIDE))
    whole = (grid[0] * mblock_m * u_rt * SIDE, x[2])
    if shape[1:] != whole or x[2] % (fractures * SIDE) or shape[0] * whole[0] * whole[1] > MAX_ELEMENTS:
        raise Error("E0401", f"blocks of {whole[0]} rows times {list(x)} do not give {list(shape)}")
    return shape


@fact(Role.CONTRACTION, {"count": INT}, flops=counts.one_each)
def tile_depthwise(a: Shape, b: Shape, *, count: int) -> Shape:
    """Return [t, rows, columns] for a[t, rows, count * columns] and b[t, count * 32, columns].  Raises E0401."""
    rows, columns = tiles_in(a, (SIDE, SIDE))
    fits = len(a) == 3 and count > 0 and columns % count == 0
    if not fits or b != (a[0], count * SIDE, columns // count * SIDE):
        raise Error("E0401", f"a depthwise product of {count} blocks does not take {list(a)} and {list(b)}")
    return (a[0], rows * SIDE, columns // count * SIDE)
