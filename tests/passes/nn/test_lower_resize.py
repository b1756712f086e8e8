"""Tests of the pass in passes/nn/lower_resize.py."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ttc.dialects.core.machines.targets import load_target
from ttc.passes.manager import run_pass
from ttc.passes.nn.channels_last import ChannelsLast
from ttc.passes.nn.lower_resize import LowerResize

if TYPE_CHECKING:
    from tests.passes.conftest import Harness


def test_docstring(harness: Harness) -> None:
    harness.docstring(LowerResize())


def fragment(
    sizes: tuple[int, ...], mode: str, coordinates: str = "half_pixel", shape: tuple[int, ...] = (1, 2, 3, 4), dtype: str = "f32"
) -> str:
    scales = [b / a for a, b in zip(shape, sizes, strict=True)]
    old, new = (f"tensor<{'x'.join(map(str, s))}x{dtype}>" for s in (shape, sizes))
    window = [0.0] * len(shape) + [1.0] * len(shape)
    return f"""(%x: {old})
    %0 = nn.resize(%x) {{antialias = false, coordinates = "{coordinates}", cubic = -0.75, exclude_outside = false, fill = 0.0,
        mode = "{mode}", rounding = "floor", scales = {scales}, sizes = {list(sizes)}, window = {window}}} : ({old}) -> {new}
    return %0 : {new}"""


@pytest.mark.parametrize(("mode", "coordinates"), [("linear", "half_pixel"), ("linear", "align_corners"), ("cubic", "asymmetric")])
@pytest.mark.parametrize(("sizes", "matmuls"), [((1, 2, 6, 8), 2), ((1, 2, 5, 4), 1), ((1, 2, 3, 7), 1), ((1, 3, 2, 3), 3)])
def test_products(harness: Harness, mode: str, coordinates: str, sizes: tuple[int, ...], matmuls: int) -> None:
    text = fragment(sizes, mode, coordinates)
    unit = harness.parse(text)
    unit.target = load_target("n150")
    report = run_pass(LowerResize(), unit)
    assert report.rewrites == {"lower-resize": 1}
    assert harness.text_of(unit.module).count("= nn.matmul") == matmuls
    harness.check_numbers(harness.parse(text), unit)


@pytest.mark.parametrize("sizes", [(1, 2, 6, 8), (1, 2, 9, 4), (2, 4, 3, 4)])
def test_repeats_are_views(harness: Harness, sizes: tuple[int, ...]) -> None:
    for dtype in ("f32", "i32"):
        outcome = harness.numbers(LowerResize(), fragment(sizes, "nearest", "asymmetric", dtype=dtype), tolerance=0)
        assert (outcome.count("resize"), outcome.count("matmul")) == (0, 0)
        assert outcome.count("expand") == sum(a != b for a, b in zip(sizes, (1, 2, 3, 4), strict=True))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (fragment((1, 2, 6, 8), "linear"), "it does more than repeat elements"),
        (fragment((1, 2, 2, 4), "nearest"), "it does more than repeat elements"),
        (fragment((1, 2, 6, 8), "linear", "tf_crop_and_resize"), "samples may lie outside"),
        (fragment((1, 2000), "linear", shape=(1, 1000)), "its matrix is too large"),
    ],
)
def test_missed(harness: Harness, text: str, reason: str) -> None:
    assert harness.unchanged(LowerResize(), text).missed() == [f"the resize stays: {reason}"]


def test_channels_last(harness: Harness) -> None:
    image = "tensor<1x2x3x4xf32>"
    pool = f"""%p = nn.max_pool2d(%x) {{ceil_mode = false, dilations = [1, 1], kernel = [1, 1], layout = "nchw", pads = [0, 0, 0, 0],
        strides = [1, 1]}} : ({image}) -> {image}
    %0 = nn.resize(%p)"""
    outcome = harness.numbers(ChannelsLast(), fragment((1, 2, 6, 8), "linear").replace("%0 = nn.resize(%x)", pool))
    assert "sizes = [1, 6, 8, 2]" in outcome.text
