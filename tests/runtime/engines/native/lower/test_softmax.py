"""Softmax and its logarithm against float64."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from tests import sums
from tests.runtime.engines.native.graphs import Given, Ran, normal, ran
from ttc.dialects.core.plain.functions import TensorType, Work

LEVELS = ("amx", "avx2", "generic")
OPS = ("softmax", "log_softmax")


def found(op: str, x: NDArray, axis: int, format: str = "Float32", level: str = "amx") -> Ran:
    return ran([Work(f"tile.{op}", (0,), {"axis": axis}, (TensorType(x.shape, format),))], [Given(x, format)], level=level)


def exact(op: str, x: NDArray, axis: int) -> NDArray:
    distance = x.astype(np.float64) - x.max(axis=axis, keepdims=True)
    total = np.exp(distance).sum(axis=axis, keepdims=True)
    return np.exp(distance) / total if op == "softmax" else distance - np.log(total)


def close(result: Ran, op: str, share: float) -> None:
    """Probabilities within a share of each; logarithms, which are differences, of 1 more."""
    sums.close(result.native, result.reference, np.abs(result.reference) + (op == "log_softmax"), share)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("op", OPS)
def test_axes_of_all_lengths(op: str, level: str):
    for shape, axis in [((3, 9, 37), 0), ((3, 9, 37), 1), ((3, 9, 37), -1), ((5, 1), 1), ((2, 128), 1), ((1, 50257), -1), ((64,), 0)]:
        x = normal(*shape) * 5
        result = found(op, x, axis, level=level)
        assert result.kernels == ("Softmax",)
        np.testing.assert_allclose(result.native, exact(op, x, axis), rtol=2e-6, atol=1e-6)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("format", ["Float16_b", "Half"])
def test_narrow_floats(format: str, level: str):
    for op in OPS:
        for axis in (1, 2):
            result = found(op, normal(2, 17, 35), axis, format, level)
            assert not result.refusals
            close(result, op, 2**-7)


@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("axis", [0, 1])
def test_infinities_and_nan(op: str, axis: int):
    x = normal(20, 20)
    x[1, 2], x[3], x[:, 5], x[7, 8], x[9, 9] = -np.inf, -np.inf, -np.inf, np.inf, np.nan
    result = found(op, x, axis)
    close(result, op, 1e-6)


def test_float64_runs_in_python():
    result = found("softmax", normal(3, 5, dtype="float64"), 1, "Float64")
    assert result.refusals == (("tile.softmax", "softmax of f64"),)
    np.testing.assert_array_equal(result.native, result.reference)


def test_columns_too_long_to_wait_run_in_python():
    result = found("softmax", normal(1 << 20, 2), 0)
    assert result.refusals == (("tile.softmax", "a longer axis"),)
