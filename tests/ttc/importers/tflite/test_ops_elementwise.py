"""Elementwise ops against TensorFlow's interpreter."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.ttc.importers.tflite.cases import BOOL, FLOAT, INT32, Given, Result, check_op, const, ints, normal, quantized

X, Y = normal(2, 3, 4), normal(2, 3, 4)
ROW = normal(4)
POSITIVE = np.abs(X) + np.float32(0.1)
TRUTH = np.array([[True, False, True], [False, False, True]])
CODES = Result("INT8", (0.07,), (-5,))


@pytest.mark.parametrize("op", ["ABS", "NEG", "SIGN", "EXP", "SIN", "COS", "FLOOR", "CEIL", "ROUND", "SQUARE", "ELU", "LOGISTIC", "TANH"])
def test_unary(op: str, tmp_path: Path) -> None:
    check_op(tmp_path, op, X * 3)


@pytest.mark.parametrize("op", ["RELU", "RELU6", "RELU_N1_TO_1", "RELU_0_TO_1", "HARD_SWISH"])
def test_piecewise_activations(op: str, tmp_path: Path) -> None:
    check_op(tmp_path, op, X * 5)


@pytest.mark.parametrize("op", ["LOG", "SQRT", "RSQRT"])
def test_of_positive_numbers(op: str, tmp_path: Path) -> None:
    check_op(tmp_path, op, POSITIVE)


@pytest.mark.parametrize(("op", "options"), [("LEAKY_RELU", {"alpha": 0.25}), ("GELU", {"approximate": True}), ("GELU", {})])
def test_activations_with_options(op: str, options: dict[str, Any], tmp_path: Path) -> None:
    check_op(tmp_path, op, X, atol=2e-4 if op == "GELU" else 1e-5, **options)


def test_prelu_takes_a_slope_a_channel(tmp_path: Path) -> None:
    check_op(tmp_path, "PRELU", X, const(ROW))


@pytest.mark.parametrize("activation", ["NONE", "RELU", "RELU6", "RELU_N1_TO_1"])
@pytest.mark.parametrize("op", ["ADD", "SUB", "MUL", "DIV"])
def test_arithmetic_with_fused_activations(op: str, activation: str, tmp_path: Path) -> None:
    check_op(tmp_path, op, X, const(POSITIVE[:, :1]), fused_activation_function=activation)


@pytest.mark.parametrize("op", ["MAXIMUM", "MINIMUM", "SQUARED_DIFFERENCE", "FLOOR_DIV", "FLOOR_MOD", "ATAN2"])
def test_binary(op: str, tmp_path: Path) -> None:
    check_op(tmp_path, op, X, Y)


def test_pow(tmp_path: Path) -> None:
    check_op(tmp_path, "POW", POSITIVE, Y)


@pytest.mark.parametrize("op", ["FLOOR_DIV", "FLOOR_MOD", "DIV", "MUL", "SUB", "MAXIMUM"])
def test_integers(op: str, tmp_path: Path) -> None:
    check_op(tmp_path, op, ints(7, -7, 8, -8, 0), ints(3, 3, -3, -3, 5), results=(INT32,))


@pytest.mark.parametrize("op", ["EQUAL", "NOT_EQUAL", "LESS", "LESS_EQUAL", "GREATER", "GREATER_EQUAL"])
def test_comparisons(op: str, tmp_path: Path) -> None:
    check_op(tmp_path, op, np.round(X), np.round(Y), results=(BOOL,))


@pytest.mark.parametrize("op", ["LOGICAL_AND", "LOGICAL_OR"])
def test_logic(op: str, tmp_path: Path) -> None:
    check_op(tmp_path, op, TRUTH, TRUTH[:, ::-1].copy(), results=(BOOL,))


def test_logical_not(tmp_path: Path) -> None:
    check_op(tmp_path, "LOGICAL_NOT", TRUTH, results=(BOOL,))


@pytest.mark.parametrize("condition", [np.array([True, False]), TRUTH])
def test_select(condition: NDArray, tmp_path: Path) -> None:
    check_op(tmp_path, "SELECT", condition, X[:, :, 0].copy(), Y[:, :, 0].copy())


def test_select_v2_broadcasts(tmp_path: Path) -> None:
    check_op(tmp_path, "SELECT_V2", TRUTH[:1, :1], X[:, :, 0].copy(), Y[:1, :, 0].copy())


def test_add_n(tmp_path: Path) -> None:
    check_op(tmp_path, "ADD_N", X, Y, X)


@pytest.mark.parametrize(
    ("x", "kind"),
    [
        (X * 10, "INT32"),
        (X, "BOOL"),
        (ints(-3, 0, 5), "FLOAT32"),
        (TRUTH, "FLOAT32"),
        (ints(-3, 0, 300), "INT64"),
        (ints(-3, 0, 100), "INT8"),
    ],
)
def test_cast(x: NDArray, kind: str, tmp_path: Path) -> None:
    check_op(tmp_path, "CAST", x, results=(Result(kind),), out_data_type=kind)


def test_bitwise(tmp_path: Path) -> None:
    check_op(tmp_path, "BITWISE_XOR", ints(5, 12), ints(3, 10), results=(INT32,))
    check_op(tmp_path, "RIGHT_SHIFT", ints(255, 12, dtype=np.uint8), ints(3, 1, dtype=np.uint8), results=(Result("UINT8"),))
    check_op(tmp_path, "BITCAST", X, results=(INT32,))


def test_bucketize(tmp_path: Path) -> None:
    check_op(tmp_path, "BUCKETIZE", ints(-2, 0, 1, 5, dtype=np.float32), results=(INT32,), boundaries=(-1.0, 0.0, 2.0))


@pytest.mark.parametrize("options", [{"min": -2.0, "max": 3.0, "num_bits": 8}, {"min": -1.0, "max": 0.5, "num_bits": 4}])
def test_fake_quant(options: dict[str, Any], tmp_path: Path) -> None:
    check_op(tmp_path, "FAKE_QUANT", X, **options)


# ---- quantized -------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("op", ["ADD", "SUB", "MUL"])
@pytest.mark.parametrize("activation", ["NONE", "RELU6"])
def test_arithmetic_on_integers(op: str, activation: str, tmp_path: Path) -> None:
    other = quantized(4, scale=0.03, zero=-9)
    check_op(tmp_path, op, quantized(2, 3, 4), other, results=(CODES,), fused_activation_function=activation)


@pytest.mark.parametrize("dtype", [np.uint8, np.int8])
def test_both_types_of_bytes(dtype: Any, tmp_path: Path) -> None:
    kind = "UINT8" if dtype is np.uint8 else "INT8"
    zeros = (100, 120) if dtype is np.uint8 else (3, -9)
    x, y = (quantized(3, 4, zero=z, scale=s, dtype=dtype) for z, s in zip(zeros, (0.05, 0.02), strict=True))
    check_op(tmp_path, "ADD", x, y, results=(Result(kind, (0.06,), (zeros[1],)),))


def test_sixteen_bits(tmp_path: Path) -> None:
    x, y = (Given((normal(3, 4) * 3000).astype(np.int16), scale=(0.001,), zero=(0,)) for _ in range(2))
    check_op(tmp_path, "MUL", x, y, results=(Result("INT16", (0.002,), (0,)),))


@pytest.mark.parametrize(
    ("op", "scale", "zero"),
    [("LOGISTIC", 1 / 256, -128), ("TANH", 1 / 128, 0), ("HARD_SWISH", 0.06, -10), ("RELU", 0.07, -128), ("ABS", 0.05, 3)],
)
def test_unary_on_integers(op: str, scale: float, zero: int, tmp_path: Path) -> None:
    check_op(tmp_path, op, quantized(3, 5), results=(Result("INT8", (scale,), (zero,)),))


@pytest.mark.parametrize("op", ["MAXIMUM", "MINIMUM"])
def test_extremes_are_chosen_among_integers(op: str, tmp_path: Path) -> None:
    check_op(tmp_path, op, quantized(3, 5), quantized(5), results=(Result("INT8", (0.05,), (3,)),), steps=0)


def test_comparisons_on_integers(tmp_path: Path) -> None:
    check_op(tmp_path, "LESS", quantized(3, 5), quantized(5), results=(BOOL,))


@pytest.mark.parametrize("result", [FLOAT, CODES, Result("UINT8", (0.05,), (131,))])
def test_quantize_and_dequantize(result: Result, tmp_path: Path) -> None:
    op = "QUANTIZE" if result.scale else "DEQUANTIZE"
    check_op(tmp_path, op, quantized(3, 4), results=(result,))


def test_quantize_of_real_numbers(tmp_path: Path) -> None:
    check_op(tmp_path, "QUANTIZE", X * 4, results=(CODES,))


def test_dequantize_of_halves(tmp_path: Path) -> None:
    check_op(tmp_path, "DEQUANTIZE", X.astype(np.float16))
