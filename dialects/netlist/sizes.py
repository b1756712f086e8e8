"""Sizes that a netlist's tensors, blocks and formats imply: what passes write into it and checks compare with."""

from __future__ import annotations

from ttc.dialects.core.errors import Error
from ttc.dialects.core.formats import format_named
from ttc.dialects.core.plain.functions import TILES, TensorType
from ttc.dialects.netlist.model import Blocking, Chip

WIDE_ACCUMULATE = ("Float32", "Int32")
"""Formats whose accumulation takes two destination registers a tile."""


def tile_bytes(format: str, tile: tuple[int, int], chip: Chip) -> int:
    """Return bytes of one tile in L1 or DRAM, with its header, aligned.  Raises E0607 for an unknown format."""
    return format_named(format).tile_bytes(tile[0], tile[1], chip.alignment_bytes)


def tile_shape(layout: str) -> tuple[int, int] | None:
    """(height, width) of a layout's tiles; None in row layout.  Raises E0602 for text that is no layout."""
    if layout == "rows":
        return None
    found = TILES.fullmatch(layout)
    if found is None or not (int(found[1]) and int(found[2])):
        raise Error("E0602", f"'{layout[:40]}' is not a layout")
    return int(found[1]), int(found[2])


def queue_header_bytes(chip: Chip) -> int:
    """Bytes before the entries of each buffer of a queue, which hold its pointers: one unit of alignment; none where there is no DRAM."""
    return chip.alignment_bytes if chip.dram_channels else 0


def queue_buffer_bytes(tensor: TensorType, entries: int, blocking: Blocking | None, chip: Chip) -> int:
    """Return bytes of one buffer of a queue, its header and all entries; 0 if its size depends on data.

    blocking: of one buffer; None in row layout, where one buffer holds whole entries.
    Raises E0602 if blocking and layout do not go together.
    """
    tile = tile_shape(tensor.layout)
    if tile is None:
        if blocking is not None:
            raise Error("E0602", "a tensor in row layout has no blocks")
        if -1 in tensor.shape:
            return 0
        return queue_header_bytes(chip) + entries * format_named(tensor.format).size_bytes(tensor.shape)
    if blocking is None:
        raise Error("E0602", f"a tensor in layout {tensor.layout} needs blocks")
    return queue_header_bytes(chip) + entries * blocking.tiles * tile_bytes(tensor.format, tile, chip)


def steps_along(tiles: int, cores: int, block: int) -> int | None:
    """Steps in which cores with blocks of `block` tiles pass over `tiles` tiles of one dimension; None if a core has nothing to do."""
    if (cores - 1) * block >= tiles:
        return None
    return -(-tiles // (cores * block))


def dealt(dims: tuple[int, int, int], spread: tuple[int, int]) -> tuple[int, int, int]:
    """Matrices, tile rows and tile columns of one of several parts of a grid that share a tensor; no matrices if a part has nothing.

    dims: of the whole tensor.  spread: rows and columns of parts; they share out matrices, or the columns and rows of a single one.
    """
    t, rows, cols = dims
    if t > 1:
        share = _share(t, spread[0] * spread[1])
        return share, rows, cols
    down, across = _share(rows, spread[1]), _share(cols, spread[0])
    return (t, down, across) if down and across else (0, 0, 0)


def _share(items: int, parts: int) -> int:
    """Return how many items each of several parts has at most; 0 if one would have none."""
    share = -(-items // parts)
    return 0 if (parts - 1) * share >= items > 0 else share


def streamed_t(tensor: TensorType, grid: tuple[int, int], blocking: Blocking) -> int | None:
    """The t that a blocking over a grid (rows, columns) must have to cover a tensor: its own t times the steps along rows and columns.

    Where a tensor is spread over parts of the grid, it is the t of a part.  Padding is what rounding up to whole blocks gives, and no more.
    None if a core would lie outside the tensor altogether, or parts were not equal.
    """
    t, rows, columns = tensor.tile_dims()
    parts = blocking.spread
    if grid[0] % parts[0] or grid[1] % parts[1]:
        return None
    t, rows, columns = dealt((t, rows, columns), parts)
    if t == 0:
        return None
    down = steps_along(rows, grid[0] // parts[0], blocking.mblock[0] * blocking.ublock[0])
    across = steps_along(columns, grid[1] // parts[1], blocking.mblock[1] * blocking.ublock[1])
    return None if down is None or across is None else t * down * across


def dst_limit(accumulate: str, chip: Chip) -> int:
    """Tiles that a micro block may have at most in the destination register."""
    return chip.dst_tiles // 2 if accumulate in WIDE_ACCUMULATE else chip.dst_tiles
