"""Depthwise convolutions against their numpy kernel."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.runtime.engines.native.convolved import convolved
from tests.runtime.engines.native.graphs import Given, normal, ran
from ttc.dialects.core.plain.functions import TensorType, Work

LEVELS = ("amx", "avx2", "generic")


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("strides", [(1, 1), (2, 2)])
@pytest.mark.parametrize("shape", [(1, 7, 7, 48), (2, 13, 17, 33), (1, 9, 9, 3)])
def test_three_by_three(shape: tuple[int, ...], strides: tuple[int, int], level: str) -> None:
    found = convolved(shape, (3, 3, 1, shape[3]), strides=strides, level=level)
    assert found.kernels == ("Depthwise",)


@pytest.mark.parametrize(("format", "share"), [("Float16_b", 2**-7), ("Half", 1e-5)])
def test_narrow_types(format: str, share: float) -> None:
    assert convolved((1, 12, 12, 20), (3, 3, 1, 20), format=format, share=share).kernels[-1] == "Depthwise"


@pytest.mark.parametrize(("activation", "args"), [("clip", (0.0, 6.0)), ("relu", ()), ("silu", ())])
def test_activations(activation: str, args: tuple[float, ...]) -> None:
    assert convolved((1, 10, 11, 40), (5, 5, 1, 40), pads=(2,) * 4, activation=activation, activation_args=args).kernels == ("Depthwise",)


def test_a_sum_is_computed_before_the_result_is_stored() -> None:
    type_ = TensorType((1, 8, 8, 24), "Float32")
    attrs: dict[str, Any] = {"strides": (1, 1), "pads": (1, 1, 1, 1), "dilations": (1, 1), "groups": 24}
    works = [Work("tile.conv2d", (0, 1, None), attrs, (type_,)), Work("tile.map", (3, 2), {"fn": "add"}, (type_,))]
    found = ran(works, [Given(normal(1, 8, 8, 24)), Given(normal(3, 3, 1, 24), constant=True), Given(normal(1, 8, 8, 1))])
    assert found.kernels == ("Depthwise",)
    found.close(1e-6)


SIDES = st.tuples(st.integers(1, 5), st.integers(1, 5))


@settings(max_examples=12)
@given(
    shape=st.tuples(st.integers(1, 2), st.integers(9, 19), st.integers(9, 19), st.sampled_from([2, 15, 16, 17, 33])),
    taps=SIDES,
    strides=SIDES,
    dilations=st.tuples(st.integers(1, 2), st.integers(1, 2)),
    pads=st.tuples(*[st.integers(0, 3)] * 4),
    bias=st.booleans(),
)
def test_any_window(shape: tuple[int, ...], taps: tuple[int, int], **attrs: Any) -> None:
    assert convolved(shape, (*taps, 1, shape[3]), **attrs).kernels == ("Depthwise",)
