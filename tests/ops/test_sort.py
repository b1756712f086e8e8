"""Ops that order elements, against sorted lists and loops."""

from __future__ import annotations

import numpy as np
import pytest

from tests.ops.cases import check_batch, check_error, check_op, run_op, spec
from ttc.dialects.core.errors import Error
from ttc.dialects.nn.kernels.sort import topk
from ttc.dialects.nn.sort import ReverseSequenceOp, TopkOp


def expected_topk(x: np.ndarray, k: int, axis: int, largest: bool) -> tuple[np.ndarray, np.ndarray]:
    def chosen(row: np.ndarray) -> list[int]:
        return sorted(range(len(row)), key=lambda i: (-int(row[i]) if largest else int(row[i]), i))[:k]

    places = np.apply_along_axis(lambda row: np.array(chosen(row), np.int64), axis, x)
    return np.take_along_axis(x, places, axis), places


@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize(("axis", "k"), [(0, 2), (1, 5), (-1, 3), (2, 1)])
@pytest.mark.parametrize("dtype", [np.float32, np.int32, np.uint8])
def test_topk(dtype: type, axis: int, k: int, largest: bool, rng: np.random.Generator) -> None:
    x = rng.integers(0, 6, (3, 5, 7)).astype(dtype)  # many equal elements
    check_op(TopkOp, [x], {"k": k, "axis": axis, "largest": largest}, expected_topk(x, k, axis, largest))


def test_topk_of_extreme_values() -> None:
    x = np.array([-128, 127, 0], np.int8)
    check_op(TopkOp, [x], {"k": 3, "axis": 0, "largest": True}, [np.array([127, 0, -128], np.int8), np.array([1, 2, 0])])
    y = np.array([-np.inf, 1, np.inf], np.float32)
    check_op(TopkOp, [y], {"k": 2, "axis": 0, "largest": False}, [np.array([-np.inf, 1], np.float32), np.array([0, 1])])
    check_op(TopkOp, [y], {"k": 0, "axis": 0, "largest": False}, [np.zeros(0, np.float32), np.zeros(0, np.int64)])


@pytest.mark.parametrize("largest", [True, False])
def test_topk_of_truth_values(largest: bool, rng: np.random.Generator) -> None:
    x = rng.random((20, 30)) < 0.5
    values, places = topk(x, k=7, axis=1, largest=largest)
    np.testing.assert_array_equal(places, np.argsort(~x if largest else x, axis=1, kind="stable")[:, :7])
    np.testing.assert_array_equal(values, np.take_along_axis(x, places, 1))


@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.int8, np.int16, np.uint32, np.int32, np.int64])
def test_topk_is_the_start_of_a_stable_sort(dtype: type, largest: bool, rng: np.random.Generator) -> None:
    if np.issubdtype(dtype, np.floating):
        x = rng.choice([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.5, -2.0, 6e-5], (20, 30)).astype(dtype)
    else:
        low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
        x = rng.choice(np.array([low, high, high - 1, low + 1], dtype), (20, 30))
    order = np.argsort((-x if x.dtype.kind == "f" else ~x) if largest else x, axis=1, kind="stable")[:, :7]
    values, places = run_op(TopkOp, [x], {"k": 7, "axis": 1, "largest": largest})
    np.testing.assert_array_equal(places, order)
    np.testing.assert_array_equal(values, np.take_along_axis(x, order, 1))


def test_topk_errors_and_batch(rng: np.random.Generator) -> None:
    check_error("E0402", TopkOp, [spec(2, 3)], {"k": 4, "axis": 1, "largest": True})
    check_error("E0402", TopkOp, [spec(2, 3)], {"k": -1, "axis": 1, "largest": True})
    check_error("E0412", TopkOp, [spec(2, 3)], {"k": 1, "axis": 2, "largest": True})
    check_error("E0403", TopkOp, [spec(2, dtype="bool")], {"k": 1, "axis": 0, "largest": True})
    check_batch(TopkOp, [rng.standard_normal((3, 5)).astype(np.float32)], [True], {"k": 2, "axis": 1, "largest": True}, 3)


@pytest.mark.parametrize(("time", "batch"), [(0, 1), (1, 0), (0, 2), (2, 1)])
def test_reverse_sequence(time: int, batch: int, rng: np.random.Generator) -> None:
    x = rng.standard_normal((4, 3, 5)).astype(np.float32)
    lengths = rng.integers(0, x.shape[time] + 1, x.shape[batch])
    expected = x.copy()
    for i, length in enumerate(lengths):
        part = np.moveaxis(expected, (time, batch), (0, 1))
        part[:length, i] = part[:length, i][::-1].copy()
    check_op(ReverseSequenceOp, [x, lengths], {"time_axis": time, "batch_axis": batch}, expected)


def test_reverse_sequence_errors() -> None:
    attrs = {"time_axis": 0, "batch_axis": 1}
    check_error("E0401", ReverseSequenceOp, [spec(4, 3), spec(4, dtype="int64")], attrs)
    check_error("E0402", ReverseSequenceOp, [spec(4, 3), spec(4, dtype="int64")], {"time_axis": 0, "batch_axis": 0})
    check_error("E0412", ReverseSequenceOp, [spec(4, 3), spec(3, dtype="int64")], {"time_axis": -1, "batch_axis": 1})
    check_error("E0403", ReverseSequenceOp, [spec(4, 3), spec(3)], attrs)
    with pytest.raises(Error) as caught:
        run_op(ReverseSequenceOp, [np.zeros((4, 3), np.float32), np.array([1, 5, 2])], attrs)
    assert caught.value.code == "E0802"
