"""Products with matrices of tiles, against dense ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.draws import generator
from tests.ops.tile_cases import check_error, check_op, run_op
from ttc.dialects.core.errors import Error
from ttc.dialects.core.tiling.sparse_codes import Codes
from ttc.dialects.tile.encoded import EncodedMatmulOp, TileDepthwiseOp

SIDE = 32


def attrs(**changes: Any) -> dict[str, Any]:
    """Two products of 2 x 1 blocks of 1 x 2 tiles, with 4 bits for tiles and for blocks."""
    plain = {"shape": (2, 64, 64), "grid": (1, 1), "fractures": 1, "mblock_m": 2, "u_rt": 1, "u_kt": 2, "tile_bits": 4, "ublock_bits": 4}
    return plain | changes


def words(*values: int) -> NDArray:
    """Codes [1, 32, 32] that begin with those words."""
    stream = np.zeros(2 * SIDE * SIDE, np.uint16)
    stream[: len(values)] = values
    return stream.view(np.uint32).reshape(1, SIDE, SIDE)


def strip(index: int, blocks: int, last_of_matrix: bool = False, last_of_tile: bool = False) -> tuple[int, int, int]:
    return index & 0xFFFF, index >> 16 | last_of_matrix << 14 | last_of_tile << 15, blocks


TILES = generator("tile_encoded.TILES").integers(0, 2, (1, SIDE, 3 * SIDE)).astype(np.float32)
ACTS = generator("tile_encoded.ACTS").integers(-4, 5, (2, 2 * SIDE, 64)).astype(np.float32)
GOOD = (
    *(*strip(0, 2), 0 | 1 << 4, 1 << 12 | 0, 1 | 2 << 4, 2 << 12 | 0, 0 << 12 | 1),
    *(*strip(1, 1, last_of_matrix=True), 1 | 1 << 4, 1 << 12 | 1),
    *strip(1, 0, last_of_matrix=True, last_of_tile=True),
)
"""First matrix: tile 1 at (0, 0), tile 2 at (1, 0), tile 0 at (1, 1), tile 1 at (1, 3); the second is zero."""


def test_a_stream_of_codes() -> None:
    sparse = np.zeros((2, 64, 128), np.float32)
    for row, column, tile in ((0, 0, 1), (1, 0, 2), (1, 1, 0), (1, 3, 1)):
        place = (0, slice(row * SIDE, (row + 1) * SIDE), slice(column * SIDE, (column + 1) * SIDE))
        sparse[place] = TILES[0, :, tile * SIDE : (tile + 1) * SIDE]
    expected = sparse @ ACTS.reshape(4 * SIDE, 64)
    check_op(EncodedMatmulOp, [TILES, ACTS, words(*GOOD)], attrs(), expected)


@pytest.mark.parametrize(
    "stream",
    [
        (*strip(0, 1), 2 | 1 << 4, 0),  # block 2 of 2
        (*strip(0, 2), 1 | 1 << 4, 0, 0 | 1 << 4, 0),  # blocks in falling order
        (*strip(0, 1), 0 | 2 << 4, 1, 0),  # tiles in falling order
        (*strip(0, 1), 0 | 1 << 4, 2),  # a tile outside its block
        (*strip(0, 1, last_of_matrix=True), 0 | 1 << 4, 3 << 12),  # a tile that is not there
        (*strip(2, 1, last_of_matrix=True), 0 | 1 << 4, 0, *strip(2, 0, last_of_matrix=True)),  # a strip outside x
        (*strip(0, 60000), *(0 for _ in range(10))),
        (),  # no matrix ever ends
    ],
)
def test_streams_without_meaning(stream: tuple[int, ...]) -> None:
    with pytest.raises(Error) as error:
        run_op(EncodedMatmulOp, [TILES, ACTS, words(*stream)], attrs())
    assert error.value.code == "E0802"


def test_cores_and_fractures_have_codes_of_their_own(rng: np.random.Generator) -> None:
    one = (*strip(0, 1, last_of_matrix=True), 0 | 1 << 4, 0)
    two = (*strip(0, 1, last_of_matrix=True), 0 | 1 << 4, 1 << 12)
    down = np.concatenate([np.concatenate([words(*one), words(*two)], axis=2), np.concatenate([words(*two), words(*one)], axis=2)], axis=1)
    tiles = rng.standard_normal((1, 2 * SIDE, 4 * SIDE)).astype(np.float32)
    x = rng.standard_normal((1, SIDE, 2 * SIDE)).astype(np.float32)
    expected = np.zeros((1, 2 * SIDE, 2 * SIDE), np.float32)
    for row, left, tile in ((0, 0, 0), (0, 1, 3), (1, 0, 1), (1, 1, 2)):
        sparse = tiles[0, row * SIDE : (row + 1) * SIDE, tile * SIDE : (tile + 1) * SIDE]
        expected[0, row * SIDE : (row + 1) * SIDE, left * SIDE : (left + 1) * SIDE] = sparse @ x[0, :, left * SIDE : (left + 1) * SIDE]
    given = attrs(shape=(1, 64, 64), grid=(2, 2), fractures=2, mblock_m=1, u_kt=1)
    check_op(EncodedMatmulOp, [tiles, x, down], given, expected, 1e-4)


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"tile_bits": 17}, "E0402"),
        ({"u_kt": 0}, "E0402"),
        ({"mblock_m": 32}, "E0402"),
        ({"u_rt": 1 << 12}, "E0402"),
        ({"fractures": 2}, "E0402"),
        ({"grid": (3, 1)}, "E0401"),
        ({"shape": (2, 64, 32)}, "E0401"),
        ({"shape": (1 << 40, 64, 64)}, "E0401"),
    ],
)
def test_what_does_not_fit(changes: dict[str, Any], code: str) -> None:
    check_error(EncodedMatmulOp, [TILES.shape, ACTS.shape, (1, SIDE, SIDE)], attrs(**changes), code)


def test_columns_take_the_bits_they_need() -> None:
    assert [Codes(1, 1, u_kt, 4, 4).column_bits for u_kt in (1, 2, 3, 4, 5, 160)] == [1, 1, 2, 2, 3, 8]


def test_one_tile_a_column(rng: np.random.Generator) -> None:
    a = rng.standard_normal((2, 2 * SIDE, 6 * SIDE)).astype(np.float32)
    b = rng.standard_normal((2, 3 * SIDE, 2 * SIDE)).astype(np.float32)
    expected = np.zeros((2, 2 * SIDE, 2 * SIDE), np.float32)
    for z in range(3):
        for column in range(2):
            left = a[:, :, (z * 2 + column) * SIDE : (z * 2 + column + 1) * SIDE]
            right = b[:, z * SIDE : (z + 1) * SIDE, column * SIDE : (column + 1) * SIDE]
            expected[:, :, column * SIDE : (column + 1) * SIDE] += left @ right
    check_op(TileDepthwiseOp, [a, b], {"count": 3}, expected, 1e-4)
    check_error(TileDepthwiseOp, [a.shape, b.shape], {"count": 2}, "E0401")
    check_error(TileDepthwiseOp, [(2, 64, 60), b.shape], {"count": 3}, "E0401")
