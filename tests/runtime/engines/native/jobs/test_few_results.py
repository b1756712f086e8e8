"""Convolutions of few results against their numpy kernel."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.runtime.engines.native.convolved import convolved
from tests.runtime.engines.native.graphs import Given, normal, ran
from ttc.dialects.core.kernels.windows import windows
from ttc.dialects.core.plain.functions import TensorType, Work


@pytest.mark.parametrize(("level", "results"), [("amx", 1), ("amx", 3), ("avx2", 1), ("avx2", 3), ("generic", 1)])
@pytest.mark.parametrize("taps", [(3, 3), (1, 7), (9, 9)])
def test_few_results(taps: tuple[int, int], results: int, level: str) -> None:
    found = convolved((2, 12, 13, 40), (*taps, 40, results), pads=(taps[0] // 2, taps[1] // 2) * 2, level=level)
    assert found.kernels[-1] == "ShiftedSums"


def test_activations_and_residuals() -> None:
    attrs: dict[str, Any] = {"strides": (1, 1), "pads": (1, 1, 1, 1), "dilations": (1, 1), "groups": 1, "activation": "tanh"}
    type_ = TensorType((1, 9, 9, 3), "Float32")
    works = [Work("tile.conv2d", (0, 1, None), attrs, (type_,)), Work("tile.map", (3, 2), {"fn": "add"}, (type_,))]
    found = ran(works, [Given(normal(1, 9, 9, 32)), Given(normal(3, 3, 32, 3), constant=True), Given(normal(1, 9, 9, 3))])
    assert found.kernels[-1] == "ShiftedSums"
    np.testing.assert_allclose(found.native, found.reference, rtol=1e-5, atol=1e-5)


def test_narrow_types() -> None:
    assert convolved((1, 9, 9, 32), (3, 3, 32, 3), format="Float16_b", share=2**-5).kernels[-1] == "ShiftedSums"


@pytest.mark.parametrize(
    ("channels", "results", "stride", "taps"),
    [(8, 3, 1, (3, 3)), (64, 8, 1, (3, 3)), (64, 3, 3, (3, 3)), (36, 1, 1, (1, 80)), (36, 2, 1, (1, 65)), (16, 3, 1, (3, 11))],
)
def test_other_ways_where_these_are_faster_or_smaller(channels: int, results: int, stride: int, taps: tuple[int, int]) -> None:
    found = convolved((1, 9, 90, channels), (*taps, channels, results), strides=(1, stride), level="avx2")
    assert "Gemm" in found.kernels
    assert "ShiftedSums" not in found.kernels


@settings(max_examples=40)
@given(
    size=st.tuples(st.integers(1, 15), st.integers(1, 15)),
    taps=st.tuples(st.integers(1, 4), st.integers(2, 5)),
    results=st.integers(1, 3),
    strides=st.tuples(st.integers(1, 2), st.integers(1, 2)),
    dilations=st.tuples(st.integers(1, 2), st.integers(1, 3)),
    pads=st.tuples(*[st.integers(0, 5)] * 4),
)
def test_all_windows(size: Any, taps: Any, results: int, strides: Any, dilations: Any, pads: Any) -> None:
    assume(all(window.count(length) >= 1 for window, length in zip(windows(taps, strides, pads, dilations), size, strict=True)))
    convolved((1, *size, 36), (*taps, 36, results), strides=strides, dilations=dilations, pads=pads)
