"""Tile ops that rearrange, reduce and index, against numpy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.draws import generator
from tests.ops.tile_cases import check_error, check_op, run_op
from ttc.dialects.core.errors import Error
from ttc.dialects.tile import shape
from ttc.dialects.tile.base import TileOp
from ttc.dialects.tile.facts.reduce import REDUCTIONS
from ttc.dialects.tile.index import EmbeddingOp
from ttc.dialects.tile.reduce import ReduceOp

X = generator("tile_shape.X").standard_normal((2, 3, 8)).astype(np.float32)


@pytest.mark.parametrize(
    ("kind", "attrs", "expected"),
    [
        (shape.ReshapeOp, {"shape": (6, 2, 4)}, X.reshape(6, 2, 4)),
        (shape.TransposeOp, {"perm": (2, 0, 1)}, X.transpose(2, 0, 1)),
        (shape.HsliceOp, {"n": 4}, X.reshape(2, 3, 4, 2).transpose(0, 2, 1, 3)),
        (shape.BroadcastOp, {"shape": (5, 2, 3, 8)}, np.broadcast_to(X, (5, 2, 3, 8))),
        (shape.SliceOp, {"starts": (1, 2, 1), "sizes": (1, 3, 4), "steps": (1, -1, 2)}, X[1:2, 2::-1, 1:8:2]),
        (shape.PadOp, {"before": (0, 1, 2), "after": (0, 0, 3), "value": 0.5}, np.pad(X, ((0, 0), (1, 0), (2, 3)), constant_values=0.5)),
        (shape.RelayoutOp, {}, X),
    ],
)
def test_rearranging(kind: type[TileOp], attrs: dict[str, Any], expected: np.ndarray) -> None:
    check_op(kind, [X], attrs, expected)


def test_hstack_undoes_hslice() -> None:
    check_op(shape.HstackOp, [X.reshape(2, 3, 4, 2).transpose(0, 2, 1, 3)], {"n": 4}, X)


def test_concat() -> None:
    check_op(shape.ConcatOp, [X, X[:, :1]], {"axis": -2}, np.concatenate([X, X[:, :1]], axis=1))


@pytest.mark.parametrize(
    ("kind", "attrs", "code"),
    [
        (shape.ReshapeOp, {"shape": (7, 7)}, "E0401"),
        (shape.TransposeOp, {"perm": (0, 0, 1)}, "E0402"),
        (shape.HsliceOp, {"n": 3}, "E0402"),
        (shape.HstackOp, {"n": 3}, "E0402"),
        (shape.BroadcastOp, {"shape": (2, 1, 8)}, "E0401"),
        (shape.SliceOp, {"starts": (0, 2, 0), "sizes": (2, 2, 8), "steps": (1, 1, 1)}, "E0402"),
        (shape.SliceOp, {"starts": (0,), "sizes": (2,), "steps": (1,)}, "E0402"),
        (shape.PadOp, {"before": (0, -1, 0), "after": (0, 0, 0), "value": 0.0}, "E0402"),
        (ReduceOp, {"fn": "median", "axes": (0,), "keepdims": True}, "E0402"),
        (ReduceOp, {"fn": "sum", "axes": (3,), "keepdims": True}, "E0412"),
    ],
)
def test_what_does_not_fit(kind: type[TileOp], attrs: dict[str, Any], code: str) -> None:
    check_error(kind, [(2, 3, 8)], attrs, code)


def test_concat_of_what_does_not_fit() -> None:
    check_error(shape.ConcatOp, [(2, 3), (2, 4)], {"axis": 0}, "E0401")
    check_error(shape.ConcatOp, [(2, 3), (2, 4)], {"axis": 2}, "E0412")


@pytest.mark.parametrize("fn", REDUCTIONS)
def test_reduce(fn: str) -> None:
    expected = getattr(np, fn)(X, axis=(0, 2), keepdims=True)
    check_op(ReduceOp, [X], {"fn": fn, "axes": (0, -1), "keepdims": True}, expected, 1e-5)
    check_op(ReduceOp, [X], {"fn": fn, "axes": (0, 2), "keepdims": False}, expected[0, :, 0], 1e-5)


def test_embedding() -> None:
    table, indices = X[0], np.array([[0, 2], [-1, 1]], np.int32)
    check_op(EmbeddingOp, [table, indices], {}, table[indices])
    check_error(EmbeddingOp, [(2, 3, 8), (4,)], {}, "E0401")
    with pytest.raises(Error) as error:
        run_op(EmbeddingOp, [table, np.array([3], np.int32)], {})
    assert error.value.code == "E0802"
