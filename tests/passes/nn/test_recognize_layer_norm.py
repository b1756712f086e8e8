"""Tests of the pass in passes/nn/recognize_layer_norm.py."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ttc.passes.nn.match import attr
from ttc.passes.nn.recognize_layer_norm import RecognizeLayerNorm

if TYPE_CHECKING:
    from tests.passes.conftest import Harness


def test_docstring(harness: Harness) -> None:
    harness.docstring(RecognizeLayerNorm())


HEAD = """(%x: tensor<2x3x8xf32>)
    %s = ttc.constant() {value = #ttc.weight<"s", tensor<3x8xf32>>} : () -> tensor<3x8xf32>
    %e = ttc.constant() {value = #ttc.literal<[0.001], tensor<f32>>} : () -> tensor<f32>
    %0 = nn.reduce_mean(%x) {axes = [-1, 1], keepdims = true} : (tensor<2x3x8xf32>) -> tensor<2x1x1xf32>
    %1 = nn.sub(%x, %0) : (tensor<2x3x8xf32>, tensor<2x1x1xf32>) -> tensor<2x3x8xf32>
    %2 = nn.mul(%1, %1) : (tensor<2x3x8xf32>, tensor<2x3x8xf32>) -> tensor<2x3x8xf32>
    %3 = nn.reduce_mean(%2) {axes = [1, 2], keepdims = true} : (tensor<2x3x8xf32>) -> tensor<2x1x1xf32>
    %4 = nn.add(%e, %3) : (tensor<f32>, tensor<2x1x1xf32>) -> tensor<2x1x1xf32>
    """
RECIPROCAL = """%5 = nn.sqrt(%4) : (tensor<2x1x1xf32>) -> tensor<2x1x1xf32>
    %6 = nn.reciprocal(%5) : (tensor<2x1x1xf32>) -> tensor<2x1x1xf32>
    %7 = nn.mul(%6, %1) : (tensor<2x1x1xf32>, tensor<2x3x8xf32>) -> tensor<2x3x8xf32>
    """
RSQRT = """%6 = nn.rsqrt(%4) : (tensor<2x1x1xf32>) -> tensor<2x1x1xf32>
    %7 = nn.mul(%1, %6) : (tensor<2x3x8xf32>, tensor<2x1x1xf32>) -> tensor<2x3x8xf32>
    """
SCALE = "%8 = nn.mul(%s, %7) : (tensor<3x8xf32>, tensor<2x3x8xf32>) -> tensor<2x3x8xf32>\n    "


@pytest.mark.parametrize("middle", [RECIPROCAL, RSQRT])
@pytest.mark.parametrize("scaled", [False, True])
def test_forms(harness: Harness, middle: str, scaled: bool) -> None:
    end = f"{SCALE}return %8" if scaled else "return %7"
    outcome = harness.numbers(RecognizeLayerNorm(), f"{HEAD}{middle}{end} : tensor<2x3x8xf32>")
    (norm,) = [op for op in outcome.unit.module.walk() if op.name == "nn.layer_norm"]
    assert attr(norm, "axis") == 1
    assert len(norm.operands) == 1 + scaled
    assert outcome.count("mul") == outcome.count("reduce_mean") == 0


def test_other_axes_are_missed(harness: Harness) -> None:
    text = f"{HEAD}{RSQRT}return %7 : tensor<2x3x8xf32>".replace("[-1, 1]", "[1]").replace("[1, 2]", "[1]").replace("2x1x1", "2x1x8")
    assert harness.unchanged(RecognizeLayerNorm(), text).missed() == ["the mean is not taken over the last dimensions"]


def test_a_sum_of_something_else_is_no_variance(harness: Harness) -> None:
    text = f"{HEAD}{RSQRT}return %7 : tensor<2x3x8xf32>".replace("nn.mul(%1, %1)", "nn.mul(%1, %x)")
    assert harness.unchanged(RecognizeLayerNorm(), text).count("layer_norm") == 0


FACTOR = """%5 = nn.rsqrt(%4) : (tensor<2x1x1xf32>) -> tensor<2x1x1xf32>
    %b = ttc.constant() {value = #ttc.weight<"b", tensor<1x3x8xf32>>} : () -> tensor<1x3x8xf32>
    %6 = nn.mul(%5, %s) : (tensor<2x1x1xf32>, tensor<3x8xf32>) -> tensor<2x3x8xf32>
    %7 = nn.mul(%x, %6) : (tensor<2x3x8xf32>, tensor<2x3x8xf32>) -> tensor<2x3x8xf32>
    """
NEGATED = """%8 = nn.neg(%0) : (tensor<2x1x1xf32>) -> tensor<2x1x1xf32>
    %9 = nn.mul(%8, %6) : (tensor<2x1x1xf32>, tensor<2x3x8xf32>) -> tensor<2x3x8xf32>
    %10 = nn.add(%9, %b) : (tensor<2x3x8xf32>, tensor<1x3x8xf32>) -> tensor<2x3x8xf32>
    """
SUBTRACTED = """%9 = nn.mul(%0, %6) : (tensor<2x1x1xf32>, tensor<2x3x8xf32>) -> tensor<2x3x8xf32>
    %10 = nn.sub(%b, %9) : (tensor<1x3x8xf32>, tensor<2x3x8xf32>) -> tensor<2x3x8xf32>
    """
MOVED = "%11 = nn.add(%10, %7) : (tensor<2x3x8xf32>, tensor<2x3x8xf32>) -> tensor<2x3x8xf32>\n    return %11 : tensor<2x3x8xf32>"


@pytest.mark.parametrize("shift", [NEGATED, SUBTRACTED])
def test_scale_and_bias_put_together_first(harness: Harness, shift: str) -> None:
    outcome = harness.numbers(RecognizeLayerNorm(), f"{HEAD}{FACTOR}{shift}{MOVED}")
    assert (outcome.count("layer_norm"), outcome.count("reduce_mean"), outcome.count("mul")) == (1, 0, 0)


@pytest.mark.parametrize(
    ("old", "new"), [("nn.mul(%x, %6)", "nn.mul(%1, %6)"), ("nn.mul(%8, %6)", "nn.mul(%8, %7)"), ("nn.neg(%0)", "nn.neg(%3)")]
)
def test_what_is_put_together_of_other_values_stays(harness: Harness, old: str, new: str) -> None:
    text = f"{HEAD}{FACTOR}{NEGATED}{MOVED}".replace(old, new)
    assert harness.unchanged(RecognizeLayerNorm(), text).count("layer_norm") == 0
