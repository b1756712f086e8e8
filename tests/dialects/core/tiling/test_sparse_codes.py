"""Codes of sparse matrices: what is written is read again, and adds up to the matrices."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from ttc.dialects.core.errors import Error
from ttc.dialects.core.tiling.arrays import from_stream, streams
from ttc.dialects.core.tiling.sparse_codes import TILE_WORDS, Codes, Elements, Encoded, decoded, encoded

S = 32


def elements(dense: NDArray) -> Elements:
    matrix, row, column = np.nonzero(dense)
    return Elements(matrix, row, column, dense[matrix, row, column])


def rebuilt(found: Encoded, shape: tuple[int, int, int], cores: int) -> NDArray:
    """The matrices that tiles and codes stand for."""
    dense = np.zeros(shape, np.float32)
    height = shape[1] // cores
    for core, words in enumerate(streams(found.codes, cores)):
        entries = decoded(words.astype("<u4").view("<u2"), found.sizes, shape[0])
        for matrix, row, column, tile in np.stack(entries, axis=1).tolist():
            top = core * height + row * S
            block = found.tiles[0, core * S : core * S + S, tile * S : tile * S + S]
            dense[matrix, top : top + S, column * S : column * S + S] += block
    return dense


@pytest.mark.parametrize(("cores", "mblock_m", "u_rt", "u_kt"), [(1, 2, 2, 3), (2, 2, 1, 2), (4, 1, 1, 1), (1, 1, 4, 6)])
def test_what_is_written_is_read_again(cores: int, mblock_m: int, u_rt: int, u_kt: int, rng: np.random.Generator) -> None:
    dense = np.zeros((3, 4 * S, 6 * S), np.float32)
    for at in rng.integers(0, dense.size, 200):
        dense.ravel()[at] = rng.integers(1, 4)
    dense[1] = 0
    found = encoded(elements(dense), 3, cores, mblock_m, u_rt, u_kt)
    np.testing.assert_array_equal(rebuilt(found, dense.shape, cores), dense)
    assert not found.tiles[:, :, :S].any()


def test_equal_tiles_are_held_once() -> None:
    dense = np.zeros((1, 8 * S, 8 * S), np.float32)
    for i in range(8 * S):
        dense[0, i, (i + S) % (8 * S)] = 1
    found = encoded(elements(dense), 1, 1, 8, 1, 2)
    assert found.tiles.shape == (1, S, 2 * S)
    assert (found.sizes.tile_bits, found.sizes.ublock_bits) == (2, 4)
    np.testing.assert_array_equal(rebuilt(found, dense.shape, 1), dense)


def test_every_row_of_tiles_is_written() -> None:
    dense = np.zeros((2, 4 * S, 2 * S), np.float32)
    dense[0, 0, 0] = 1
    found = encoded(elements(dense), 2, 1, 4, 1, 1)
    entries = decoded(streams(found.codes, 1)[0].astype("<u4").view("<u2"), found.sizes, 2)
    assert sorted(zip(entries.matrix.tolist(), entries.row.tolist(), strict=True)) == [(m, r) for m in range(2) for r in range(4)]


def test_codes_fill_several_tiles() -> None:
    dense = np.zeros((300, 2 * S, 4 * S), np.float32)
    dense[:, ::9, ::7] = 1
    found = encoded(elements(dense), 300, 1, 2, 1, 1)
    assert found.codes.shape[2] > S
    np.testing.assert_array_equal(rebuilt(found, dense.shape, 1), dense)


def test_what_words_cannot_say() -> None:
    dense = np.zeros((1, S, 300 * S), np.float32)
    dense[0, :, ::S] = (np.arange(300) >> np.arange(S)[:, None] & 1) + 1
    with pytest.raises(Error) as error:
        encoded(elements(dense), 1, 1, 1, 1, 300)
    assert error.value.code == "E0503"


def test_a_stream_that_ends() -> None:
    with pytest.raises(Error) as error:
        decoded(np.zeros(TILE_WORDS, "<u2"), Codes(1, 1, 1, 4, 4), 1)
    assert error.value.code == "E0802"


def test_streams_go_tile_by_tile() -> None:
    x = np.arange(2 * S * 3 * S).reshape(1, 2 * S, 3 * S)
    first, second = streams(x, 2)
    assert first[: S * S].tolist() == x[0, :S, :S].ravel().tolist()
    np.testing.assert_array_equal(from_stream(second), x[0, S:])
