"""Depthwise convolutions against their numpy kernel."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.runtime.engines.native.graphs import Given, Ran, normal, ran
from ttc.dialects.core.plain import TensorType, Work
from ttc.dialects.core.windows import window_counts, windows

LEVELS = ("amx", "avx2", "generic")


def convolved(
    shape: tuple[int, ...], taps: tuple[int, int], *, level: str = "amx", format: str = "Float32", bias: bool = True, **attrs: Any
) -> Ran:
    """One convolution of x[n, h, w, c], each channel by itself, with constant weights."""
    channels = shape[3]
    attrs = {"strides": (1, 1), "pads": (1, 1, 1, 1), "dilations": (1, 1), "groups": channels, **attrs}
    counts = window_counts((shape[1], shape[2]), windows(taps, attrs["strides"], attrs["pads"], attrs["dilations"]))
    given = [Given(normal(*shape), format), Given(normal(*taps, 1, channels), format, constant=True)]
    given += [Given(normal(channels), format, constant=True)] if bias else []
    work = Work("tile.conv2d", (0, 1, 2 if bias else None), attrs, (TensorType((shape[0], *counts, channels), format),))
    found = ran([work], given, level=level)
    tolerance = 2**-7 if format == "Float16_b" else 1e-5
    np.testing.assert_allclose(found.native, found.reference, rtol=tolerance, atol=tolerance)
    return found


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("strides", [(1, 1), (2, 2)])
@pytest.mark.parametrize("shape", [(1, 7, 7, 48), (2, 13, 17, 33), (1, 9, 9, 3)])
def test_three_by_three(shape: tuple[int, ...], strides: tuple[int, int], level: str) -> None:
    found = convolved(shape, (3, 3), strides=strides, level=level)
    assert found.kernels == ("Depthwise",)


@pytest.mark.parametrize("format", ["Float16_b", "Half"])
def test_narrow_types(format: str) -> None:
    assert convolved((1, 12, 12, 20), (3, 3), format=format).kernels[-1] == "Depthwise"


@pytest.mark.parametrize(("activation", "args"), [("clip", (0.0, 6.0)), ("relu", ()), ("silu", ())])
def test_activations(activation: str, args: tuple[float, ...]) -> None:
    assert convolved((1, 10, 11, 40), (5, 5), pads=(2, 2, 2, 2), activation=activation, activation_args=args).kernels == ("Depthwise",)


def test_a_sum_is_computed_before_the_result_is_stored() -> None:
    type_ = TensorType((1, 8, 8, 24), "Float32")
    attrs: dict[str, Any] = {"strides": (1, 1), "pads": (1, 1, 1, 1), "dilations": (1, 1), "groups": 24}
    works = [Work("tile.conv2d", (0, 1, None), attrs, (type_,)), Work("tile.map", (3, 2), {"fn": "add"}, (type_,))]
    found = ran(works, [Given(normal(1, 8, 8, 24)), Given(normal(3, 3, 1, 24), constant=True), Given(normal(1, 8, 8, 1))])
    assert found.kernels == ("Depthwise",)
    np.testing.assert_allclose(found.native, found.reference, rtol=1e-5, atol=1e-5)


SIDES = st.tuples(st.integers(1, 5), st.integers(1, 5))


@settings(max_examples=12, deadline=None)
@given(
    shape=st.tuples(st.integers(1, 2), st.integers(9, 19), st.integers(9, 19), st.sampled_from([2, 15, 16, 17, 33])),
    taps=SIDES,
    strides=SIDES,
    dilations=st.tuples(st.integers(1, 2), st.integers(1, 2)),
    pads=st.tuples(*[st.integers(0, 3)] * 4),
    bias=st.booleans(),
)
def test_any_window(shape: tuple[int, ...], taps: tuple[int, int], **attrs: Any) -> None:
    assert convolved(shape, taps, **attrs).kernels == ("Depthwise",)
