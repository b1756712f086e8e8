"""Copies, tiles of other sides and formats of tile values, against numpy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.draws import generator
from tests.ops.tile_cases import check_error, check_op
from ttc.dialects.core.errors import Error
from ttc.dialects.core.plain.interpret import kernel
from ttc.dialects.tile.base import TileOp
from ttc.dialects.tile.manipulation import AdjustOp, RepeatOp, RetileOp, TileBroadcastOp

X = generator("tile_manipulation.X").standard_normal((2, 4, 6)).astype(np.float32)


@pytest.mark.parametrize("axis", [-3, -2, -1, 0])
def test_repeats_follow_one_another(axis: int) -> None:
    check_op(RepeatOp, [X], {"axis": axis, "n": 3}, np.concatenate([X] * 3, axis=axis))


@pytest.mark.parametrize(("dim", "row", "column"), [("r", 0, None), ("c", None, 0), ("rc", 0, 0)])
def test_one_row_column_or_element_of_every_tile(dim: str, row: int | None, column: int | None) -> None:
    expected = np.empty_like(X)
    for t in range(2):
        for r in range(4):
            for c in range(6):
                expected[t, r, c] = X[t, r // 2 * 2 if row == 0 else r, c // 3 * 3 if column == 0 else c]
    check_op(TileBroadcastOp, [X], {"dim": dim, "tile": (2, 3)}, expected)


def test_tiles_get_frames_of_zeros() -> None:
    expected = np.zeros((2, 8, 8), np.float32)
    for r in range(4):
        for c in range(6):
            expected[:, r // 2 * 4 + r % 2, c // 3 * 4 + c % 3] = X[:, r, c]
    check_op(RetileOp, [X], {"source": (2, 3), "kept": (2, 3), "target": (4, 4)}, expected)


def test_tiles_lose_what_is_not_kept() -> None:
    expected = np.zeros((2, 4, 4), np.float32)
    expected[:, ::2, ::2], expected[:, ::2, 1::2] = X[:, ::2, ::3], X[:, ::2, 1::3]
    check_op(RetileOp, [X], {"source": (2, 3), "kept": (1, 2), "target": (2, 2)}, expected)


def test_numbers_of_another_format() -> None:
    x = np.array([[1.0 + 2.0**-12, 200.5, -3.5, np.inf]], np.float32)
    check_op(AdjustOp, [x], {"to": "Tf32", "rounding": "truncate"}, np.array([[1.0, 200.5, -3.5, np.inf]], np.float32))
    check_op(AdjustOp, [x[:, 1:3]], {"to": "Int8", "rounding": "rne"}, np.array([[127.0, -4.0]], np.float32))


@pytest.mark.parametrize(
    ("kind", "attrs", "code"),
    [
        (RepeatOp, {"axis": 3, "n": 2}, "E0412"),
        (RepeatOp, {"axis": 0, "n": 0}, "E0402"),
        (RepeatOp, {"axis": 0, "n": 1 << 40}, "E0402"),
        (TileBroadcastOp, {"dim": "z", "tile": (2, 3)}, "E0402"),
        (TileBroadcastOp, {"dim": "r", "tile": (3, 3)}, "E0401"),
        (TileBroadcastOp, {"dim": "r", "tile": (0, 3)}, "E0401"),
        (RetileOp, {"source": (2, 3), "kept": (3, 3), "target": (4, 4)}, "E0402"),
        (RetileOp, {"source": (2, 4), "kept": (1, 1), "target": (4, 4)}, "E0401"),
        (AdjustOp, {"to": "Float99", "rounding": "rne"}, "E0607"),
        (AdjustOp, {"to": "Int8", "rounding": "up"}, "E0402"),
    ],
)
def test_what_does_not_fit(kind: type[TileOp], attrs: dict[str, Any], code: str) -> None:
    check_error(kind, [(2, 4, 6)], attrs, code)


@pytest.mark.parametrize(
    ("op", "operands", "attrs"),
    [
        ("tile.repeat", 1, {"axis": 0, "n": 1 << 50}),
        ("tile.repeat", 1, {"axis": 0, "n": 0}),
        ("tile.retile", 1, {"source": (2, 3), "kept": (1, 1), "target": (1 << 40, 1)}),
        ("tile.retile", 1, {"source": (2, 3), "kept": (1, 1), "target": (-1, 1)}),
        ("tile.topk", 2, {"k": 2, "sort": "max", "sorted_runs": False, "cores": 1, "width": 1 << 50}),
    ],
)
def test_kernels_bound_what_attributes_ask_for(op: str, operands: int, attrs: dict[str, Any]) -> None:
    with pytest.raises(Error) as error:
        kernel(op)(*[X if operands == 1 else X[..., :4]] * operands, **attrs)
    assert error.value.code == "E0402"
