"""Selections of rows."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from ttc.dialects.core.kernels.windows import windows
from ttc.dialects.tile.kernels.sparse import sparse_matmul
from ttc.passes.tile.expand.selection import Selection, along, bands_of, permuted, row_of_taps, scattered, stacked, windows_of


def rows(selection: Selection) -> NDArray:
    """Numbers of the source rows that a selection takes, from 1 on; 0: none.  Its shape is that of the grid."""
    count = int(np.prod(selection.source))
    numbers = np.arange(1, count + 1).reshape(count, 1)
    sizes = selection.sizes[selection.terms :]
    return sparse_matmul(numbers, shape=(*sizes, 1), **selection.attrs())[..., 0]


@pytest.mark.parametrize(
    ("selection", "expected"),
    [
        (along((2, 3), (2, 3)), True),
        (along((2, 3), (2, 2)), False),
        (along((2, 3), (2, 3), (0, 1)), False),
        (permuted((2, 3), (1, 0)), False),
        (permuted((1, 3), (1, 0)), True),
        (windows_of((1, 4, 4), (4, 4), windows((1, 1), (1, 1), (0, 0, 0, 0), (1, 1))), True),
        (windows_of((1, 4, 4), (2, 2), windows((1, 1), (2, 2), (0, 0, 0, 0), (1, 1))), False),
    ],
)
def test_identity(selection: Selection, expected: bool) -> None:
    assert selection.is_identity is expected


def test_windows() -> None:
    found = rows(windows_of((1, 2, 3), (2, 3), windows((1, 3), (1, 1), (0, 1, 0, 1), (1, 1))))
    assert found[0, :, 0].tolist() == [[[0, 1, 2], [0, 4, 5]], [[1, 2, 3], [4, 5, 6]], [[2, 3, 0], [5, 6, 0]]]


def test_what_taps_send() -> None:
    found = rows(scattered((1, 1, 2), (1, 5), windows((1, 2), (1, 3), (0, 0, 0, 0), (1, 1))))
    assert found[0, :, 0, 0].tolist() == [[1, 0, 0, 2, 0], [0, 1, 0, 0, 2]]


def test_stacks() -> None:
    assert rows(stacked(along((3,), (2,), (1,)), 2)).tolist() == [[2, 3], [5, 6]]


def test_a_row_of_taps_band_by_band() -> None:
    taps = windows_of((2, 4, 3), (4, 3), windows((3, 3), (1, 1), (1, 1, 1, 1), (1, 1)))
    for row in range(3):
        banded = rows(row_of_taps(taps, row, 2))  # [n, bands, kw, rows of a band, columns]
        assert banded.shape == (2, 2, 3, 2, 3)
        assert (banded.transpose(2, 0, 1, 3, 4).reshape(3, 2, 4, 3) == rows(taps)[row]).all()


@pytest.mark.parametrize(
    ("image", "kernel", "bands"),
    [
        ((1, 64, 64), 3, 0),  # a core holds it
        ((1, 128, 64), 3, 128),
        ((1, 128, 48), 3, 64),  # two rows of windows fill whole tiles
        ((1, 128, 48), 1, 0),
        ((1, 128, 64), 9, 0),  # too many rows of taps
        ((1, 75, 75), 3, 0),  # nothing does
    ],
)
def test_bands(image: tuple[int, int, int], kernel: int, bands: int) -> None:
    half = kernel // 2
    assert bands_of(windows_of(image, image[1:], windows((kernel, 3), (1, 1), (half, 1, half, 1), (1, 1)))) == bands
