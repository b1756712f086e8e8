"""Bytes of tiles and buffers."""

from __future__ import annotations

import pytest

from ttc.dialects.core.formats import format_named
from ttc.dialects.netlist.buda.form import BudaQueue
from ttc.dialects.netlist.buda.reader_fields import FORMATS, TILES
from ttc.dialects.netlist.buda.rules.sizes import BITS, buffer_bytes, data_bytes, tile_bytes


@pytest.mark.parametrize("format", FORMATS)
def test_tiles_have_the_size_that_packing_gives(format: str) -> None:
    for height, width in TILES:
        assert data_bytes(format, (height, width)) == format_named(format).data_bytes(height, width)
        for alignment in (32, 64):
            assert tile_bytes(format, (height, width), alignment) == format_named(format).tile_bytes(height, width, alignment)


def test_all_formats_have_a_size() -> None:
    assert set(BITS) == set(FORMATS)


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
