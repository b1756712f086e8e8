"""Sizes that tensors, blocks and formats imply."""

from __future__ import annotations

import pytest

from ttc.dialects.core.errors import Error
from ttc.dialects.core.plain.functions import TensorType
from ttc.dialects.netlist.model import Blocking, Chip
from ttc.dialects.netlist.sizes import dealt, dst_limit, queue_buffer_bytes, steps_along, streamed_t, tile_bytes, tile_shape

WORMHOLE = Chip("n150", "wormhole_b0", 1, (9, 8), (32, 32), 1 << 20, 8, 6, 1 << 31, 1 << 28, 32, 39, ("Float32", "Float16_b"))
BLACKHOLE = Chip("p150", "blackhole", 1, (10, 14), (32, 32), 1 << 20, 8, 8, 1 << 32, 1 << 28, 64, 39, ("Float32", "Float16_b"))


def tiled(*shape: int, format: str = "Float32", fold: int = 1) -> TensorType:
    return TensorType(shape, format, "tiles(32, 32)" if fold == 1 else f"tiles(32, 32, {fold})")


@pytest.mark.parametrize(
    ("format", "wormhole", "blackhole"),
    [("Float32", 4128, 4160), ("Float16_b", 2080, 2112), ("Float16", 2080, 2112), ("UInt8", 1056, 1088)],
)
def test_tiles_have_a_header_and_are_aligned(format: str, wormhole: int, blackhole: int) -> None:
    """Bytes of a 32x32 tile, from the table of the reference's format."""
    assert tile_bytes(format, (32, 32), WORMHOLE) == wormhole
    assert tile_bytes(format, (32, 32), BLACKHOLE) == blackhole


def test_buffers_hold_all_entries() -> None:
    blocking = Blocking(1, (2, 2), (2, 2))
    assert queue_buffer_bytes(tiled(128, 128, format="Float16_b"), 64, blocking, WORMHOLE) == 16 * 2080 * 64 + 32
    assert queue_buffer_bytes(TensorType((3, 5), "Float16_b"), 7, None, WORMHOLE) == 3 * 5 * 7 * 2 + 32
    assert queue_buffer_bytes(TensorType((-1, 5), "Int64"), 7, None, WORMHOLE) == 0


@pytest.mark.parametrize(
    ("layout", "blocking"), [("rows", Blocking(1, (1, 1), (1, 1))), ("tiles(32, 32)", None), ("tiles(0, 32)", None), ("columns", None)]
)
def test_layout_and_blocks_go_together(layout: str, blocking: Blocking | None) -> None:
    with pytest.raises(Error) as error:
        queue_buffer_bytes(TensorType((32, 32), "Float32", layout), 1, blocking, WORMHOLE)
    assert error.value.code == "E0602"


def test_tile_shape() -> None:
    assert (tile_shape("rows"), tile_shape("tiles(32, 16)"), tile_shape("tiles(8, 32, 3)")) == (None, (32, 16), (8, 32))


@pytest.mark.parametrize(
    ("tiles", "cores", "block", "steps"),
    [(8, 2, 4, 1), (8, 2, 2, 2), (9, 2, 4, 2), (9, 2, 5, 1), (4, 2, 4, None), (1, 1, 8, 1), (0, 1, 1, None)],
)
def test_steps_along(tiles: int, cores: int, block: int, steps: int | None) -> None:
    assert steps_along(tiles, cores, block) == steps


def test_streaming_counts_into_t() -> None:
    """49 x 2 tiles a sample, three samples: rows fold into 147."""
    blocking = Blocking(1, (7, 1), (1, 2))
    assert streamed_t(tiled(3, 49 * 32, 64), (7, 1), blocking) == 3
    assert streamed_t(tiled(3, 49 * 32, 64, fold=2), (7, 1), blocking) == 3
    assert streamed_t(tiled(3, 49 * 32, 64), (1, 1), blocking) == 3 * 7
    assert streamed_t(tiled(3, 49 * 32, 64), (8, 1), blocking) is None


def test_wide_accumulation_halves_the_destination_register() -> None:
    assert [dst_limit(f, WORMHOLE) for f in ("Float16_b", "Float32", "Int32")] == [8, 4, 4]


@pytest.mark.parametrize(
    ("grid", "spread", "ublock", "t"),
    [
        ((4, 1), (1, 1), (1, 2), 12),
        ((12, 1), (3, 1), (1, 2), 4),  # parts of 4 x 1 cores, one below the other
        ((4, 6), (2, 3), (1, 1), 4),  # parts of 2 x 2 cores: 2 matrices each, in 2 steps down
        ((5, 1), (5, 1), (4, 2), None),  # 3 matrices a part leave the fifth without any
        ((6, 1), (4, 1), (1, 2), None),  # no equal parts
    ],
)
def test_matrices_are_dealt_out_to_parts_of_the_grid(
    grid: tuple[int, int], spread: tuple[int, int], ublock: tuple[int, int], t: int | None
) -> None:
    assert streamed_t(tiled(12, 128, 64), grid, Blocking(t or 1, (1, 1), ublock, spread=spread)) == t


def test_columns_of_one_matrix_are_dealt_out() -> None:
    """2 x 100 tiles over 4 parts of 2 x 5 cores, one below the other: 25 columns a part, 5 a core; a fifth of 21 tiles has nothing left."""
    assert streamed_t(tiled(64, 3200), (8, 5), Blocking(1, (1, 1), (1, 5), spread=(4, 1))) == 1
    assert streamed_t(tiled(64, 3200), (8, 5), Blocking(1, (1, 1), (1, 1), spread=(4, 1))) == 5
    assert dealt((1, 2, 100), (4, 1)) == (1, 2, 25)
    assert dealt((1, 100, 2), (1, 4)) == (1, 25, 2)
    assert dealt((12, 4, 2), (2, 3)) == (2, 4, 2)
    assert dealt((1, 2, 3), (4, 1)) == (0, 0, 0)


def test_rows_of_one_matrix_are_dealt_out() -> None:
    """100 tile rows over 4 parts of 5 x 2 cores: 25 rows a part, 5 a core."""
    image = TensorType((1, 40, 80, 64), "Float16_b", "tiles(32, 32, 3)")
    assert streamed_t(image, (5, 8), Blocking(1, (1, 1), (5, 1), spread=(1, 4))) == 1
    assert streamed_t(image, (5, 8), Blocking(1, (1, 1), (2, 1), spread=(1, 4))) == 3
