"""Matrix products against float64."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests import sums
from tests.runtime.engines.native.graphs import Given, Ran, normal, ran
from tests.runtime.engines.native.in_float64 import product
from ttc.dialects.core.plain.functions import TensorType, Work

LEVELS = ("amx", "avx2", "generic")
SIZES = (1, 2, 5, 15, 16, 17, 33, 67)


def close(found: Ran, expected: NDArray) -> None:
    """As close as float32 sums may be expected to be."""
    assert not found.refusals
    found.close(1e-6, expected)


def wide(x: NDArray) -> NDArray:
    return x.astype(np.float64)


@settings(max_examples=16)
@given(m=st.sampled_from(SIZES), k=st.sampled_from(SIZES), n=st.sampled_from(SIZES), flags=st.integers(0, 7))
def test_odd_shapes(m: int, k: int, n: int, flags: int) -> None:
    a = normal(k, m) if flags & 1 else normal(m, k)
    b = normal(n, k) if flags & 2 else normal(k, n)
    found = product(a, b, transpose_a=bool(flags & 1), transpose_b=bool(flags & 2), constant=bool(flags & 4))
    close(found, wide(a.T if flags & 1 else a) @ wide(b.T if flags & 2 else b))


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("shape", [(1, 7, 17), (13, 33, 130), (67, 31, 5)])
def test_instruction_sets(level: str, shape: tuple[int, int, int]) -> None:
    m, k, n = shape
    a, b, bias = normal(m, k), normal(k, n), normal(n)
    found = product(a, b, Given(bias, constant=True), level=level, activation="relu")
    assert found.kernels == ("PackRows", "Gemm")
    close(found, np.maximum(wide(a) @ wide(b) + bias, 0))


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ((3, 5, 7), (7, 9)),
        ((3, 5, 7), (3, 7, 9)),
        ((2, 1, 5, 7), (3, 7, 9)),
        ((2, 3, 5, 7), (1, 3, 7, 9)),
        ((5, 7), (2, 3, 7, 9)),
        ((2, 3, 1, 7), (2, 1, 7, 1)),
    ],
)
@pytest.mark.parametrize("constant", [False, True])
def test_batches_are_broadcast(a: tuple[int, ...], b: tuple[int, ...], constant: bool) -> None:
    x, y = normal(*a), normal(*b)
    close(product(x, y, constant=constant), wide(x) @ wide(y))


def test_a_batch_shares_its_right_operand_as_rows() -> None:
    a, b = normal(4, 9, 33), normal(33, 20)
    found = product(a, b)
    assert found.kernels == ("PackRows", "Gemm")
    close(found, wide(a) @ wide(b))


@pytest.mark.parametrize("residual", [(5, 19), (5, 1), (1, 19), (1, 1)])
def test_elementwise_ops_are_computed_before_the_result_is_stored(residual: tuple[int, int]) -> None:
    a, b, other = normal(5, 12), normal(12, 19), normal(*residual)
    type_ = TensorType((5, 19), "Float32")
    works = [
        Work("tile.matmul", (0, 1), {"transpose_a": False, "transpose_b": False}, (type_,)),
        Work("tile.map", (3, 2), {"fn": "add"}, (type_,)),
        Work("tile.map", (4,), {"fn": "relu"}, (type_,)),
    ]
    found = ran(works, [Given(a), Given(b, constant=True), Given(other)])
    assert found.kernels == ("PackRows", "Gemm")
    close(found, np.maximum(wide(a) @ wide(b) + other, 0))


@pytest.mark.parametrize("format", ["Float16_b", "Half"])
@pytest.mark.parametrize("transpose_b", [False, True])
def test_narrow_operands_are_multiplied_as_float32(format: str, transpose_b: bool) -> None:
    a, b = normal(9, 33), normal(21, 33) if transpose_b else normal(33, 21)
    found = product(a, b, format=format, transpose_b=transpose_b)
    assert not found.refusals
    found.close(2.0**-8 if format == "Float16_b" else 2.0**-10)


def test_infinities_and_nan_reach_their_rows_and_columns_alone() -> None:
    a, b = normal(14, 20), normal(20, 40)
    a[3, 4], a[5, 6], b[7, 8] = np.inf, np.nan, -np.inf
    found = product(a, b)
    with np.errstate(invalid="ignore"):
        expected = a @ b
    np.testing.assert_array_equal(np.isnan(found.native), np.isnan(expected))
    np.testing.assert_array_equal(np.isinf(found.native), np.isinf(expected))
    sums.close(found.native[0, :8], expected[0, :8], np.abs(a[0]) @ np.abs(b[:, :8]), 1e-6)


def test_large_sums_overflow_and_small_ones_stay() -> None:
    a, b = np.full((2, 4), 3e38, np.float32), np.full((4, 17), 3.0, np.float32)
    assert np.isposinf(product(a, b).native).all()
    tiny = np.full((2, 4), 1e-40, np.float32)
    np.testing.assert_allclose(product(tiny, b).native, np.full((2, 17), 1.2e-39), rtol=1e-3)


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_threads_agree_to_the_bit(threads: int) -> None:
    a, b = np.random.default_rng(1).standard_normal((2, 130, 200)).astype(np.float32)[0], normal(200, 700) * 0 + 0.5
    works = [Work("tile.matmul", (0, 1), {"transpose_a": False, "transpose_b": False}, (TensorType((130, 700), "Float32"),))]
    found = ran(works, [Given(a), Given(b, constant=True)], threads=threads).native
    np.testing.assert_array_equal(found, ran(works, [Given(a), Given(b, constant=True)], threads=1).native)


@pytest.mark.parametrize("depth", [32, 33])
def test_precision_bfloat16_rounds_operands_alone(depth: int) -> None:
    a, b = normal(9, depth), normal(depth, 37)
    works = [Work("tile.matmul", (0, 1), {"transpose_a": False, "transpose_b": False}, (TensorType((9, 37), "Float32"),))]
    found = ran(works, [Given(a), Given(b, constant=True)], precision="bfloat16")
    assert not found.refusals
    expected = wide(a) @ wide(b)
    assert np.linalg.norm(found.native - expected) < 1e-2 * np.linalg.norm(expected)


@pytest.mark.parametrize("depth", [255, 256, 257, 512, 3001])
def test_long_sums_are_sums_of_shorter_ones(depth: int) -> None:
    a, b = np.abs(normal(7, depth)), np.abs(normal(depth, 67))
    found = product(a, b).native
    expected = wide(a) @ wide(b)
    assert np.abs(found / expected - 1).max() < 5e-7 + 2.0**-24 * 16


@pytest.mark.parametrize("depth", [33, 5000])
def test_precision_high_is_exact_to_16_bits(depth: int) -> None:
    a, b = np.abs(normal(7, depth)), np.abs(normal(depth, 37))
    found = product(a, b, level="avx2", precision="high")
    assert np.abs(found.native / (wide(a) @ wide(b)) - 1).max() < 2.0**-16


@pytest.mark.parametrize("rows", [1, 13, 40])
def test_right_operands_that_no_cache_holds(rows: int) -> None:
    a, b = normal(rows, 700), normal(700, 130)
    close(product(a, b, level="avx2"), wide(a) @ wide(b))


@pytest.mark.parametrize("transpose_b", [False, True])
@pytest.mark.parametrize("batch", [(), (2,)])
def test_sums_of_products(transpose_b: bool, batch: tuple[int, ...]) -> None:
    a, b = normal(*batch, 3, 9, 20), normal(3, 17, 20) if transpose_b else normal(3, 20, 17)
    attrs = {"transpose_a": False, "transpose_b": transpose_b, "accumulate": True}
    works = [Work("tile.matmul", (0, 1), attrs, (TensorType((*batch, 9, 17), "Float32"),))]
    found = ran(works, [Given(a), Given(b, constant=True)])
    expected = (wide(a) @ wide(b.swapaxes(-1, -2) if transpose_b else b)).sum(-3)
    close(found, expected)
