"""Elementwise ops of one operand against their formulas in float64."""

from __future__ import annotations

import math

import ml_dtypes
import numpy as np
import pytest

from tests.draws import generator
from tests.ops.cases import check_batch, check_no_batch, check_op, run_op, spec
from ttc.dialects.nn import activation, unary
from ttc.dialects.nn.base import NNOp, ops
from ttc.dialects.nn.elementwise import ElementwiseOp

ANY_SIGN = (3 * generator("elementwise.ANY_SIGN").standard_normal((3, 5, 7))).astype(np.float32)
POSITIVE = np.abs(ANY_SIGN) + np.float32(0.1)
SPECIAL = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 0.5, 1.5, 2.5, -0.5], np.float32)
"""Values at which implementations differ."""

FLOAT_CASES = [
    (unary.AbsOp, {}, np.abs),
    (unary.NegOp, {}, np.negative),
    (unary.SignOp, {}, np.sign),
    (unary.ExpOp, {}, np.exp),
    (unary.LogOp, {}, np.log),
    (unary.SqrtOp, {}, np.sqrt),
    (unary.RsqrtOp, {}, lambda x: 1 / np.sqrt(x)),
    (unary.ReciprocalOp, {}, lambda x: 1 / x),
    (unary.FloorOp, {}, np.floor),
    (unary.CeilOp, {}, np.ceil),
    (unary.RoundOp, {}, np.rint),
    (unary.SinOp, {}, np.sin),
    (unary.CosOp, {}, np.cos),
    (unary.ErfOp, {}, np.vectorize(math.erf, otypes=[np.float64])),
    (unary.IdentityOp, {}, lambda x: x),
    (activation.TanhOp, {}, np.tanh),
    (activation.SigmoidOp, {}, lambda x: 1 / (1 + np.exp(-x))),
    (activation.ReluOp, {}, lambda x: np.maximum(x, 0)),
    (activation.SiluOp, {}, lambda x: x / (1 + np.exp(-x))),
    (activation.SoftplusOp, {}, lambda x: np.logaddexp(x, 0)),
    (activation.HardSwishOp, {}, lambda x: x * np.minimum(np.maximum(x + 3, 0), 6) / 6),
    (activation.LeakyReluOp, {"alpha": 0.01}, lambda x: np.where(x >= 0, x, 0.01 * x)),
    (activation.EluOp, {"alpha": 1.3}, lambda x: np.where(x > 0, x, 1.3 * np.expm1(x))),
    (activation.HardSigmoidOp, {"alpha": 0.2, "beta": 0.5}, lambda x: np.minimum(np.maximum(0.2 * x + 0.5, 0), 1)),
    (activation.ClipOp, {"min": -0.5, "max": 6}, lambda x: np.minimum(np.maximum(x, -0.5), 6)),
    (activation.ClipOp, {"min": -0.5}, lambda x: np.maximum(x, -0.5)),
    (activation.ClipOp, {"max": 0.25}, lambda x: np.minimum(x, 0.25)),
    (activation.ClipOp, {}, lambda x: x),
    (activation.GeluOp, {"approximate": "none"}, lambda x: x * 0.5 * (1 + np.vectorize(math.erf, otypes=[float])(x / math.sqrt(2)))),
    (activation.GeluOp, {"approximate": "tanh"}, lambda x: x * 0.5 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))),
]


@pytest.mark.parametrize(("op_class", "attrs", "formula"), FLOAT_CASES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_formula(op_class: type[NNOp], attrs: dict, formula: object, dtype: type) -> None:
    x = (POSITIVE if op_class.name in ("nn.log", "nn.sqrt", "nn.rsqrt") else ANY_SIGN).astype(dtype)
    expected = np.asarray(formula(x.astype(np.float64))).astype(dtype)  # pyright: ignore[reportCallIssue]
    eps = float(np.finfo(dtype).eps)
    check_op(op_class, [x], attrs, expected, 8 * eps * max(1.0, float(np.abs(expected).max())))


@pytest.mark.parametrize(("op_class", "attrs", "formula"), FLOAT_CASES)
def test_special_values(op_class: type[NNOp], attrs: dict, formula: object) -> None:
    with np.errstate(all="ignore"):
        expected = np.asarray(formula(SPECIAL.astype(np.float64))).astype(np.float32)  # pyright: ignore[reportCallIssue]
    check_op(op_class, [SPECIAL], attrs, expected, 1e-6)


@pytest.mark.parametrize(("op_class", "attrs", "formula"), FLOAT_CASES)
@pytest.mark.parametrize("shape", [(), (1,), (0, 3), (2, 0)])
def test_odd_shapes(op_class: type[NNOp], attrs: dict, formula: object, shape: tuple[int, ...]) -> None:
    (y,) = run_op(op_class, [np.full(shape, 0.5, np.float32)], attrs)
    assert (y.shape, y.dtype) == (shape, np.float32)


def test_narrow_floats_are_rounded_to_their_format() -> None:
    x = np.array([0.1, 1.0, 3.0], ml_dtypes.bfloat16)
    exact = np.exp(x.astype(np.float32)).astype(ml_dtypes.bfloat16)
    check_op(unary.ExpOp, [x], {}, exact)


def test_elementwise_ops_say_so() -> None:
    found = {name for name, op in ops().items() if issubclass(op, ElementwiseOp)}
    assert {"add", "where", "cast", "gelu", "clip", "is_nan", "identity"} <= found
    assert not {"softmax", "reshape", "reduce_sum"} & found


def test_dynamic_dimensions_stay() -> None:
    assert unary.ExpOp.infer(spec(-1, 4)) == spec(-1, 4)


def test_batch() -> None:
    check_batch(unary.ExpOp, [ANY_SIGN], [True], {}, 3)
    check_batch(unary.CastOp, [ANY_SIGN], [True], {"dtype": np.dtype(np.int32)}, 3)
    check_no_batch(unary.ExpOp, [spec()], [True], {}, 1)
