"""Bytes of tiles and of the buffers of queues, without the formats themselves, whose packages take longer to load than a check takes."""

from __future__ import annotations

from functools import cache

from ttc.dialects.netlist.buda.form import BudaQueue, Pair
from ttc.dialects.netlist.buda.rules.context import tile_of

BITS = {
    **dict.fromkeys(("Float32", "Int32", "RawUInt32"), 32),
    **dict.fromkeys(("Float16", "Float16_b", "UInt16", "RawUInt16"), 16),
    **dict.fromkeys(("Bfp8", "Bfp8_b", "Lf8", "Fp8_e4m3", "Int8", "UInt8", "RawUInt8"), 8),
    **dict.fromkeys(("Bfp4", "Bfp4_b"), 4),
    **dict.fromkeys(("Bfp2", "Bfp2_b"), 2),
}
"""Bits of an element, without the exponents that elements share."""
HEADER_BYTES = 16


@cache
def tile_bytes(format: str, tile: Pair, alignment: int) -> int:
    """Return bytes of a tile with its header, aligned: those of `Format.tile_bytes`."""
    return -(-(data_bytes(format, tile) + HEADER_BYTES) // alignment) * alignment


@cache
def data_bytes(format: str, tile: Pair) -> int:
    """Return bytes of the elements of a tile and the exponents that they share: those of `Format.data_bytes`."""
    height, width = tile
    exponents = 0
    if format.startswith("Bfp"):  # a byte for each row of a face, in units of 16
        exponents = 16 if height < 16 else -(-height // 16) * 16 * -(-width // 16)
    return height * width * BITS[format] // 8 + exponents


def buffer_bytes(queue: BudaQueue, alignment: int, untilized: bool) -> int | None:
    """Return bytes of all entries of one buffer of a queue, without the header; None if a field is missing."""
    if queue.df is None or queue.entries is None or queue.t is None or queue.mblock is None or queue.ublock is None:
        return None
    tile = tile_of(queue)
    flat = untilized or queue.layout == "flat"
    size = data_bytes(queue.df, tile) if flat else tile_bytes(queue.df, tile, alignment)
    return queue.entries * queue.t * queue.mblock[0] * queue.mblock[1] * queue.ublock[0] * queue.ublock[1] * size
