"""Pools against their numpy kernels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.runtime.engines.native.graphs import Given, Ran, normal, ran
from ttc.dialects.core.formats import format_named
from ttc.dialects.core.kernels.windows import window_counts, windows
from ttc.dialects.core.plain.functions import TensorType, Work

LEVELS = ("amx", "avx2", "generic")
INTEGERS = ("Int32", "Int8", "UInt8", "Int64")


def pooled(op: str, x: NDArray, level: str = "amx", format: str = "Float32", after: str | None = None, **attrs: Any) -> Ran:
    """One pool of x[n, h, w, c], and an elementwise op after it."""
    attrs = {"strides": (1, 1), "pads": (0, 0, 0, 0), "dilations": (1, 1), "ceil_mode": False, **attrs}
    moves = windows(attrs["kernel"], attrs["strides"], attrs["pads"], attrs["dilations"], attrs["ceil_mode"])
    type_ = TensorType((x.shape[0], *window_counts(x.shape[1:3], moves), x.shape[3]), format)
    works = [Work(f"tile.{op}", (0,), attrs, (type_,))]
    if after is not None:
        works.append(Work("tile.map", (1,), {"fn": after}, (type_,)))
    return ran(works, [Given(x, format)], level=level)


@pytest.mark.parametrize("level", LEVELS)
def test_the_largest_element_with_borders_and_a_tail_of_channels(level: str) -> None:
    found = pooled("max_pool2d", normal(2, 15, 17, 33), level, kernel=(3, 3), strides=(2, 2), pads=(1, 1, 1, 1))
    assert found.kernels == ("MaxPool",)
    assert not found.refusals
    np.testing.assert_array_equal(found.native, found.reference)


@pytest.mark.parametrize("level", LEVELS)
def test_a_nan_wins_in_all_of_its_windows(level: str) -> None:
    x = normal(1, 9, 9, 5)
    x[0, 3, 3, 2], x[0, 5, 5, 1], x[0, 1, 1] = np.nan, -np.nan, -np.inf
    found = pooled("max_pool2d", x, level, kernel=(3, 3))
    assert np.isnan(found.native).sum() == 18
    np.testing.assert_array_equal(found.native, found.reference)


@pytest.mark.parametrize("format", [*INTEGERS, "Float16_b", "Half", "Float64"])
def test_types(format: str) -> None:
    x = normal(1, 9, 9, 21) * 50
    found = pooled("max_pool2d", x.astype(format_named(format).compute), format=format, kernel=(3, 3), strides=(1, 2), pads=(1, 1, 1, 1))
    assert "MaxPool" in found.kernels
    assert not found.refusals
    np.testing.assert_array_equal(found.native, found.reference)


@pytest.mark.parametrize("count_include_pad", [False, True])
@pytest.mark.parametrize("level", LEVELS)
def test_means_leave_padding_out_or_count_it(level: str, count_include_pad: bool) -> None:
    attrs = {"kernel": (3, 3), "strides": (2, 2), "pads": (1, 1, 0, 1), "ceil_mode": True, "count_include_pad": count_include_pad}
    found = pooled("avg_pool2d", normal(1, 8, 11, 18), level, **attrs)
    assert found.kernels == ("AveragePool",)
    found.close(1e-6)


def test_a_window_of_the_whole_image() -> None:
    found = pooled("avg_pool2d", normal(2, 40, 40, 17), kernel=(40, 40), count_include_pad=False)
    assert found.kernels == ("AveragePool",)
    found.close(1e-6)


@pytest.mark.parametrize("after", ["relu", "sigmoid"])
def test_an_elementwise_op_is_computed_before_the_result_is_stored(after: str) -> None:
    found = pooled("max_pool2d", normal(1, 10, 10, 40), after=after, kernel=(2, 2), strides=(2, 2))
    assert found.kernels == ("MaxPool",)
    np.testing.assert_allclose(found.native, found.reference, rtol=1e-6, atol=1e-6)


def test_windows_too_wide_are_left_to_python() -> None:
    found = pooled("avg_pool2d", normal(1, 2, 70, 2), kernel=(2, 70), count_include_pad=False)
    assert found.refusals == (("tile.avg_pool2d", "windows of 2 x 70 elements"),)
    np.testing.assert_array_equal(found.native, found.reference)


SIDES = st.tuples(st.integers(1, 4), st.integers(1, 4))


@settings(max_examples=12)
@given(
    shape=st.tuples(st.integers(1, 2), st.integers(8, 19), st.integers(8, 19), st.sampled_from([1, 2, 15, 16, 17, 33])),
    kernel=SIDES,
    strides=SIDES,
    dilations=st.tuples(st.integers(1, 2), st.integers(1, 2)),
    pads=st.tuples(*[st.integers(0, 3)] * 4),
    ceil_mode=st.booleans(),
)
def test_any_window(shape: tuple[int, ...], **attrs: Any) -> None:
    x = normal(*shape)
    found = pooled("max_pool2d", x, **attrs)
    np.testing.assert_array_equal(found.native, found.reference)
    found = pooled("avg_pool2d", x, count_include_pad=attrs["ceil_mode"], **attrs)
    found.close(1e-6)
