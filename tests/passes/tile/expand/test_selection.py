"""Selections of rows."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from ttc.dialects.core.windows import windows
from ttc.dialects.tile.kernels.sparse import sparse_matmul
from ttc.passes.tile.expand.selection import Selection, along, permuted, scattered, stacked, windows_of


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
