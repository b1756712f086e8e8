"""Elementwise ops of one operand, against torch or the formula in float64."""

from __future__ import annotations

import math

import ml_dtypes
import numpy as np
import pytest

from tests.ops.cases import check_batch, check_error, check_no_batch, check_op, max_abs, run_op, spec
from ttc.dialects.nn import activation, unary
from ttc.dialects.nn.base import NNOp, ops
from ttc.dialects.nn.elementwise import ElementwiseOp
from ttc.dialects.nn.kernels.erf import erf, gelu

RNG = np.random.default_rng(1)
ANY_SIGN = (3 * RNG.standard_normal((3, 5, 7))).astype(np.float32)
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
    if op_class.name == "nn.gelu" and attrs["approximate"] == "tanh":
        pytest.skip("x^3 of an infinity times 0")
    with np.errstate(all="ignore"):
        expected = np.asarray(formula(SPECIAL.astype(np.float64))).astype(np.float32)  # pyright: ignore[reportCallIssue]
    check_op(op_class, [SPECIAL], attrs, expected, 1e-6)


@pytest.mark.parametrize(("op_class", "attrs", "formula"), FLOAT_CASES)
@pytest.mark.parametrize("shape", [(), (1,), (0, 3), (2, 0)])
def test_odd_shapes(op_class: type[NNOp], attrs: dict, formula: object, shape: tuple[int, ...]) -> None:
    (y,) = run_op(op_class, [np.full(shape, 0.5, np.float32)], attrs)
    assert (y.shape, y.dtype) == (shape, np.float32)


def test_activations_agree_with_torch() -> None:
    torch = pytest.importorskip("torch")
    x = np.linspace(-12, 12, 4001).astype(np.float32)
    functional = torch.nn.functional
    rows = [
        (activation.GeluOp, {"approximate": "tanh"}, functional.gelu(torch.tensor(x), approximate="tanh")),
        (activation.SiluOp, {}, functional.silu(torch.tensor(x))),
        (activation.SoftplusOp, {}, functional.softplus(torch.tensor(x))),
        (activation.HardSwishOp, {}, functional.hardswish(torch.tensor(x))),
        (activation.EluOp, {"alpha": 0.7}, functional.elu(torch.tensor(x), alpha=0.7)),
        (activation.HardSigmoidOp, {"alpha": 1 / 6, "beta": 0.5}, functional.hardsigmoid(torch.tensor(x))),
    ]
    for op_class, attrs, expected in rows:
        check_op(op_class, [x], attrs, expected.numpy(), 2e-6)


def test_erf_is_accurate_to_the_last_bits() -> None:
    x = np.concatenate([np.linspace(-7, 7, 20001), np.logspace(-300, 0, 301), -np.logspace(-30, 3, 301)])
    expected = np.array([math.erf(v) for v in x])
    whole = expected != 0
    assert np.max(np.abs(erf(x) - expected)[whole] / np.abs(expected[whole])) < 1e-15
    narrow = x[np.abs(x) > 1e-30].astype(np.float32)
    expected = np.array([math.erf(v) for v in narrow])
    whole = expected != 0
    assert np.max(np.abs(erf(narrow) - expected)[whole] / np.abs(expected[whole])) < 1e-7


def test_gelu_is_rounded_once() -> None:
    x = np.linspace(-6, 6, 40001).astype(np.float32)
    exact = np.array([0.5 * v * math.erfc(-v / math.sqrt(2)) for v in x.astype(np.float64)])
    assert max_abs(gelu(x), exact.astype(np.float32)) <= 2.4e-7 * 2
    assert max_abs(gelu(x[x < 1]), exact.astype(np.float32)[x < 1]) <= 6e-8


def test_integers() -> None:
    x = np.array([-128, -3, 0, 5, 127], np.int8)
    check_op(unary.AbsOp, [x], {}, np.array([-128, 3, 0, 5, 127], np.int8))
    check_op(unary.NegOp, [x], {}, np.array([-128, 3, 0, -5, -127], np.int8))
    check_op(unary.SignOp, [x], {}, np.array([-1, -1, 0, 1, 1], np.int8))
    check_op(activation.ReluOp, [x], {}, np.array([0, 0, 0, 5, 127], np.int8))
    check_op(activation.ClipOp, [x], {"min": -2.5, "max": 1e9}, np.array([-2, -2, 0, 5, 127], np.int8))
    check_op(activation.ClipOp, [x], {"min": float("-inf"), "max": 4.9}, np.array([-128, -3, 0, 4, 4], np.int8))
    check_op(activation.ClipOp, [x.astype(np.uint8)], {"min": -7}, x.astype(np.uint8))


def test_clip_with_crossed_limits_gives_the_upper() -> None:
    check_op(activation.ClipOp, [ANY_SIGN], {"min": 2.0, "max": 1.0}, np.ones_like(ANY_SIGN))


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


def test_narrow_floats_are_rounded_to_their_format() -> None:
    x = np.array([0.1, 1.0, 3.0], ml_dtypes.bfloat16)
    exact = np.exp(x.astype(np.float32)).astype(ml_dtypes.bfloat16)
    check_op(unary.ExpOp, [x], {}, exact)


@pytest.mark.parametrize(
    ("code", "op_class", "operand", "attrs"),
    [
        ("E0403", unary.ExpOp, spec(2, dtype="int32"), {}),
        ("E0403", unary.NegOp, spec(2, dtype="uint8"), {}),
        ("E0403", unary.AbsOp, spec(2, dtype="bool"), {}),
        ("E0403", unary.NotOp, spec(2), {}),
        ("E0403", unary.IsNanOp, spec(2, dtype="int32"), {}),
        ("E0403", unary.CastOp, spec(2), {"dtype": np.dtype("complex64")}),
        ("E0403", activation.ClipOp, spec(2, dtype="bool"), {}),
        ("E0402", activation.ClipOp, spec(2), {"min": float("nan")}),
        ("E0402", activation.GeluOp, spec(2), {"approximate": "sigmoid"}),
        ("E0403", activation.GeluOp, spec(2, dtype="int8"), {"approximate": "none"}),
    ],
)
def test_errors(code: str, op_class: type[NNOp], operand: object, attrs: dict) -> None:
    check_error(code, op_class, [operand], attrs)  # pyright: ignore[reportArgumentType]


def test_dynamic_dimensions_stay() -> None:
    assert unary.ExpOp.infer(spec(-1, 4)) == spec(-1, 4)


def test_batch() -> None:
    check_batch(unary.ExpOp, [ANY_SIGN], [True], {}, 3)
    check_batch(unary.CastOp, [ANY_SIGN], [True], {"dtype": np.dtype(np.int32)}, 3)
    check_no_batch(unary.ExpOp, [spec()], [True], {}, 1)


def test_elementwise_ops_say_so() -> None:
    found = {name for name, op in ops().items() if issubclass(op, ElementwiseOp)}
    assert {"add", "where", "cast", "gelu", "clip", "is_nan", "identity"} <= found
    assert not {"softmax", "reshape", "reduce_sum"} & found
