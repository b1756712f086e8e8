"""Bytes of tiles and buffers."""

from __future__ import annotations

from ttc.dialects.netlist.buda.form import BudaQueue
from ttc.dialects.netlist.buda.rules.sizes import buffer_bytes, data_bytes, tile_bytes


def test_published_sizes() -> None:
    formats = ("Float32", "Float16", "Bfp8", "Bfp2")
    tile = (32, 32)
    assert [(tile_bytes(f, tile, 32), tile_bytes(f, tile, 64), data_bytes(f, tile)) for f in formats] == [
        (4128, 4160, 4096),
        (2080, 2112, 2048),
        (1120, 1152, 1088),
        (352, 384, 320),
    ]


def test_buffers() -> None:
    queue = BudaQueue("q", entries=64, t=1, mblock=(2, 2), ublock=(2, 2), df="Float16")
    assert buffer_bytes(queue, 32, untilized=False) == 16 * 2080 * 64
    assert buffer_bytes(queue, 32, untilized=True) == 16 * 2048 * 64
    assert buffer_bytes(BudaQueue("q", entries=64), 32, untilized=False) is None
