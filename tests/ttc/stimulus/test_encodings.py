"""Codes of sparse matrices that decode."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from ttc.dialects.core.tiling.arrays import streams
from ttc.dialects.core.tiling.sparse_codes import TILE_WORDS, Codes, decoded
from ttc.stimulus.encodings import SparseMatrices, draw_codes
from ttc.stimulus.rules import StimulusRule

CODES = Codes(mblock_m=4, u_rt=2, u_kt=3, tile_bits=6, ublock_bits=8)


def words_of(codes: np.ndarray, rows: int, fractures: int) -> dict[tuple[int, int], np.ndarray]:
    """Words of 16 bits by row of cores and fracture."""
    parts = codes.reshape(1, rows, -1, fractures, codes.shape[-1] // fractures)
    return {(i, j): streams(np.ascontiguousarray(parts[:, i, :, j]), 1)[0].view("<u2") for i, j in product(range(rows), range(fractures))}


def test_one_tile_a_row_without_a_rule():
    matrices = SparseMatrices((2, 1), matrices=3, columns=12, tiles=5, codes=CODES)
    codes = draw_codes(matrices, None, (1, 64, 64), np.random.default_rng(0))
    for words in words_of(codes, 2, 1).values():
        entries = decoded(words, CODES, 3)
        assert sorted(zip(entries.matrix.tolist(), entries.row.tolist(), strict=True)) == list(product(range(3), range(8)))
        assert entries.column.max() < 12
        assert entries.tile.max() < 5
    assert (codes[:, :32] != codes[:, 32:]).any()


def test_cores_without_whole_tiles_get_zeros():
    matrices = SparseMatrices((127, 1), matrices=1, columns=12, tiles=5, codes=CODES)
    codes = draw_codes(matrices, None, (1, 32, 32), np.random.default_rng(0))
    assert codes.shape == (1, 32, 32)
    assert not codes.any()


@pytest.mark.parametrize(("zeros", "share"), [((0.0, 0.0, 0.0), 1.0), ((0.0, 0.0, 0.5), 0.5), ((1.0, 0.0, 0.0), 0.0)])
def test_how_often_tiles_are_zero(zeros: tuple[float, float, float], share: float):
    matrices = SparseMatrices((1, 1), matrices=4, columns=30, tiles=100, codes=CODES)
    rule = StimulusRule("sparse_encoding", dict(zip(("strips", "blocks", "tiles"), zeros, strict=True)))
    codes = draw_codes(matrices, rule, (1, 32, 64), np.random.default_rng(0))
    entries = decoded(words_of(codes, 1, 1)[0, 0], CODES, 4)
    assert len(entries.tile) / (4 * 8 * 30) == pytest.approx(share, abs=0.05)
    assert entries.tile.max(initial=0) < 1 << 6


def test_strips_go_on_in_the_next_tile_and_end_with_the_room():
    matrices = SparseMatrices((1, 2), matrices=3, columns=3000, tiles=1, codes=CODES)
    rule = StimulusRule("sparse_encoding", {"strips": 0.0, "blocks": 0.0, "tiles": 0.0})
    codes = draw_codes(matrices, rule, (1, 64, 128), np.random.default_rng(0))
    for words in words_of(codes, 1, 2).values():
        assert len(words) == 4 * TILE_WORDS
        entries = decoded(words, CODES, 3)
        assert np.bincount(entries.matrix).min() > 0.9 * TILE_WORDS  # 24 of 31 words are tiles, a third of the room is each one's
