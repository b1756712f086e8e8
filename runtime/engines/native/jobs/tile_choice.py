"""The choice of products that are multiplied in tiles of AMX, and at what precision.

Where the CPU has no tiles, precision `high` is computed by scaled integers where these pay (`scaled_choice`), else as `float32`, perhaps
with longer chains (`products.span_of`), and `bfloat16` by its instruction for pairs of bfloat16, if there is one (see
`products.multiplier_of`), else as `high`, with float32 between ops (`keep_wide`).
"""

from __future__ import annotations

from ttc.runtime.engines.native.codegen.features import EMULATED_TILES
from ttc.runtime.engines.native.graph.storage import STORAGE_BYTES
from ttc.runtime.engines.native.graph.tensors import View
from ttc.runtime.engines.native.jobs.lowering import Lowering
from ttc.runtime.engines.native.kernels.amx_parts import LANES, PRODUCTS

_PARTS = {"bfloat16": 1, "high": 2, "float32": 3}
"""By precision: bfloat16 whose sum an operand is, see `kernels.amx_parts`."""
_LEAST_ROWS, _LEAST_SIZE, _LEAST_SHARE = 4, 16, 0.25
"""In bfloat16: rows, columns and channels, and share of the tiles' elements that are no padding, from which on tiles are the faster way."""
_DOT_PICOSECONDS = 5_500
"""Picoseconds of a core of an Intel Xeon for each product of two tiles, as all below."""
_SPLIT_PICOSECONDS = (2_000_000, 8_000, 6_500)
"""What it takes to split rows into parts: all, each row, and each 16 channels of it."""
_SUMS_PICOSECONDS = 5_000
"""What it takes to move 16 sums from tiles to the result, beyond what it takes from registers."""
_WINDOW_PICOSECONDS = 15_000
"""What it takes to find a window of several taps, and to copy what no other window copies."""
_PRODUCT_PICOSECONDS, _TAP_PICOSECONDS = 10, 7
"""What each product takes in float32, without tiles, and where there are several taps, which Winograd's way may multiply."""
_BYTE_PICOSECONDS = 60
"""What it takes to read a byte of the right operand from memory, which is hardly done while others are multiplied."""
_UNIT, _HALF = 32, 16
"""What is padded to: channels of a tile, and rows and columns of half a block."""
_MOST_BYTES = 16 << 20
"""The most bytes of the rows of a block, all taps and parts: it takes wild sizes to need more."""


def tile_parts(n: Lowering, b: View, rows: int, columns: int, depth: int, taps: int = 1) -> int:
    """Return in how many parts a product is multiplied in tiles of AMX; 0 if it is not.

    b: the right operand, which precision `float32` packs at load or not at all.  rows, columns: of the result.  depth: channels of a tap.
    """
    parts = _PARTS.get(n.node.op.precision, 0)
    if not n.cpu.has_tiles or not parts or (parts == 3 and not b.is_constant):
        return 0
    if _padded(depth) * _UNIT * taps * parts * 2 > _MOST_BYTES:
        return 0
    if n.cpu.has(EMULATED_TILES):
        return parts
    if parts == 1:
        useful, padded = rows * columns * depth, _padded(rows, _HALF) * _padded(columns, _HALF) * _padded(depth)
        large = rows >= _LEAST_ROWS and min(columns, depth * taps) >= _LEAST_SIZE
        return 1 if large and useful >= _LEAST_SHARE * padded else 0
    return parts if _time_in_tiles(parts, rows, columns, depth, taps) <= _time_without(rows, columns, depth, taps) else 0


def _time_in_tiles(parts: int, rows: int, columns: int, depth: int, taps: int) -> int:
    """Return the picoseconds that a core takes for a product of operands in parts."""
    channels = _padded(depth) * taps
    right = _padded(columns, _HALF) * channels
    dots = _padded(rows, _HALF) * right // (_HALF * _HALF * _UNIT) * len(PRODUCTS[parts])
    sums = rows * _padded(columns, _HALF) // LANES
    whole, row, vector = _SPLIT_PICOSECONDS
    split = whole + rows * (row + _padded(depth) // LANES * vector)
    windows = rows * _WINDOW_PICOSECONDS if taps > 1 else 0
    return windows + dots * _DOT_PICOSECONDS + sums * _SUMS_PICOSECONDS + split + right * 2 * parts * _BYTE_PICOSECONDS


def _time_without(rows: int, columns: int, depth: int, taps: int) -> int:
    """Return the picoseconds that a core takes for a product in float32."""
    each = _PRODUCT_PICOSECONDS if taps == 1 else _TAP_PICOSECONDS
    return columns * depth * taps * (rows * each + STORAGE_BYTES["f32"] * _BYTE_PICOSECONDS)


def _padded(size: int, unit: int = _UNIT) -> int:
    return -(-size // unit) * unit
