"""Writes at computed places against loops."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tests.draws import generator
from tests.ops.cases import check_batch, check_error, check_op, run_op, spec
from ttc.dialects.core.errors import Error
from ttc.dialects.nn.scatter import ScatterElementsOp, ScatterNdOp

X = generator("scatter.X").standard_normal((3, 4, 5)).astype(np.float32)
COMBINE: dict[str, Callable[[np.float32, np.float32], np.float32]] = {
    "none": lambda old, new: new,
    "add": lambda old, new: old + new,
    "mul": lambda old, new: old * new,
    "max": max,
    "min": min,
}


@pytest.mark.parametrize("reduction", list(COMBINE))
@pytest.mark.parametrize("axis", [0, 1, 2, -1])
def test_scatter_elements(axis: int, reduction: str, rng: np.random.Generator) -> None:
    indices = rng.integers(-X.shape[axis], X.shape[axis], (2, 3, 4))
    updates = rng.standard_normal(indices.shape).astype(np.float32)
    expected = X.copy()
    for place in np.ndindex(*indices.shape):
        target = list(place)
        target[axis] = int(indices[place])
        expected[tuple(target)] = COMBINE[reduction](expected[tuple(target)], updates[place])
    check_op(ScatterElementsOp, [X, indices, updates], {"axis": axis, "reduction": reduction}, expected, 1e-6)


@pytest.mark.parametrize("reduction", list(COMBINE))
@pytest.mark.parametrize("depth", [1, 2, 3])
def test_scatter_nd(depth: int, reduction: str, rng: np.random.Generator) -> None:
    indices = np.stack([rng.integers(-d, d, (2, 4)) for d in X.shape[:depth]], axis=-1).astype(np.int32)
    updates = rng.standard_normal((2, 4, *X.shape[depth:])).astype(np.float32)
    expected = X.copy()
    for place in np.ndindex(2, 4):
        target = tuple(int(i) for i in indices[place])
        old, new = np.atleast_1d(expected[target]), np.atleast_1d(updates[place])
        combined = np.array([COMBINE[reduction](a, b) for a, b in zip(old.ravel(), new.ravel(), strict=True)])
        expected[target] = combined.reshape(np.shape(expected[target]))
    check_op(ScatterNdOp, [X, indices, updates], {"reduction": reduction}, expected, 1e-6)


def test_nothing_to_write_and_no_dimensions() -> None:
    none = np.zeros((0, 4, 5), np.int64)
    check_op(ScatterElementsOp, [X, none, np.zeros((0, 4, 5), np.float32)], {"axis": 0, "reduction": "add"}, X)
    check_op(ScatterNdOp, [X, np.array([1, 2, 3]), np.array(7, np.float32)], {"reduction": "none"}, _with(X, (1, 2, 3), 7))


def _with(x: np.ndarray, place: tuple[int, ...], value: float) -> np.ndarray:
    y = x.copy()
    y[place] = value
    return y


def test_truth_values_can_be_replaced() -> None:
    x = np.array([True, False, False])
    check_op(ScatterElementsOp, [x, np.array([2]), np.array([True])], {"axis": 0, "reduction": "none"}, np.array([True, False, True]))


@pytest.mark.parametrize("index", [-4, 3])
def test_indices_out_of_range(index: int) -> None:
    for op_class, indices, attrs in ((ScatterElementsOp, [index], {"axis": 0}), (ScatterNdOp, [[index]], {})):
        with pytest.raises(Error) as caught:
            run_op(op_class, [np.zeros(3, np.float32), np.array(indices), np.ones(1, np.float32)], {**attrs, "reduction": "none"})
        assert caught.value.code == "E0802"


def test_errors() -> None:
    x, i = spec(3, 4), spec(2, 4, dtype="int64")
    none = {"axis": 0, "reduction": "none"}
    check_error("E0412", ScatterElementsOp, [x, i, spec(2, 4)], {**none, "axis": 2})
    check_error("E0402", ScatterElementsOp, [x, i, spec(2, 4)], {**none, "reduction": "mean"})
    check_error("E0401", ScatterElementsOp, [x, i, spec(2, 3)], none)
    check_error("E0401", ScatterElementsOp, [x, spec(2, 5, dtype="int64"), spec(2, 5)], none)
    check_error("E0403", ScatterElementsOp, [x, i, spec(2, 4, dtype="float64")], none)
    check_error("E0403", ScatterElementsOp, [x, spec(2, 4), spec(2, 4)], none)
    check_error("E0403", ScatterNdOp, [spec(3, dtype="bool"), spec(1, 1, dtype="int64"), spec(1, dtype="bool")], {"reduction": "add"})
    check_error("E0401", ScatterNdOp, [x, spec(2, 3, dtype="int64"), spec(2)], {"reduction": "none"})
    check_error("E0401", ScatterNdOp, [x, spec(2, 1, dtype="int64"), spec(2, 3)], {"reduction": "none"})


def test_batch(rng: np.random.Generator) -> None:
    indices = rng.integers(0, 4, (3, 2, 5))
    updates = rng.standard_normal(indices.shape).astype(np.float32)
    check_batch(ScatterElementsOp, [X, indices, updates], [True, True, True], {"axis": 1, "reduction": "none"}, 3)
