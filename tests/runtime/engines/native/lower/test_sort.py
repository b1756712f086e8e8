"""Orders of elements against their numpy kernel."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.runtime.engines.native.graphs import Given, Ran, normal, ran
from ttc.dialects.core.formats import format_named
from ttc.dialects.core.plain.functions import TensorType, Work

LEVELS = ("amx", "avx2", "generic")


def ordered(x: NDArray, k: int, axis: int, largest: bool, format: str = "Float32", result: str = "Int64", level: str = "amx") -> Ran:
    shape = list(x.shape)
    shape[axis] = k
    work = Work("tile.order", (0,), {"k": k, "axis": axis, "largest": largest}, (TensorType(tuple(shape), result),))
    return ran([work], [Given(x, format)], level=level)


def same(found: Ran) -> None:
    assert not found.refusals
    assert found.kernels[-1] == "Order"
    np.testing.assert_array_equal(found.native, found.reference)


@settings(max_examples=20)
@given(
    length=st.sampled_from((1, 2, 15, 17, 33, 64, 65, 127, 300)),
    part=st.sampled_from((1, 2, 7, 64, 65, 300)),
    largest=st.booleans(),
    axis=st.sampled_from((0, 1, -1)),
)
def test_lengths_and_axes(length: int, part: int, largest: bool, axis: int) -> None:
    shape = [3, 2, 5]
    shape[axis] = length
    same(ordered(normal(*shape), min(part, length), axis, largest))


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("k", [5, 70])
@pytest.mark.parametrize("largest", [False, True])
def test_equal_elements_zeros_infinities_and_nan(level: str, k: int, largest: bool, rng: np.random.Generator) -> None:
    x = rng.choice(np.array([0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, -np.nan, 1e-45, -1e-45], np.float32), (4, 70))
    same(ordered(x, k, 1, largest, level=level))


@pytest.mark.parametrize("largest", [False, True])
@pytest.mark.parametrize("format", ["Int32", "Int16", "Int8", "UInt8", "UInt16", "Bool"])
def test_integers(format: str, largest: bool, rng: np.random.Generator) -> None:
    dtype = format_named(format).compute
    low, high = (0, 1) if dtype == np.bool_ else (int(np.iinfo(dtype).min), int(np.iinfo(dtype).max))
    x = rng.integers(low, high, (3, 90), endpoint=True).astype(dtype)
    x[:, :2] = low, high
    same(ordered(x, 90, 1, largest, format, "Int32"))
    same(ordered(x, 9, 1, largest, format, "Int32"))


@pytest.mark.parametrize("format", ["Float16_b", "Half"])
def test_narrow_floats(format: str) -> None:
    found = ordered(normal(3, 33), 33, 1, True, format)
    assert not found.refusals
    np.testing.assert_array_equal(found.native, found.reference)


def test_strided_lines() -> None:
    x, type_ = normal(5, 80), TensorType((80, 5), "Float32")
    works = [
        Work("tile.transpose", (0,), {"perm": (1, 0)}, (type_,)),
        Work("tile.order", (1,), {"k": 3, "axis": 0, "largest": True}, (TensorType((3, 5), "Int64"),)),
    ]
    same(ran(works, [Given(x)]))


def test_elements_of_64_bits_run_in_python() -> None:
    found = ordered(normal(3, 5, dtype="float64"), 2, 1, True, "Float64")
    assert found.refusals == (("tile.order", "an order of f64"),)
    np.testing.assert_array_equal(found.native, found.reference)
