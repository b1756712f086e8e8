"""tile.argmax, tile.argmin, tile.cumsum and tile.cumprod against numpy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.ops.tile_cases import check_error, check_op
from ttc.dialects.tile.base import TileOp, twin

X = np.array([[3, 1, 3], [-2, 5, -2]], np.float32)


@pytest.mark.parametrize(
    ("kind", "attrs", "expected"),
    [
        (twin("argmax"), {"axis": 1, "keepdims": False, "select_last": False}, [0, 1]),
        (twin("argmax"), {"axis": -1, "keepdims": True, "select_last": True}, [[2], [1]]),
        (twin("argmin"), {"axis": 0, "keepdims": False, "select_last": False}, [1, 0, 1]),
        (twin("argmin"), {"axis": 1, "keepdims": False, "select_last": True}, [1, 2]),
    ],
)
def test_places(kind: type[TileOp], attrs: dict[str, Any], expected: list[Any]) -> None:
    check_op(kind, [X], attrs, np.array(expected), format="Int64")


def test_sums_and_products_up_to_each_place() -> None:
    check_op(twin("cumsum"), [X], {"axis": 1, "exclusive": False, "reverse": False}, np.cumsum(X, axis=1))
    check_op(twin("cumsum"), [X], {"axis": 0, "exclusive": True, "reverse": True}, np.array([[-2, 5, -2], [0, 0, 0]], np.float32))
    check_op(twin("cumprod"), [X], {"axis": 1, "exclusive": True, "reverse": False}, np.array([[1, 3, 3], [1, -2, -10]], np.float32))


def test_axes_outside() -> None:
    check_error(twin("argmax"), [(2, 3)], {"axis": 2, "keepdims": False, "select_last": False}, "E0412")
    check_error(twin("cumsum"), [(2, 3)], {"axis": -3, "exclusive": False, "reverse": False}, "E0412")
