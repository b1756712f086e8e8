"""Gathers against numpy, onnx's reference and torch; indices out of range."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.draws import generator
from tests.ops.cases import check_batch, check_error, check_no_batch, check_op, run_op, spec
from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.spec import Spec
from ttc.dialects.nn.base import NNOp
from ttc.dialects.nn.index import GatherElementsOp, GatherNdOp, GatherOp

X = generator("index.X").standard_normal((3, 4, 5)).astype(np.float32)


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -3])
@pytest.mark.parametrize("shape", [(), (2,), (2, 3), (0,), (1, 0, 2)])
@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_gather(axis: int, shape: tuple[int, ...], dtype: type, rng: np.random.Generator) -> None:
    indices = rng.integers(-3, 3, shape).astype(dtype).reshape(shape)
    check_op(GatherOp, [X, indices], {"axis": axis}, np.take(X, indices, axis))


@pytest.mark.parametrize("dtype", [np.bool_, np.int64, np.uint8, np.float16])
def test_gather_takes_any_dtype(dtype: type) -> None:
    x = (X > 0).astype(dtype)
    check_op(GatherOp, [x, np.array([2, 0])], {"axis": 1}, x[:, [2, 0]])


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("shape", [(3, 4, 5), (2, 3, 1), (1, 0, 2)])
def test_gather_elements(axis: int, shape: tuple[int, ...], rng: np.random.Generator) -> None:
    indices = rng.integers(-3, 3, shape)
    expected = np.zeros(shape, np.float32)
    for place in np.ndindex(*shape):
        source = list(place)
        source[axis] = indices[place]
        expected[place] = X[tuple(source)]
    check_op(GatherElementsOp, [X, indices], {"axis": axis}, expected)


def test_gather_elements_may_ask_for_more_than_there_is_along_the_axis() -> None:
    x = np.array([[1, 2]], np.float32)
    check_op(GatherElementsOp, [x, np.array([[0, 1, -1]])], {"axis": 1}, np.array([[1, 2, 2]], np.float32))


@pytest.mark.parametrize(
    ("shape", "batch_dims"),
    [
        ((2, 1), 0),
        ((2, 2), 0),
        ((2, 3, 3), 0),
        ((1,), 0),
        ((3,), 0),
        ((3, 1), 1),
        ((3, 2, 2), 1),
        ((3, 4, 1), 2),
        ((3, 4, 2, 1), 2),
        ((0, 2), 0),
    ],
)
def test_gather_nd(shape: tuple[int, ...], batch_dims: int, rng: np.random.Generator) -> None:
    indices = rng.integers(-3, 3, shape)
    rest = X.shape[batch_dims + shape[-1] :]
    expected = np.zeros((*shape[:-1], *rest), np.float32)
    for place in np.ndindex(*shape[:-1]):
        expected[place] = X[(*place[:batch_dims], *indices[place])]
    check_op(GatherNdOp, [X, indices], {"batch_dims": batch_dims}, expected)


@pytest.mark.parametrize(
    ("op_class", "indices", "attrs"),
    [
        (GatherOp, np.array([0, 4]), {"axis": 1}),
        (GatherOp, np.array([-5]), {"axis": 1}),
        (GatherElementsOp, np.full((3, 1, 5), 4), {"axis": 1}),
        (GatherElementsOp, np.full((3, 1, 5), -5), {"axis": -2}),
        (GatherNdOp, np.array([[0, 4]]), {"batch_dims": 0}),
        (GatherNdOp, np.array([[0], [0], [-5]]), {"batch_dims": 1}),
    ],
)
def test_index_out_of_range(op_class: type[NNOp], indices: NDArray, attrs: dict) -> None:
    with pytest.raises(Error) as caught:
        run_op(op_class, [X, indices], attrs)
    assert (caught.value.code, caught.value.where) == ("E0802", "/node")
    assert str(int(indices.ravel()[np.argmax(np.abs(indices))])) in caught.value.message


def test_index_into_nothing() -> None:
    with pytest.raises(Error) as caught:
        run_op(GatherOp, [np.zeros((3, 0), np.float32), np.array([0])], {"axis": 1})
    assert caught.value.code == "E0802"


INDEX = spec(2, dtype="int64")


@pytest.mark.parametrize(
    ("code", "op_class", "specs", "attrs"),
    [
        ("E0412", GatherOp, [spec(3, 4), INDEX], {"axis": 2}),
        ("E0412", GatherOp, [spec(), INDEX], {"axis": 0}),
        ("E0403", GatherOp, [spec(3, 4), spec(2)], {"axis": 0}),
        ("E0403", GatherOp, [spec(3, 4), spec(2, dtype="uint8")], {"axis": 0}),
        ("E0412", GatherElementsOp, [spec(3), INDEX], {"axis": -2}),
        ("E0401", GatherElementsOp, [spec(3, 4), INDEX], {"axis": 0}),
        ("E0401", GatherElementsOp, [spec(3, 4), spec(2, 5, dtype="int64")], {"axis": 0}),
        ("E0403", GatherElementsOp, [spec(3), spec(3)], {"axis": 0}),
        ("E0402", GatherNdOp, [spec(3, 4), spec(3, 1, dtype="int64")], {"batch_dims": 2}),
        ("E0402", GatherNdOp, [spec(3, 4), spec(3, 1, dtype="int64")], {"batch_dims": -1}),
        ("E0401", GatherNdOp, [spec(3, 4), spec(3, 3, dtype="int64")], {"batch_dims": 0}),
        ("E0401", GatherNdOp, [spec(3, 4), spec(3, 0, dtype="int64")], {"batch_dims": 0}),
        ("E0401", GatherNdOp, [spec(3, 4), spec(2, 1, dtype="int64")], {"batch_dims": 1}),
        ("E0403", GatherNdOp, [spec(3, 4), spec(2, 1)], {"batch_dims": 0}),
    ],
)
def test_errors(code: str, op_class: type[NNOp], specs: list[Spec], attrs: dict) -> None:
    check_error(code, op_class, specs, attrs)


def test_dynamic_dimensions() -> None:
    assert GatherOp.infer(spec(-1, 4), spec(-1, dtype="int64"), axis=1) == spec(-1, -1)
    assert GatherNdOp.infer(spec(5, 4), spec(-1, 1, dtype="int64"), batch_dims=0) == spec(-1, 4)


def test_batch(rng: np.random.Generator) -> None:
    x = rng.standard_normal((6, 4)).astype(np.float32)
    indices = rng.integers(0, 4, (6, 2))
    check_batch(GatherOp, [x, np.array([2, 0])], [True, False], {"axis": -1}, 3)
    check_batch(GatherOp, [x, indices], [False, True], {"axis": 0}, 3)
    check_batch(GatherElementsOp, [x, indices], [True, True], {"axis": 1}, 3)
    check_batch(GatherNdOp, [x, indices[:, :1]], [True, True], {"batch_dims": 1}, 3)
    check_batch(GatherNdOp, [x, indices], [False, True], {"batch_dims": 0}, 3)
    check_no_batch(GatherOp, [spec(6, 4), spec(6, dtype="int64")], [True, True], {"axis": 1}, 6)
    check_no_batch(GatherOp, [spec(6, 4), spec(6, dtype="int64")], [True, False], {"axis": 0}, 6)
    check_no_batch(GatherElementsOp, [spec(6, 4), spec(6, 4, dtype="int64")], [True, True], {"axis": 0}, 6)
    check_no_batch(GatherElementsOp, [spec(6, 4), spec(3, 4, dtype="int64")], [True, True], {"axis": 1}, 3)
    check_no_batch(GatherNdOp, [spec(6, 4), spec(6, 1, dtype="int64")], [True, True], {"batch_dims": 0}, 6)
