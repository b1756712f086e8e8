"""One block of sums in tiles of AMX: rows of bfloat16 times a panel of pairs, as `packing` makes it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ttc.runtime.engines.native.ir.tiles import Tiles
    from ttc.runtime.engines.native.ir.values import Value
    from ttc.runtime.engines.native.ir.writer import Writer

ROWS, ROW_BYTES = 16, 64
"""The rows of a tile, and the bytes of each: those of `ir.tiles`, a module that loads llvmlite."""
SIZE = 2 * ROWS
"""The rows and the columns of a block, and the channels that are multiplied at once, up to which both operands are filled with zeros."""
_PANEL_ROW_BYTES = 2 * ROW_BYTES
_SUMS, _LEFT, _RIGHT = ((0, 1), (2, 3)), (4, 5), (6, 7)


def emit_tile_block(
    f: Writer,
    tiles: Tiles,
    left: tuple[Value, Value],
    panel: Value,
    channels: Value,
    target: tuple[Value, Value],
    *,
    add: bool = False,
) -> None:
    """Emit target[SIZE, SIZE] = left[SIZE, channels] times a panel; add: plus what it was.

    Args:
        left, target: address of the first row, and bytes from row to row; rows of bfloat16, and of float32.
        panel: address of it: for each pair of channels, SIZE pairs of bfloat16.
        channels: a multiple of SIZE.
    """
    (start, stride), (place, place_stride) = left, target
    places = [[f.at(f.at(place, place_stride * (i * ROWS), "i8"), j * ROW_BYTES, "i8") for j in range(2)] for i in range(2)]
    for row, row_places in zip(_SUMS, places, strict=True):
        for tile, at in zip(row, row_places, strict=True):
            if add:
                tiles.load(tile, at, place_stride)
            else:
                tiles.zero(tile)
    width = f.constant(_PANEL_ROW_BYTES, "i64")
    with f.loop(0, channels, SIZE) as channel:
        a, b = f.at(start, channel * 2, "i8"), f.at(panel, channel * (_PANEL_ROW_BYTES // 2), "i8")
        for half in range(2):
            tiles.load(_LEFT[half], f.at(a, stride * (half * ROWS), "i8"), stride)
            tiles.load(_RIGHT[half], f.at(b, half * ROW_BYTES, "i8"), width)
        for sums, i in zip(_SUMS, _LEFT, strict=True):
            for total, j in zip(sums, _RIGHT, strict=True):
                tiles.dot(total, i, j)
    for row, row_places in zip(_SUMS, places, strict=True):
        for tile, at in zip(row, row_places, strict=True):
            tiles.store(tile, at, place_stride)
