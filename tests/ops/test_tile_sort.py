"""tile.order and tile.reverse_sequence against sorting by hand."""

from __future__ import annotations

import numpy as np
import pytest

from tests.ops.tile_cases import check_error, check_op
from ttc.dialects.tile.base import twin
from ttc.dialects.tile.sort import OrderOp

X = np.array([[3, 1, 3, np.nan], [0, -1, 5, 2]], np.float32)


@pytest.mark.parametrize(("largest", "expected"), [(True, [[0, 2, 1], [2, 3, 0]]), (False, [[1, 0, 2], [1, 0, 3]])])
def test_order(largest: bool, expected: list[list[int]]) -> None:
    check_op(OrderOp, [X], {"k": 3, "axis": -1, "largest": largest}, np.array(expected), format="Int64")


def test_order_of_columns() -> None:
    x = np.array([[2, 1], [9, 0], [2, 4]], np.int32)
    check_op(OrderOp, [x], {"k": 2, "axis": 0, "largest": True}, np.array([[1, 2], [0, 0]]), format="Int64")


@pytest.mark.parametrize(("changes", "code"), [({"k": 5}, "E0402"), ({"k": -1}, "E0402"), ({"axis": 2}, "E0412")])
def test_what_has_no_order(changes: dict[str, int], code: str) -> None:
    check_error(OrderOp, [(2, 4)], {"k": 1, "axis": 1, "largest": True} | changes, code)


def test_beginnings_are_reversed() -> None:
    x = np.arange(8, dtype=np.float32).reshape(4, 2)
    expected = np.array([[4, 1], [2, 3], [0, 5], [6, 7]], np.float32)
    check_op(twin("reverse_sequence"), [x, np.array([3, 1])], {"time_axis": 0, "batch_axis": 1}, expected)


def test_lengths_are_one_a_sequence() -> None:
    check_error(twin("reverse_sequence"), [(4, 2), (2,)], {"time_axis": 1, "batch_axis": 1}, "E0402")
