"""The choice of products that are multiplied in tiles of AMX, and at what precision.

Where the CPU has no tiles, precision `high` is computed by scaled integers where these pay (`scaled_choice`), else as `float32`, perhaps
with longer chains (`products.span_of`), and `bfloat16` by its instruction for pairs of bfloat16, if there is one (see
`products.multiplier_of`), else as `high`, with float32 between ops (`keep_wide`).
"""

from __future__ import annotations

from ttc.runtime.engines.native.codegen.features import EMULATED_TILES
from ttc.runtime.engines.native.graph.tensors import View
from ttc.runtime.engines.native.jobs.lowering import Lowering

_PARTS = {"bfloat16": 1, "high": 2, "float32": 3}
"""By precision: bfloat16 whose sum an operand is, see `kernels.amx_parts`."""
_LEAST, _LEAST_SHARE = {1: 16, 2: 32, 3: 64}, {1: 0.25, 2: 0.5, 3: 0.9}
"""By parts: rows, columns and channels, and share of the tiles' elements that are no padding, so that tiles are the faster way: on an
Intel Xeon they multiply 128 and 197 rows of 768 channels 5 to 6.5, 2.1 to 2.6 and 1.2 to 1.4 times as fast as float32."""
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
    padded = _padded(rows, _HALF) * _padded(columns, _HALF) * _padded(depth)
    large = min(rows, columns, depth * taps) >= _LEAST[parts]
    return parts if large and rows * columns * depth >= _LEAST_SHARE[parts] * padded else 0


def _padded(size: int, unit: int = _UNIT) -> int:
    return -(-size // unit) * unit
