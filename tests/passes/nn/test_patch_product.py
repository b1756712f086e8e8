"""Tests of the pass in passes/nn/patch_product.py."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ttc.passes.nn.patch_product import PatchProduct

if TYPE_CHECKING:
    from tests.passes.conftest import Harness


def test_docstring(harness: Harness) -> None:
    harness.docstring(PatchProduct())


def convolution(image: str, filters: str, result: str, strides: str, pads: str = "[0, 0, 0, 0]", groups: int = 1, more: str = "") -> str:
    """A convolution of an image, channels first."""
    return f"""(%x: tensor<{image}xf32>, %w: tensor<{filters}xf32>)
    %0 = nn.conv2d(%x, %w, _) {{{more}dilations = [1, 1], groups = {groups}, layout = "nchw", pads = {pads}, strides = {strides}}}
        : (tensor<{image}xf32>, tensor<{filters}xf32>) -> tensor<{result}xf32>
    return %0 : tensor<{result}xf32>"""


def test_patches_of_unequal_sides_and_an_activation(harness: Harness) -> None:
    text = convolution("2x5x6x20", "7x5x3x4", "2x7x2x5", "[3, 4]", more='activation = "relu", ')
    outcome = harness.numbers(PatchProduct(), text)
    assert (outcome.count("conv2d"), outcome.count("matmul"), outcome.report.rewrites) == (0, 1, {"patch-product": 1})
    assert [r.message for r in outcome.report.remarks] == ["a product of 10 patches: 2 tiles of the inner dimension in place of 12"]


@pytest.mark.parametrize(
    ("text", "reasons"),
    [
        (
            convolution("1x3x9x8", "5x3x4x4", "1x5x2x2", "[4, 4]"),
            ["patches of 4 x 4 do not cover an image of 9 x 8 exactly"],
        ),
        (
            convolution("1x32x8x8", "5x32x2x2", "1x5x4x4", "[2, 2]"),
            ["as a product it would have 4 tiles of the inner dimension, and has 4"],
        ),
        (convolution("1x3x8x8", "5x3x4x4", "1x5x3x3", "[2, 2]"), []),
        (convolution("1x3x6x6", "5x3x4x4", "1x5x2x2", "[4, 4]", pads="[1, 1, 1, 1]"), []),
        (convolution("1x4x8x8", "6x2x4x4", "1x6x2x2", "[4, 4]", groups=2), []),
        (convolution("1x3x8x8", "5x3x1x1", "1x5x8x8", "[1, 1]"), []),
    ],
)
def test_other_convolutions_stay(harness: Harness, text: str, reasons: list[str]) -> None:
    outcome = harness.unchanged(PatchProduct(), text)
    assert outcome.missed() == reasons
