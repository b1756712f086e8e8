"""Convolutions of few channels that lie as planes against their numpy kernel."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.runtime.engines.native.graphs import Given, Ran, normal, ran
from ttc.dialects.core.kernels.windows import window_counts, windows
from ttc.dialects.core.plain.functions import TensorType, Work

LEVELS = ("amx", "avx2", "generic")
MOVES: dict[str, Any] = {"strides": (1, 1), "pads": (1, 1, 1, 1), "dilations": (1, 1)}


def convolved(
    shape: tuple[int, ...],
    filter: tuple[int, ...],
    *,
    level: str = "amx",
    format: str = "Float32",
    precision: str = "float32",
    tiles: bool = False,
    **more: Any,
) -> Ran:
    """Images x[n, c, h, w], made x[n, h, w, c] as an importer does, through a filter [kh, kw, c, o] and a bias."""
    count, channels, *size = shape
    attrs = {**MOVES, "groups": 1, **more}
    counts = window_counts((size[0], size[1]), windows(filter[:2], attrs["strides"], attrs["pads"], attrs["dilations"]))
    works = [
        Work("tile.transpose", (0,), {"perm": (0, 2, 3, 1)}, (TensorType((count, *size, channels), format),)),
        Work("tile.conv2d", (3, 1, 2), attrs, (TensorType((count, *counts, filter[3]), format),)),
    ]
    operands = [
        Given(normal(*shape), format),
        Given(normal(*filter), format, constant=True),
        Given(normal(filter[3]), format, constant=True),
    ]
    found = ran(works, operands, level=level, precision=precision, tiles=tiles)
    found.close({"Float32": 1e-6, "Half": 1e-3, "Float16_b": 2**-7}[format])
    return found


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(("taps", "stride"), [(3, 2), (7, 2), (5, 1)])
@pytest.mark.parametrize(("channels", "outputs"), [(1, 5), (3, 32), (3, 35), (4, 64), (8, 16)])
def test_planes(channels: int, outputs: int, taps: int, stride: int, level: str) -> None:
    moves = {"strides": (stride, stride), "pads": (taps // 2,) * 4}
    found = convolved((2, channels, 17, 31), (taps, taps, channels, outputs), level=level, **moves)
    assert found.kernels == ("PlaneWindows",)


def test_planes_are_read_where_they_lie() -> None:
    assert convolved((1, 3, 224, 224), (3, 3, 3, 32), strides=(2, 2)).kernels == ("PlaneWindows",)


@pytest.mark.parametrize("format", ["Half", "Float16_b"])
def test_narrow_types(format: str) -> None:
    assert convolved((1, 3, 21, 20), (3, 3, 3, 24), strides=(2, 2), format=format).kernels[-1] == "PlaneWindows"


@pytest.mark.parametrize(
    ("shape", "taps"), [((1, 9, 12, 13), (3, 3)), ((1, 3, 9, 4000), (5, 5)), ((1, 3, 9, 80), (1, 65))], ids=["channels", "lines", "taps"]
)
def test_other_ways_for_many_channels_long_lines_and_wide_windows(shape: tuple[int, ...], taps: tuple[int, int]) -> None:
    found = convolved(shape, (*taps, shape[1], 20), strides=(2, 2), pads=(0,) * 4)
    assert "PlaneWindows" not in found.kernels


@pytest.mark.parametrize(("taps", "outputs", "faster"), [(3, 32, True), (7, 64, False)])
def test_few_products_are_not_narrowed(taps: int, outputs: int, faster: bool) -> None:
    moves = {"strides": (2, 2), "pads": (taps // 2,) * 4}
    found = convolved((1, 3, 40, 50), (taps, taps, 3, outputs), format="Float16_b", precision="bfloat16", tiles=True, **moves)
    assert ("PlaneWindows" in found.kernels) == faster


def test_channels_side_by_side_are_no_planes() -> None:
    works = [Work("tile.conv2d", (0, 1), {**MOVES, "strides": (2, 2), "groups": 1}, (TensorType((1, 5, 5, 24), "Float32"),))]
    assert "PlaneWindows" not in ran(works, [Given(normal(1, 9, 9, 3)), Given(normal(3, 3, 3, 24), constant=True)]).kernels


def test_activations_and_residuals() -> None:
    attrs = {**MOVES, "strides": (2, 2), "groups": 1, "activation": "tanh"}
    planes, type_ = TensorType((1, 9, 11, 3), "Float32"), TensorType((1, 5, 6, 20), "Float32")
    works = [
        Work("tile.transpose", (0,), {"perm": (0, 2, 3, 1)}, (planes,)),
        Work("tile.conv2d", (3, 1, None), attrs, (type_,)),
        Work("tile.map", (4, 2), {"fn": "add"}, (type_,)),
    ]
    found = ran(works, [Given(normal(1, 3, 9, 11)), Given(normal(3, 3, 3, 20), constant=True), Given(normal(1, 5, 6, 20))])
    assert found.kernels == ("PlaneWindows",)
    np.testing.assert_allclose(found.native, found.reference, rtol=1e-5, atol=1e-5)


def test_infinities_stay_in_the_windows_that_meet_them() -> None:
    images = normal(1, 2, 8, 8)
    images[0, 1, 2, 3] = np.inf
    works = [
        Work("tile.transpose", (0,), {"perm": (0, 2, 3, 1)}, (TensorType((1, 8, 8, 2), "Float32"),)),
        Work("tile.conv2d", (2, 1), {**MOVES, "strides": (2, 2), "groups": 1}, (TensorType((1, 4, 4, 16), "Float32"),)),
    ]
    found = ran(works, [Given(images), Given(normal(3, 3, 2, 16), constant=True)])
    assert found.kernels == ("PlaneWindows",)
    finite = np.isfinite(found.native[0]).all(axis=-1)
    assert np.argwhere(~finite).tolist() == [[1, 1], [1, 2]]


@settings(max_examples=40)
@given(
    size=st.tuples(st.integers(1, 15), st.integers(1, 40)),
    taps=st.tuples(st.integers(1, 4), st.integers(2, 5)),
    channels=st.tuples(st.integers(1, 4), st.sampled_from((1, 7, 16, 33, 48))),
    strides=st.tuples(st.integers(1, 3), st.integers(1, 3)),
    dilations=st.tuples(st.integers(1, 2), st.integers(1, 3)),
    pads=st.tuples(*[st.integers(0, 5)] * 4),
    level=st.sampled_from(LEVELS),
)
def test_all_windows(size: Any, taps: Any, channels: Any, strides: Any, dilations: Any, pads: Any, level: str) -> None:
    assume(all(window.count(length) >= 1 for window, length in zip(windows(taps, strides, pads, dilations), size, strict=True)))
    convolved((2, channels[0], *size), (*taps, *channels), strides=strides, dilations=dilations, pads=pads, level=level)
