"""Ops whose result has as many elements as the data decides, against numpy and by hand."""

from __future__ import annotations

import numpy as np
import pytest

from tests.ops.cases import check_error, check_op, run_op, spec
from ttc.dialects.core.errors import Error
from ttc.dialects.nn.selection import CompressOp, NonZeroOp, OneHotOp, RangeOp, UniqueOp

X = np.array([[1, 0, 2], [0, 0, 3]], np.float32)


def test_non_zero() -> None:
    check_op(NonZeroOp, [X], {}, np.array([[0, 0, 1], [0, 2, 2]]))
    check_op(NonZeroOp, [np.zeros((2, 3), bool)], {}, np.zeros((2, 0), np.int64))
    check_op(NonZeroOp, [np.array(5, np.int32)], {}, np.zeros((0, 1), np.int64))
    assert NonZeroOp.infer(spec(4, 5, 6)) == spec(3, -1, dtype="int64")


def test_compress() -> None:
    check_op(CompressOp, [X, np.array([True, False, True])], {"axis": 1}, X[:, [0, 2]])
    check_op(CompressOp, [X, np.array([False, True])], {"axis": -2}, X[1:])
    check_op(CompressOp, [X, np.array([False, True, True, True])], {}, np.array([0, 2, 0], np.float32))
    check_op(CompressOp, [X, np.array([False])], {"axis": 1}, X[:, :0])
    with pytest.raises(Error) as caught:
        run_op(CompressOp, [X, np.array([True] * 4)], {"axis": 1})
    assert caught.value.code == "E0802"


def test_unique() -> None:
    x = np.array([3, 1, 1, 2, 3], np.int32)
    ascending = [np.array([1, 2, 3], np.int32), np.array([1, 3, 0]), np.array([2, 0, 0, 1, 2]), np.array([2, 1, 2])]
    check_op(UniqueOp, [x], {"sorted": True}, ascending)
    first = [np.array([3, 1, 2], np.int32), np.array([0, 1, 3]), np.array([0, 1, 1, 2, 0]), np.array([2, 2, 1])]
    check_op(UniqueOp, [x], {"sorted": False}, first)


def test_unique_slices() -> None:
    x = np.array([[2, 1, 2], [0, 5, 0]], np.float32)
    expected = [np.array([[1, 2], [5, 0]], np.float32), np.array([1, 0]), np.array([1, 0, 1]), np.array([1, 2])]
    check_op(UniqueOp, [x], {"sorted": True, "axis": 1}, expected)
    expected = [np.array([[2, 1], [0, 5]], np.float32), np.array([0, 1]), np.array([0, 1, 0]), np.array([2, 1])]
    check_op(UniqueOp, [x], {"sorted": False, "axis": -1}, expected)


def number(value: float, dtype: type = np.int64) -> np.ndarray:
    return np.array(value, dtype)


@pytest.mark.parametrize(("start", "limit", "delta"), [(0, 7, 2), (0, 8, 2), (5, -3, -3), (3, 3, 1), (4, 1, 1), (-2, 9, 11)])
def test_range(start: int, limit: int, delta: int) -> None:
    check_op(RangeOp, [number(start), number(limit), number(delta)], {}, np.arange(start, limit, delta))
    floats = [number(v, np.float32) for v in (start, limit, delta)]
    check_op(RangeOp, floats, {}, np.arange(start, limit, delta).astype(np.float32))


@pytest.mark.parametrize(("limit", "delta"), [(3.0, 0.0), (np.inf, 1.0), (np.nan, 1.0), (1e30, 1.0)])
def test_ranges_without_an_end(limit: float, delta: float) -> None:
    with pytest.raises(Error) as caught:
        run_op(RangeOp, [number(v, np.float32) for v in (0, limit, delta)], {})
    assert caught.value.code == "E0802"


def test_errors() -> None:
    check_error("E0403", CompressOp, [spec(2), spec(2)], {})
    check_error("E0401", CompressOp, [spec(2), spec(2, 1, dtype="bool")], {})
    check_error("E0412", CompressOp, [spec(2), spec(2, dtype="bool")], {"axis": 1})
    check_error("E0412", UniqueOp, [spec(2)], {"sorted": True, "axis": 1})
    check_error("E0401", RangeOp, [spec(1), spec(), spec()], {})
    check_error("E0403", RangeOp, [spec(), spec(), spec(dtype="int32")], {})


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_one_hot(axis: int) -> None:
    indices, values = np.array([[0, 2], [-1, 7]], np.int64), np.array([5.0, 1.5], np.float32)
    rows = np.full((2, 2, 3), 5, np.float32)
    rows[0, 0, 0] = rows[0, 1, 2] = rows[1, 0, 2] = 1.5  # 7 is outside and marks nothing
    check_op(OneHotOp, [indices, np.array(3, np.float32), values], {"axis": axis}, np.moveaxis(rows, -1, axis))


def test_one_hot_types_and_limits() -> None:
    assert OneHotOp.infer(spec(2, 4), spec(), spec(2), axis=1) == spec(2, -1, 4)
    check_error("E0401", OneHotOp, [spec(2), spec(1), spec(2)], {"axis": 0})
    check_error("E0401", OneHotOp, [spec(2), spec(), spec(3)], {"axis": 0})
    check_error("E0412", OneHotOp, [spec(2), spec(), spec(2)], {"axis": 2})
    for depth in (0.0, -2.0, 1e12, float("nan")):
        with pytest.raises(Error) as caught:
            run_op(OneHotOp, [np.array([0]), np.array(depth, np.float32), np.zeros(2, np.float32)], {"axis": 0})
        assert caught.value.code == "E0802"
