"""Bytes of tiles and of the buffers of queues."""

from __future__ import annotations

from functools import cache

from ttc.dialects.core.formats import format_named
from ttc.dialects.netlist.buda.form import BudaQueue, Pair
from ttc.dialects.netlist.buda.rules.context import tile_of


@cache
def tile_bytes(format: str, tile: Pair, alignment: int) -> int:
    """Bytes of a tile with its header, aligned."""
    return format_named(format).tile_bytes(tile[0], tile[1], alignment)


@cache
def data_bytes(format: str, tile: Pair) -> int:
    """Bytes of the elements of a tile and the exponents that they share."""
    return format_named(format).data_bytes(tile[0], tile[1])


def buffer_bytes(queue: BudaQueue, alignment: int, untilized: bool) -> int | None:
    """Bytes of all entries of one buffer of a queue, without the header; None if a field is missing."""
    if queue.df is None or queue.entries is None or queue.t is None or queue.mblock is None or queue.ublock is None:
        return None
    tile = tile_of(queue)
    flat = untilized or queue.layout == "flat"
    size = data_bytes(queue.df, tile) if flat else tile_bytes(queue.df, tile, alignment)
    return queue.entries * queue.t * queue.mblock[0] * queue.mblock[1] * queue.ublock[0] * queue.ublock[1] * size
