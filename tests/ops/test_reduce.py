"""Reductions, places of extremes and cumulative sums, against numpy, torch and the definition."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.draws import generator
from tests.ops.cases import check_batch, check_error, check_no_batch, check_op, spec
from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.spec import Spec
from ttc.dialects.nn import reduce
from ttc.dialects.nn.base import NNOp
from ttc.dialects.nn.kernels.reduce import argmax

X = generator("reduce.X").standard_normal((3, 4, 5)).astype(np.float32)
REDUCTIONS = [
    (reduce.ReduceSumOp, np.sum),
    (reduce.ReduceMeanOp, np.mean),
    (reduce.ReduceMaxOp, np.max),
    (reduce.ReduceMinOp, np.min),
    (reduce.ReduceProdOp, np.prod),
]


@pytest.mark.parametrize(("op_class", "function"), REDUCTIONS)
@pytest.mark.parametrize("axes", [(0,), (-1,), (1, -1), (2, 0), (0, 1, 2), ()])
@pytest.mark.parametrize("keepdims", [True, False])
def test_reductions(op_class: type[NNOp], function: Callable[..., NDArray], axes: tuple[int, ...], keepdims: bool) -> None:
    expected = np.asarray(function(X.astype(np.float64), axis=axes, keepdims=keepdims)).astype(np.float32)
    check_op(op_class, [X], {"axes": axes, "keepdims": keepdims}, expected, 1e-5)


@pytest.mark.parametrize(
    ("op_class", "none"),
    [
        (reduce.ReduceSumOp, 0.0),
        (reduce.ReduceMeanOp, np.nan),
        (reduce.ReduceMaxOp, -np.inf),
        (reduce.ReduceMinOp, np.inf),
        (reduce.ReduceProdOp, 1.0),
    ],
)
def test_no_elements(op_class: type[NNOp], none: float) -> None:
    check_op(op_class, [np.zeros((2, 0), np.float32)], {"axes": (1,), "keepdims": False}, np.full(2, none, np.float32))
    check_op(op_class, [np.zeros((2, 0), np.float32)], {"axes": (0,), "keepdims": True}, np.zeros((1, 0), np.float32))


def test_integers() -> None:
    x = np.array([[-7, 2], [120, 100]], np.int8)
    attrs = {"axes": (1,), "keepdims": False}
    check_op(reduce.ReduceSumOp, [x], attrs, np.array([-5, -36], np.int8))
    check_op(reduce.ReduceMeanOp, [x], attrs, np.array([-2, 110], np.int8))
    check_op(reduce.ReduceMeanOp, [x.astype(np.uint8)], attrs, np.array([125, 110], np.uint8))
    check_op(reduce.ReduceMaxOp, [x], attrs, np.array([2, 120], np.int8))
    check_op(reduce.ReduceProdOp, [x], attrs, np.array([-14, -32], np.int8))
    check_op(reduce.ReduceMaxOp, [x[:, :0]], attrs, np.array([-128, -128], np.int8))
    check_op(reduce.ReduceMinOp, [x[:, :0]], attrs, np.array([127, 127], np.int8))
    check_op(reduce.ReduceMaxOp, [x > 0], attrs, np.array([True, True]))
    check_op(reduce.ReduceMinOp, [(x > 0)[:, :0]], attrs, np.array([True, True]))


def test_nan_wins() -> None:
    x = np.array([1.0, np.nan, 3.0], np.float32)
    for op_class in (reduce.ReduceMaxOp, reduce.ReduceMinOp):
        check_op(op_class, [x], {"axes": (0,), "keepdims": False}, np.array(np.nan, np.float32))


def test_scalar() -> None:
    check_op(reduce.ReduceSumOp, [np.array(2.0, np.float32)], {"axes": (), "keepdims": True}, np.array(2.0, np.float32))


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("keepdims", [True, False])
def test_places_of_extremes(axis: int, keepdims: bool, rng: np.random.Generator) -> None:
    x = rng.integers(0, 3, (4, 5, 6)).astype(np.float32)
    attrs = {"axis": axis, "keepdims": keepdims, "select_last": False}
    check_op(reduce.ArgMaxOp, [x], attrs, np.argmax(x, axis, keepdims=keepdims))
    check_op(reduce.ArgMinOp, [x], attrs, np.argmin(x, axis, keepdims=keepdims))
    last = x.shape[axis] - 1 - np.argmax(np.flip(x, axis), axis, keepdims=keepdims)
    check_op(reduce.ArgMaxOp, [x], {**attrs, "select_last": True}, last)


def test_select_last() -> None:
    x = np.array([2, 5, 5, 2], np.int32)
    attrs = {"axis": 0, "keepdims": False, "select_last": True}
    check_op(reduce.ArgMaxOp, [x], attrs, np.array(2))
    check_op(reduce.ArgMinOp, [x], attrs, np.array(3))


def test_argmax_of_a_dynamic_axis_that_is_empty() -> None:
    with pytest.raises(Error) as caught:
        argmax(np.zeros((2, 0), np.float32), axis=1, keepdims=False, select_last=False)
    assert caught.value.code == "E0802"


@pytest.mark.parametrize(
    ("exclusive", "reverse", "expected"),
    [(False, False, [1, 3, 6]), (True, False, [0, 1, 3]), (False, True, [6, 5, 3]), (True, True, [5, 3, 0])],
)
def test_cumsum(exclusive: bool, reverse: bool, expected: list[int]) -> None:
    attrs = {"exclusive": exclusive, "reverse": reverse}
    check_op(reduce.CumsumOp, [np.array([1, 2, 3], np.int32)], {"axis": 0, **attrs}, np.array(expected, np.int32))
    columns = np.array([[1, 2, 3]], np.float32).T
    check_op(reduce.CumsumOp, [columns], {"axis": -2, **attrs}, np.array([expected], np.float32).T)
    check_op(reduce.CumsumOp, [columns[:0]], {"axis": 0, **attrs}, columns[:0])


@pytest.mark.parametrize(
    ("exclusive", "reverse", "expected"),
    [(False, False, [2, 6, 30]), (True, False, [1, 2, 6]), (False, True, [30, 15, 5]), (True, True, [15, 5, 1])],
)
def test_cumprod(exclusive: bool, reverse: bool, expected: list[int]) -> None:
    attrs = {"exclusive": exclusive, "reverse": reverse}
    check_op(reduce.CumprodOp, [np.array([2, 3, 5], np.int32)], {"axis": 0, **attrs}, np.array(expected, np.int32))
    rows = np.array([[2, 3, 5], [0, 1, 2]], np.float32)
    check_op(reduce.CumprodOp, [rows[:1]], {"axis": -1, **attrs}, np.array([expected], np.float32))
    check_batch(reduce.CumprodOp, [rows], [True], {"axis": 1, **attrs}, 2)
    check_error("E0412", reduce.CumprodOp, [spec(2)], {"axis": 1, **attrs})


def test_exclusive_cumsum_does_not_subtract() -> None:
    x = np.array([1.0, np.inf, 2.0], np.float32)
    check_op(reduce.CumsumOp, [x], {"axis": 0, "exclusive": True, "reverse": False}, np.array([0, 1, np.inf], np.float32))


ARG = {"keepdims": True, "select_last": False}
CUMSUM = {"exclusive": False, "reverse": False}


@pytest.mark.parametrize(
    ("code", "op_class", "operand", "attrs"),
    [
        ("E0412", reduce.ReduceSumOp, spec(2, 3), {"axes": (2,), "keepdims": True}),
        ("E0412", reduce.ReduceSumOp, spec(2, 3), {"axes": (-1, 1), "keepdims": True}),
        ("E0412", reduce.ReduceSumOp, spec(), {"axes": (0,), "keepdims": True}),
        ("E0403", reduce.ReduceSumOp, spec(2, 3, dtype="bool"), {"axes": (0,), "keepdims": True}),
        ("E0412", reduce.ArgMaxOp, spec(2, 3), {"axis": -3, **ARG}),
        ("E0401", reduce.ArgMaxOp, spec(2, 0), {"axis": 1, **ARG}),
        ("E0403", reduce.ArgMaxOp, spec(2, dtype="bool"), {"axis": 0, **ARG}),
        ("E0412", reduce.CumsumOp, spec(2, 3), {"axis": 2, **CUMSUM}),
        ("E0403", reduce.CumsumOp, spec(2, dtype="bool"), {"axis": 0, **CUMSUM}),
    ],
)
def test_errors(code: str, op_class: type[NNOp], operand: Spec, attrs: dict) -> None:
    check_error(code, op_class, [operand], attrs)


def test_dynamic_dimensions() -> None:
    assert reduce.ReduceSumOp.infer(spec(-1, 4), axes=(1,), keepdims=True) == spec(-1, 1)
    assert reduce.ReduceSumOp.infer(spec(-1, 4), axes=(0,), keepdims=False) == spec(4)


def test_batch(rng: np.random.Generator) -> None:
    x = rng.standard_normal((6, 4, 5)).astype(np.float32)
    check_batch(reduce.ReduceMeanOp, [x], [True], {"axes": (-1, 1), "keepdims": False}, 3, 1e-6)
    check_batch(reduce.ArgMaxOp, [x], [True], {"axis": 1, **ARG}, 3)
    check_batch(reduce.CumsumOp, [x], [True], {"axis": -1, **CUMSUM}, 3)
    check_no_batch(reduce.ReduceMeanOp, [spec(6, 4)], [True], {"axes": (-2,), "keepdims": True}, 6)
    check_no_batch(reduce.ArgMaxOp, [spec(6, 4)], [True], {"axis": -2, **ARG}, 6)
    check_no_batch(reduce.CumsumOp, [spec(6, 4)], [True], {"axis": 0, **CUMSUM}, 6)
