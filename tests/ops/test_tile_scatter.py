"""tile.scatter_elements and tile.scatter_nd against assignments one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.ops.tile_cases import check_error, check_op, run_op
from ttc.dialects.core.errors import Error
from ttc.dialects.tile.base import TileOp, twin

X = np.arange(12, dtype=np.float32).reshape(3, 4)
INDICES = np.array([[0, 2], [1, 0]])
UPDATES = np.array([[10, 20], [30, 40]], np.float32)


def test_elements_along_rows() -> None:
    expected = X.copy()
    for i in range(2):
        for j in range(2):
            expected[i, INDICES[i, j]] = UPDATES[i, j]
    check_op(twin("scatter_elements"), [X, INDICES, UPDATES], {"axis": 1, "reduction": "none"}, expected)


def test_places_written_twice_add_up() -> None:
    expected = X.copy()
    expected[2, 1] += 70
    check_op(twin("scatter_nd"), [X, np.array([[2, 1], [-1, 1]]), np.array([30, 40], np.float32)], {"reduction": "add"}, expected)


@pytest.mark.parametrize(
    ("kind", "indices", "updates", "attrs"),
    [
        (twin("scatter_elements"), [[0, 4]], [[1, 1]], {"axis": 1, "reduction": "none"}),
        (twin("scatter_nd"), [[-4]], [[1, 1, 1, 1]], {"reduction": "none"}),
    ],
)
def test_an_index_outside(kind: type[TileOp], indices: list[Any], updates: list[Any], attrs: dict[str, Any]) -> None:
    with pytest.raises(Error) as error:
        run_op(kind, [X, np.array(indices), np.array(updates, np.float32)], attrs)
    assert error.value.code == "E0802"


def test_what_does_not_fit() -> None:
    check_error(twin("scatter_elements"), [(3, 4), (3,), (3,)], {"axis": 0, "reduction": "none"}, "E0403")
