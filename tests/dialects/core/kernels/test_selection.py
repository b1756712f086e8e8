"""Rows that selections take."""

from __future__ import annotations

import numpy as np
import pytest

from ttc.dialects.core.kernels.selection import selected_rows


@pytest.mark.parametrize(
    ("nearest", "rows", "inside"),
    [(False, [[0, 0, 1, 2], [0, 1, 2, 2]], [[0, 1, 1, 1], [1, 1, 1, 0]]), (True, [[0, 0, 1, 2], [0, 1, 2, 2]], [[1] * 4, [1] * 4])],
)
def test_two_terms_of_neighbours(nearest: bool, rows: list[list[int]], inside: list[list[int]]) -> None:
    """y[i] = x[i - 1] + x[i], over three rows of x."""
    found = list(selected_rows((3,), (2, 4), (1, 1), (-1,), (1,), 1, nearest=nearest))
    np.testing.assert_array_equal([index for index, _ in found], rows)
    np.testing.assert_array_equal([mask for _, mask in found], np.array(inside, bool))


def test_points_between_those_of_the_source() -> None:
    ((index, inside),) = selected_rows((2, 2), (4, 4), (1, 0, 0, 1), (0, 0), (2, 2), 0, nearest=False)
    np.testing.assert_array_equal(np.flatnonzero(inside), [0, 2, 8, 10])
    np.testing.assert_array_equal(index[inside], [0, 1, 2, 3])
