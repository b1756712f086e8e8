"""Elementwise ops of two operands and the choice, against numpy or the definition."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.draws import generator
from tests.ops.cases import check_batch, check_error, check_no_batch, check_op, spec
from ttc.dialects.core.ir.spec import Spec
from ttc.dialects.nn import binary
from ttc.dialects.nn.base import NNOp

A = generator("binary.A").standard_normal((3, 1, 5)).astype(np.float32)
B = generator("binary.B").standard_normal((4, 5)).astype(np.float32)
NAN = np.array([1.0, np.nan, np.inf, 0.0], np.float32)

ARITHMETIC = [
    (binary.AddOp, np.add),
    (binary.SubOp, np.subtract),
    (binary.MulOp, np.multiply),
    (binary.DivOp, np.divide),
    (binary.MinimumOp, np.minimum),
    (binary.MaximumOp, np.maximum),
    (binary.EqualOp, np.equal),
    (binary.NotEqualOp, np.not_equal),
    (binary.LessOp, np.less),
    (binary.LessEqualOp, np.less_equal),
    (binary.GreaterOp, np.greater),
    (binary.GreaterEqualOp, np.greater_equal),
]


@pytest.mark.parametrize(("op_class", "function"), ARITHMETIC)
@pytest.mark.parametrize(
    ("a", "b"),
    [
        (A, B),
        (A, A[:, :, ::-1]),
        (A, np.float32(0.5).reshape(())),
        (A[:0], B),
        (NAN, NAN[::-1].copy()),
        (A.astype(np.float64), B.astype(np.float64)),
    ],
)
def test_numpy_semantics(op_class: type[NNOp], function: Callable[..., NDArray], a: NDArray, b: NDArray) -> None:
    with np.errstate(all="ignore"):
        expected = function(a, b)
    check_op(op_class, [a, b], {}, expected)


@pytest.mark.parametrize(
    ("op_class", "expected"),
    [(binary.AndOp, [True, False, False, False]), (binary.OrOp, [True, True, True, False]), (binary.XorOp, [False, True, True, False])],
)
def test_truth_tables(op_class: type[NNOp], expected: list[bool]) -> None:
    a, b = np.array([True, True, False, False]), np.array([True, False, True, False])
    check_op(op_class, [a, b], {}, np.array(expected))


def test_integer_division_truncates() -> None:
    a = np.array([7, -7, 7, -7, 6, 5, 0], np.int32)
    b = np.array([2, 2, -2, -2, 3, 0, 4], np.int32)
    check_op(binary.DivOp, [a, b], {}, np.array([3, -3, -3, 3, 2, 0, 0], np.int32))
    large = np.array([2**62 + 1, -(2**62) - 1], np.int64)
    check_op(binary.DivOp, [large, np.array([2, 2], np.int64)], {}, np.array([2**61, -(2**61)], np.int64))
    check_op(binary.DivOp, [np.array([250], np.uint8), np.array([7], np.uint8)], {}, np.array([35], np.uint8))


def test_mod() -> None:
    a, b = np.array([-4, 7, 5, 4], np.int64), np.array([2, -3, 8, 3], np.int64)
    check_op(binary.ModOp, [a, b], {"fmod": False}, np.array([0, -2, 5, 1], np.int64))
    check_op(binary.ModOp, [a, b], {"fmod": True}, np.array([0, 1, 5, 1], np.int64))
    x, y = np.array([-4.3, 7.2], np.float32), np.array([2.1, -3.4], np.float32)
    check_op(binary.ModOp, [x, y], {"fmod": True}, np.fmod(x, y))


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        (np.array([2, -3], np.float32), np.array(3.0, np.float32), np.array([8, -27], np.float32)),
        (np.array([2, -3], np.float32), np.array([2.0], np.float32), np.array([4, 9], np.float32)),
        (np.array([2, -3], np.float32), np.array([[2.0]], np.float32), np.array([[4, 9]], np.float32)),
        (np.array([4, 9], np.float32), np.array(0.5, np.float64), np.array([2, 3], np.float32)),
        (np.array([4, 9], np.float32), np.array([2, -1], np.int64), np.array([16, 1 / 9], np.float32)),
        (np.array([4, 9], np.int32), np.array([0.5, 2.5], np.float32), np.array([2, 243], np.int32)),
        (np.array([4, 1], np.int32), np.array([-1, -1], np.int32), np.array([0, 1], np.int32)),
        (np.array([3, 2], np.int32), np.array([4, 10], np.int64), np.array([81, 1024], np.int32)),
        (np.array([3], np.uint8), np.array([2], np.uint8), np.array([9], np.uint8)),
    ],
)
def test_pow_keeps_the_dtype_of_the_base(a: NDArray, b: NDArray, expected: NDArray) -> None:
    check_op(binary.PowOp, [a, b], {}, expected, 1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int64, np.uint8, np.bool_])
def test_where(dtype: type) -> None:
    c = np.array([[True], [False]])
    a, b = np.array([1, 0, 1]).astype(dtype), np.array(0).astype(dtype)
    check_op(binary.WhereOp, [c, a, b], {}, np.where(c, a, b))


@pytest.mark.parametrize(
    ("code", "op_class", "specs", "attrs"),
    [
        ("E0401", binary.AddOp, [spec(2, 3), spec(3, 3)], {}),
        ("E0403", binary.AddOp, [spec(2), spec(2, dtype="float64")], {}),
        ("E0403", binary.AddOp, [spec(2, dtype="bool"), spec(2, dtype="bool")], {}),
        ("E0403", binary.LessOp, [spec(2), spec(2, dtype="int32")], {}),
        ("E0403", binary.AndOp, [spec(2), spec(2)], {}),
        ("E0403", binary.PowOp, [spec(2), spec(2, dtype="bool")], {}),
        ("E0403", binary.PowOp, [spec(2, dtype="bool"), spec(2)], {}),
        ("E0403", binary.ModOp, [spec(2, dtype="bool"), spec(2, dtype="bool")], {"fmod": True}),
        ("E0401", binary.WhereOp, [spec(2, dtype="bool"), spec(3), spec(2)], {}),
        ("E0403", binary.WhereOp, [spec(2), spec(2), spec(2)], {}),
        ("E0403", binary.WhereOp, [spec(2, dtype="bool"), spec(2), spec(2, dtype="int8")], {}),
    ],
)
def test_errors(code: str, op_class: type[NNOp], specs: list[Spec], attrs: dict) -> None:
    check_error(code, op_class, specs, attrs)


def test_dynamic_dimensions() -> None:
    assert binary.AddOp.infer(spec(-1, 4), spec(4)) == spec(-1, 4)
    assert binary.LessOp.infer(spec(-1, 1), spec(5, 4)) == spec(5, 4, dtype="bool")


def test_batch(rng: np.random.Generator) -> None:
    x = rng.standard_normal((6, 4)).astype(np.float32)
    check_batch(binary.AddOp, [x, x + 1], [True, True], {}, 3)
    check_batch(binary.AddOp, [x, x[:1]], [True, False], {}, 3)
    check_batch(binary.AddOp, [x[0], x], [False, True], {}, 2)
    check_batch(binary.WhereOp, [x > 0, x, np.float32(0).reshape(())], [True, True, False], {}, 6)
    check_no_batch(binary.AddOp, [spec(6, 4), spec(6, 4)], [True, False], {}, 6)
    check_no_batch(binary.AddOp, [spec(6), spec(6, 6)], [True, False], {}, 6)
    check_no_batch(binary.AddOp, [spec(1, 4), spec(6, 4)], [True, True], {}, 1)
