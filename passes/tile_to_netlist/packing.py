"""Packing rectangles of cores onto a chip's grid."""

from __future__ import annotations

from collections.abc import Sequence

from ttc.dialects.netlist.model import Grid


def pack(sizes: Sequence[tuple[int, int]], rows: int, cols: int) -> list[Grid] | None:
    """Places for rectangles (rows, columns) on a grid, none overlapping, or None if this method finds none.

    Larger rectangles first, each at the first free spot in row-major order, upright or else transposed.
    """
    free = [(1 << cols) - 1 for _ in range(rows)]
    placed: dict[int, Grid] = {}
    for index in sorted(range(len(sizes)), key=lambda i: (-max(sizes[i]), -sizes[i][0] * sizes[i][1], i)):
        height, width = sizes[index]
        spot = _spot(free, cols, height, width)
        transposed = spot is None
        if spot is None and height != width:
            spot = _spot(free, cols, width, height)
        if spot is None:
            return None
        row, col = spot
        _take(free, row, col, *((width, height) if transposed else (height, width)))
        placed[index] = Grid(row, col, height, width, transposed)
    return [placed[i] for i in range(len(sizes))]


def _spot(free: list[int], cols: int, height: int, width: int) -> tuple[int, int] | None:
    if width > cols or height > len(free):
        return None
    mask = (1 << width) - 1
    for row in range(len(free) - height + 1):
        common = free[row]
        for below in free[row + 1 : row + height]:
            common &= below
        for col in range(cols - width + 1):
            if (common >> col) & mask == mask:
                return row, col
    return None


def _take(free: list[int], row: int, col: int, height: int, width: int) -> None:
    for r in range(row, row + height):
        free[r] &= ~(((1 << width) - 1) << col)
