"""Gradients of depthwise filters: convolutions of one image, grouped, whose filters are larger than their results."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.runtime.engines.native.graphs import Given, Ran, normal, ran
from ttc.dialects.core.kernels.windows import window_counts, windows
from ttc.dialects.core.plain.functions import TensorType, Work

LEVELS = ("amx", "avx2", "generic")


def summed(
    size: tuple[int, int], taps: tuple[int, int], groups: int, samples: int, level: str = "amx", format: str = "Float32", **attrs: Any
) -> Ran:
    """x[1, h, w, groups * samples] convolved with w[kh, kw, samples, groups], and 1 added."""
    attrs = {"strides": (1, 1), "pads": (0,) * 4, "dilations": (1, 1), "groups": groups, **attrs}
    counts = window_counts(size, windows(taps, attrs["strides"], attrs["pads"], attrs["dilations"]))
    type_ = TensorType((1, *counts, groups), format)
    works = [Work("tile.conv2d", (0, 1, None), attrs, (type_,)), Work("tile.map", (3, 2), {"fn": "add"}, (type_,))]
    found = ran(
        works,
        [Given(normal(1, *size, groups * samples), format), Given(normal(*taps, samples, groups), format), Given(normal(1), format)],
        level=level,
    )
    found.close(1e-5 if format == "Float32" else 2**-7)
    return found


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(("groups", "samples"), [(48, 2), (33, 3), (5, 1), (96, 1)])
def test_gradients_of_three_by_three(groups: int, samples: int, level: str) -> None:
    found = summed((13, 12), (13, 12), groups, samples, level, pads=(1, 1, 1, 1))
    assert "TapSums" in found.kernels
    assert ("ReduceRows" in found.kernels) == (samples > 1)


@pytest.mark.parametrize("format", ["Float16_b", "Half"])
def test_narrow_types(format: str) -> None:
    assert "TapSums" in summed((9, 11), (8, 10), 32, 2, format=format, pads=(1, 1, 1, 1)).kernels


@settings(max_examples=20)
@given(
    size=st.tuples(st.integers(6, 15), st.integers(6, 15)),
    taps=st.tuples(st.integers(3, 6), st.integers(3, 6)),
    strides=st.tuples(st.integers(1, 3), st.integers(1, 3)),
    dilations=st.tuples(st.integers(1, 3), st.integers(1, 3)),
    pads=st.tuples(*[st.integers(0, 3)] * 4),
    groups=st.sampled_from([2, 15, 16, 17, 65]),
    samples=st.integers(1, 3),
)
def test_any_window(size: tuple[int, int], taps: tuple[int, int], groups: int, samples: int, **attrs: Any) -> None:
    reach = [(kernel - 1) * dilation + 1 for kernel, dilation in zip(taps, attrs["dilations"], strict=True)]
    size = (max(size[0], reach[0]), max(size[1], reach[1]))
    counts = window_counts(size, windows(taps, attrs["strides"], attrs["pads"], attrs["dilations"]))
    found = summed(size, taps, groups, samples, **attrs)
    assert ("TapSums" in found.kernels) == (counts[0] * counts[1] < taps[0] * taps[1])
