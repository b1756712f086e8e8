"""Elementwise ops of one operand: what each has of its own.  Formulas of all are in `test_elementwise.py`."""

from __future__ import annotations

import math

import ml_dtypes
import numpy as np
import pytest

from tests.ops.cases import check_error, check_op, spec
from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.parsing import parse_module
from ttc.dialects.core.ir.spec import Spec
from ttc.dialects.core.ir.verification import verify
from ttc.dialects.nn import unary
from ttc.dialects.nn.base import NNOp, dialect
from ttc.dialects.nn.kernels.erf import erf

SPECIAL = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 0.5, 1.5, 2.5, -0.5], np.float32)


def test_erf_is_accurate_to_the_last_bits() -> None:
    x = np.concatenate([np.linspace(-7, 7, 20001), np.logspace(-300, 0, 301), -np.logspace(-30, 3, 301)])
    expected = np.array([math.erf(v) for v in x])
    whole = expected != 0
    assert np.max(np.abs(erf(x) - expected)[whole] / np.abs(expected[whole])) < 1e-15
    narrow = x[np.abs(x) > 1e-30].astype(np.float32)
    expected = np.array([math.erf(v) for v in narrow])
    whole = expected != 0
    assert np.max(np.abs(erf(narrow) - expected)[whole] / np.abs(expected[whole])) < 1e-7


def test_integers() -> None:
    x = np.array([-128, -3, 0, 5, 127], np.int8)
    check_op(unary.AbsOp, [x], {}, np.array([-128, 3, 0, 5, 127], np.int8))
    check_op(unary.NegOp, [x], {}, np.array([-128, 3, 0, -5, -127], np.int8))
    check_op(unary.SignOp, [x], {}, np.array([-1, -1, 0, 1, 1], np.int8))


def test_predicates() -> None:
    check_op(unary.IsNanOp, [SPECIAL], {}, np.isnan(SPECIAL))
    check_op(unary.IsInfOp, [SPECIAL], {}, np.isinf(SPECIAL))
    check_op(unary.NotOp, [np.array([[True, False]])], {}, np.array([[False, True]]))


@pytest.mark.parametrize(
    ("x", "dtype", "expected"),
    [
        (np.array([-1.7, 0.0, 2.9], np.float32), np.int64, np.array([-1, 0, 2])),
        (np.array([-0.5, 0.0, np.nan], np.float32), np.bool_, np.array([True, False, True])),
        (np.array([True, False]), np.float32, np.array([1, 0], np.float32)),
        (np.array([300, -1], np.int32), np.uint8, np.array([44, 255], np.uint8)),
        (np.array([1 / 3], np.float64), np.float32, np.array([1 / 3], np.float32)),
        (np.array([70000.0, 1 / 3], np.float32), np.float16, np.array([np.inf, 1 / 3], np.float16)),
        (np.array([1 / 3], np.float32), ml_dtypes.bfloat16, np.array([1 / 3], ml_dtypes.bfloat16)),
        (np.array([1 / 3], ml_dtypes.bfloat16), np.float32, np.array([1 / 3], ml_dtypes.bfloat16).astype(np.float32)),
    ],
)
def test_cast(x: np.ndarray, dtype: type, expected: np.ndarray) -> None:
    check_op(unary.CastOp, [x], {"dtype": np.dtype(dtype)}, expected)


@pytest.mark.parametrize(
    ("code", "op_class", "operand", "attrs"),
    [
        ("E0403", unary.ExpOp, spec(2, dtype="int32"), {}),
        ("E0403", unary.NegOp, spec(2, dtype="uint8"), {}),
        ("E0403", unary.AbsOp, spec(2, dtype="bool"), {}),
        ("E0403", unary.NotOp, spec(2), {}),
        ("E0403", unary.IsNanOp, spec(2, dtype="int32"), {}),
        ("E0403", unary.CastOp, spec(2), {"dtype": np.dtype("complex64")}),
    ],
)
def test_errors(code: str, op_class: type[NNOp], operand: Spec, attrs: dict) -> None:
    check_error(code, op_class, [operand], attrs)


@pytest.mark.parametrize(
    ("code", "line"),
    [
        ("E0403", "nn.cast(%x) {dtype = i7} : (tensor<2xf32>) -> tensor<2xf32>"),
        ("E0302", "nn.cast(%x) : (tensor<2xf32>) -> tensor<2xf32>"),
        ("E0301", "nn.exp(_) : () -> tensor<2xf32>"),
        ("E0301", "nn.exp(%x) {alpha = 1.0} : (tensor<2xf32>) -> tensor<2xf32>"),
        ("E0302", "nn.exp(%x) : (tensor<2xf32>) -> tensor<3xf32>"),
        ("E0302", "nn.exp(%x) : (tensor<2xf32>) -> f32"),
    ],
)
def test_text_that_is_wrong(code: str, line: str) -> None:
    text = f"func.func @main(%x : tensor<2xf32>) {{\n %y = {line}\n func.return\n}}"
    with pytest.raises(Error) as caught:
        verify(parse_module(text, "text", [dialect]))
    assert caught.value.code == code
