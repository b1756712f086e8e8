"""Tests of the pass in passes/nn/fold_pad.py."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ttc.passes.nn.fold_pad import FoldPad

if TYPE_CHECKING:
    from tests.passes.conftest import Harness


def test_docstring(harness: Harness) -> None:
    harness.docstring(FoldPad())


def fragment(before: str, after: str, padded: str, pads: str, value: str = "0.0", mode: str = "constant") -> str:
    """A convolution of a padded image, channels first."""
    return f"""(%x: tensor<2x3x6x5xf32>, %w: tensor<4x{padded.split("x")[1]}x3x2xf32>)
    %0 = nn.pad(%x) {{after = {after}, before = {before}, mode = "{mode}", value = {value}}} : (tensor<2x3x6x5xf32>) -> tensor<{padded}xf32>
    %1 = nn.conv2d(%0, %w, _) {{dilations = [1, 1], groups = 1, layout = "nchw", pads = {pads}, strides = [1, 1]}}
        : (tensor<{padded}xf32>, tensor<4x{padded.split("x")[1]}x3x2xf32>) -> tensor<2x4x8x10xf32>
    return %1 : tensor<2x4x8x10xf32>"""


def test_margins_are_added_to_pads(harness: Harness) -> None:
    outcome = harness.numbers(FoldPad(), fragment("[0, 0, 1, 2]", "[0, 0, 0, 1]", "2x3x7x8", "[1, 0, 2, 3]"))
    assert (outcome.count("pad"), outcome.report.rewrites) == (0, {"fold-pad": 1})


@pytest.mark.parametrize(
    ("text"),
    [
        fragment("[0, 0, 1, 2]", "[0, 0, 0, 1]", "2x3x7x8", "[1, 0, 2, 3]", value="1.0"),
        fragment("[0, 0, 1, 2]", "[0, 0, 0, 1]", "2x3x7x8", "[1, 0, 2, 3]", mode="edge"),
        fragment("[0, 1, 1, 2]", "[0, 0, 0, 1]", "2x4x7x8", "[1, 0, 2, 3]"),
    ],
)
def test_other_margins_are_missed(harness: Harness, text: str) -> None:
    outcome = harness.unchanged(FoldPad(), text)
    assert outcome.missed() == ["the margins before it are not zeros, or also around batch or channels"]
