"""SequenceInsertOp, SequenceEraseOp, SequenceAtOp, SequenceJoinOp: sequences against Python's lists of arrays."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.ops.cases import check_error, run_op, spec
from ttc.dialects.core.errors import Error
from ttc.dialects.nn.base import NNOp
from ttc.dialects.nn.sequence import SequenceAtOp, SequenceEraseOp, SequenceInsertOp, SequenceJoinOp

TENSORS = [np.full((2, n), n, np.float32) for n in (3, 0, 1)]
X = np.array([[7, 8], [9, 10]], np.float32)


def parts_of(tensors: list[NDArray], rank: int = 2) -> list[NDArray]:
    """A list as an op takes it."""
    flat = np.concatenate([np.zeros(0, np.float32), *(x.ravel() for x in tensors)])
    return [flat, np.array([x.shape for x in tensors], np.int64).reshape(len(tensors), rank)]


def tensors_of(flat: NDArray, sizes: NDArray) -> list[list[float]]:
    ends = np.cumsum([int(np.prod(row)) for row in sizes])
    return [part.reshape(row).tolist() for part, row in zip(np.split(flat, ends[:-1]), sizes, strict=False)]


@pytest.mark.parametrize("position", [None, 0, 1, 3, -1, -3])
def test_insert(position: int | None) -> None:
    wanted = list(TENSORS)
    wanted.insert(len(wanted) if position is None else position, X)
    found = run_op(SequenceInsertOp, [*parts_of(TENSORS), X, None if position is None else np.array(position)], {})
    assert tensors_of(*found) == [x.tolist() for x in wanted]


def test_insert_of_a_number_into_an_empty_one() -> None:
    flat, sizes = run_op(SequenceInsertOp, [*parts_of([], 0), np.array(5, np.float32), None], {})
    assert (flat.tolist(), sizes.shape) == ([5.0], (1, 0))


@pytest.mark.parametrize("position", [None, 0, 2, -3])
def test_erase_and_at(position: int | None) -> None:
    wanted = list(TENSORS)
    gone = wanted.pop(-1 if position is None else position)
    found = run_op(SequenceEraseOp, [*parts_of(TENSORS), None if position is None else np.array(position)], {})
    assert tensors_of(*found) == [x.tolist() for x in wanted]
    (y,) = run_op(SequenceAtOp, [*parts_of(TENSORS), np.array(-1 if position is None else position)], {"shape": (2, -1)})
    np.testing.assert_array_equal(y, gone)


def test_join() -> None:
    (y,) = run_op(SequenceJoinOp, parts_of(TENSORS), {"axis": 1, "stacked": False, "shape": (2, -1)})
    np.testing.assert_array_equal(y, np.concatenate(TENSORS, 1))
    (y,) = run_op(SequenceJoinOp, parts_of([X, X]), {"axis": -1, "stacked": True, "shape": (-1, -1, 2)})
    np.testing.assert_array_equal(y, np.stack([X, X], -1))


@pytest.mark.parametrize(
    ("op", "operands", "attrs"),
    [
        (SequenceAtOp, [*parts_of(TENSORS), np.array(3)], {"shape": (-1, -1)}),
        (SequenceAtOp, [*parts_of(TENSORS), np.array(0)], {"shape": (-1, 4)}),
        (SequenceAtOp, [np.zeros(5, np.float32), parts_of(TENSORS)[1], np.array(0)], {"shape": (-1, -1)}),
        (SequenceAtOp, [np.zeros(4, np.float32), np.array([[-2, -2]]), np.array(0)], {"shape": (-1, -1)}),
        (SequenceAtOp, [np.zeros(0, np.float32), np.array([[1 << 62, 4]]), np.array(0)], {"shape": (-1, -1)}),
        (SequenceInsertOp, [*parts_of(TENSORS), X, np.array(4)], {}),
        (SequenceEraseOp, [*parts_of([]), None], {}),
        (SequenceJoinOp, parts_of([]), {"axis": 0, "stacked": False, "shape": (-1, -1)}),
        (SequenceJoinOp, parts_of(TENSORS), {"axis": 0, "stacked": False, "shape": (-1, -1)}),
    ],
)
def test_what_fails_in_a_run(op: type[NNOp], operands: list[NDArray | None], attrs: dict[str, object]) -> None:
    with pytest.raises(Error) as caught:
        run_op(op, operands, attrs)
    assert (caught.value.code, caught.value.where) == ("E0802", "/node")


def test_what_they_refuse() -> None:
    flat, sizes, place = spec(-1), spec(-1, 2, dtype="int64"), spec(dtype="int64")
    check_error("E0401", SequenceInsertOp, [flat, sizes, spec(3), None], {})
    check_error("E0403", SequenceInsertOp, [flat, sizes, spec(3, 2, dtype="int64"), None], {})
    check_error("E0403", SequenceInsertOp, [flat, sizes, spec(3, 2), spec()], {})
    check_error("E0401", SequenceEraseOp, [spec(2, 2), sizes, None], {})
    check_error("E0403", SequenceEraseOp, [flat, spec(-1, 2), None], {})
    check_error("E0402", SequenceAtOp, [flat, sizes, place], {"shape": (1,)})
    check_error("E0412", SequenceJoinOp, [flat, sizes], {"axis": 2, "stacked": False, "shape": (-1, -1)})
