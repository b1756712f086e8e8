"""Reductions, places of extremes and cumulative ops against their numpy kernels."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.runtime.engines.native.graphs import Given, Ran, normal, ran
from ttc.dialects.core.plain.functions import TensorType, Work

LEVELS = ("amx", "avx2", "generic")
FUNCTIONS = ("sum", "mean", "max", "min", "prod")
INTEGERS = ("Int32", "Int8", "Int64", "UInt8", "UInt16")


def reduced(
    x: NDArray,
    fn: str,
    axes: tuple[int, ...],
    *,
    keepdims: bool = False,
    format: str = "Float32",
    level: str = "amx",
    perm: tuple[int, ...] | None = None,
) -> Ran:
    """A reduction of x, or of a view of it with its dimensions in another order."""
    shape = x.shape if perm is None else tuple(x.shape[i] for i in perm)
    inside = {axis % len(shape) for axis in axes}
    to = tuple(1 if i in inside else d for i, d in enumerate(shape) if keepdims or i not in inside)
    works = [] if perm is None else [Work("tile.transpose", (0,), {"perm": perm}, (TensorType(shape, format),))]
    works.append(Work("tile.reduce", (len(works),), {"fn": fn, "axes": axes, "keepdims": keepdims}, (TensorType(to, format),)))
    return ran(works, [Given(x, format)], level=level)


def exact(x: NDArray, fn: str, axes: tuple[int, ...]) -> NDArray:
    return np.asarray(getattr(np, fn)(x.astype(np.float64), axis=axes))


SHAPES = st.lists(st.sampled_from([1, 2, 7, 15, 17, 33, 65]), min_size=1, max_size=4)


@settings(max_examples=60)
@given(SHAPES, st.sampled_from(FUNCTIONS), st.sampled_from(LEVELS), st.data())
def test_any_axes_of_any_order_in_memory(shape: list[int], fn: str, level: str, data: st.DataObject):
    axes = tuple(sorted(data.draw(st.sets(st.integers(0, len(shape) - 1), min_size=1))))
    perm = tuple(data.draw(st.permutations(range(len(shape)))))
    x = normal(*shape) * 0.5 + 1
    found = reduced(x, fn, axes, level=level, perm=perm)
    assert not found.refusals
    expected = exact(x.transpose(perm), fn, axes)
    found.close(1e-6, expected.reshape(found.native.shape))


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("format", INTEGERS)
def test_integers_wrap(format: str, level: str, rng: np.random.Generator):
    x = rng.integers(0, 100, (3, 37, 35)).astype(format.lower())
    for fn in ("sum", "max", "min", "prod"):
        for axes in ((1,), (2,), (0, 2)):
            found = reduced(x, fn, axes, format=format, level=level)
            assert not found.refusals
            np.testing.assert_array_equal(found.native, found.reference)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("format", ["Float16_b", "Half", "Float64"])
def test_other_floats(format: str, level: str):
    x = normal(5, 33, 19, dtype="float64" if format == "Float64" else "float32")
    for fn in FUNCTIONS:
        for axes in ((1,), (2,)):
            found = reduced(x, fn, axes, format=format, level=level, keepdims=True)
            assert not found.refusals
            found.close(1e-14 if format == "Float64" else 2**-7)


@pytest.mark.parametrize("shape", [(300_007,), (1 << 19,), (2, 200_000), (112, 112, 1, 32)])
def test_long_sums_lose_no_more_than_numpy_does(shape: tuple[int, ...], rng: np.random.Generator):
    x = rng.random(shape).astype(np.float32)
    axes = tuple(range(len(shape) - 1)) if shape[-1] == 32 else (len(shape) - 1,)
    found = reduced(x, "sum", axes)
    assert not found.refusals
    np.testing.assert_allclose(found.native, exact(x, "sum", axes), rtol=1e-6)


@pytest.mark.parametrize("level", LEVELS)
def test_a_nan_is_the_largest_and_the_smallest(level: str):
    x = normal(3, 40)
    x[1, 37], x[2] = np.nan, -np.inf
    for fn in ("max", "min", "sum"):
        for axes in ((1,), (0,)):
            found = reduced(x, fn, axes, level=level)
            rounding = 40 * 6e-8 if fn == "sum" else 0  # of 40 numbers around 1, added in any order; a largest one is exact
            np.testing.assert_allclose(found.native, found.reference, rtol=0, atol=rounding)


def placed(op: str, x: NDArray, axis: int, *, last: bool, keepdims: bool = False, format: str = "Float32", level: str = "amx") -> Ran:
    inside = axis % x.ndim
    to = tuple(1 if i == inside else d for i, d in enumerate(x.shape) if keepdims or i != inside)
    attrs = {"axis": axis, "keepdims": keepdims, "select_last": last}
    return ran([Work(f"tile.{op}", (0,), attrs, (TensorType(to, "Int64"),))], [Given(x, format)], level=level)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("op", ["argmax", "argmin"])
def test_places_of_extremes_among_equal_ones(op: str, last: bool, level: str, rng: np.random.Generator):
    x = rng.integers(-4, 4, (5, 9, 37)).astype(np.float32)
    x[2, 3, ::5] = x[3, ::2, 7] = np.nan
    x[4] = -np.inf if op == "argmax" else np.inf
    for axis in (0, 1, -1):
        found = placed(op, x, axis, last=last, level=level, keepdims=axis == 1)
        assert not found.refusals
        np.testing.assert_array_equal(found.native, found.reference)
    for format in ("Int64", "UInt8", "Bool"):
        ints = rng.integers(0, 2, (5, 37)).astype(format.lower())
        for axis in (0, 1):
            found = placed(op, ints, axis, last=last, format=format, level=level)
            np.testing.assert_array_equal(found.native, found.reference)


@pytest.mark.parametrize("last", [False, True])
def test_places_in_rows_of_many_parts(last: bool, rng: np.random.Generator):
    x = rng.integers(-4, 4, (3, 9001)).astype(np.float32)
    x[2, [100, 8999]] = 50, 50
    found = placed("argmax", x, 1, last=last)
    np.testing.assert_array_equal(found.native, found.reference)
    assert found.native[2] == (8999 if last else 100)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("exclusive", [False, True])
@pytest.mark.parametrize("reverse", [False, True])
def test_cumulative_ops(exclusive: bool, reverse: bool, level: str, rng: np.random.Generator):
    for op, format in (("cumsum", "Float32"), ("cumprod", "Int32"), ("cumsum", "Float16_b")):
        x = rng.integers(1, 9, (4, 7, 21)).astype("int32" if format == "Int32" else "float32")
        for axis in (0, 1, -1):
            attrs = {"axis": axis, "exclusive": exclusive, "reverse": reverse}
            found = ran([Work(f"tile.{op}", (0,), attrs, (TensorType(x.shape, format),))], [Given(x, format)], level=level)
            assert not found.refusals
            np.testing.assert_array_equal(found.native, found.reference)
