"""Quantization and back against the definition, element by element."""

from __future__ import annotations

import numpy as np
import pytest

from tests.ops.cases import check_batch, check_error, check_op, spec
from ttc.dialects.nn.quantization import DequantizeOp, QuantizeOp


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.uint16, np.int32])
def test_quantize_rounds_halves_to_even_and_saturates(dtype: type) -> None:
    x = np.array([0.0, 0.5, 1.5, 2.5, -0.5, 7.3, 1e12, -1e12, np.inf, -np.inf], np.float32)
    info = np.iinfo(dtype)
    expected = [min(max(v + 3, info.min), info.max) for v in (0, 0, 2, 2, 0, 7, 1 << 40, -(1 << 40), 1 << 40, -(1 << 40))]
    check_op(QuantizeOp, [x, np.float32(1).reshape(()), np.array(3, dtype)], {}, np.array(expected, dtype))


def test_quantize_by_axis(rng: np.random.Generator) -> None:
    x = (40 * rng.standard_normal((3, 4, 5))).astype(np.float32)
    scale = np.array([0.5, 1, 2, 0.3], np.float32).reshape(4, 1)
    zero = np.array([0, 128, 200, 5], np.uint8).reshape(4, 1)
    expected = np.clip(np.rint(x / scale) + zero, 0, 255).astype(np.uint8)
    check_op(QuantizeOp, [x, scale, zero], {}, expected)
    check_batch(QuantizeOp, [x, scale, zero], [True, False, False], {}, 3)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.uint16, np.int32])
def test_dequantize(dtype: type) -> None:
    info = np.iinfo(dtype)
    x = np.array([[info.min, info.max, 0], [1, 2, 3]], dtype)
    zero, scale = np.array([[5], [info.max]], dtype), np.array([[0.25], [2]], np.float32)
    exact = (x.astype(np.int64) - zero.astype(np.int64)) * scale.astype(np.float64)
    check_op(DequantizeOp, [x, scale, zero], {}, exact.astype(np.float32), float(np.abs(exact).max()) * 2**-23)
    check_batch(DequantizeOp, [x, scale[:1], zero[:1]], [True, False, False], {}, 2)


def test_there_and_back_is_within_half_a_step() -> None:
    codes = np.arange(-128, 128).astype(np.int8)
    scale, zero = np.array(0.1, np.float32), np.array(-7, np.int8)
    numbers = (codes.astype(np.float32) + 7) * np.float32(0.1)
    check_op(DequantizeOp, [codes, scale, zero], {}, numbers)
    check_op(QuantizeOp, [numbers + np.float32(0.04), scale, zero], {}, codes)


def test_errors() -> None:
    one, zero = spec(), spec(dtype="int8")
    check_error("E0403", QuantizeOp, [spec(2, dtype="int32"), one, zero], {})
    check_error("E0403", QuantizeOp, [spec(2), spec(dtype="float64"), zero], {})
    check_error("E0403", QuantizeOp, [spec(2), one, spec(dtype="int64")], {})
    check_error("E0401", QuantizeOp, [spec(2), spec(3), zero], {})
    check_error("E0403", DequantizeOp, [spec(2, dtype="uint8"), one, zero], {})
    check_error("E0403", DequantizeOp, [spec(2, dtype="int64"), one, spec(dtype="int64")], {})
    check_error("E0403", DequantizeOp, [spec(2, dtype="int8"), spec(dtype="int8"), zero], {})
