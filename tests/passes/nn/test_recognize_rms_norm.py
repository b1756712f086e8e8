"""Tests of the pass in passes/nn/recognize_rms_norm.py."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ttc.passes.nn.match import attr
from ttc.passes.nn.recognize_rms_norm import RecognizeRmsNorm

if TYPE_CHECKING:
    from tests.passes.conftest import Harness


def test_docstring(harness: Harness) -> None:
    harness.docstring(RecognizeRmsNorm())


X = "tensor<2x3x32xf32>"
HEAD = f"""(%x: {X})
    %s = ttc.constant() {{value = #ttc.weight<"s", tensor<32xf32>>}} : () -> tensor<32xf32>
    %e = ttc.constant() {{value = #ttc.literal<[0.001], tensor<f32>>}} : () -> tensor<f32>
    %0 = nn.mul(%x, %x) : ({X}, {X}) -> {X}
    %1 = nn.reduce_mean(%0) {{axes = [-1], keepdims = true}} : ({X}) -> tensor<2x3x1xf32>
    %2 = nn.add(%e, %1) : (tensor<f32>, tensor<2x3x1xf32>) -> tensor<2x3x1xf32>
    """
RSQRT = f"""%3 = nn.rsqrt(%2) : (tensor<2x3x1xf32>) -> tensor<2x3x1xf32>
    %4 = nn.mul(%3, %x) : (tensor<2x3x1xf32>, {X}) -> {X}
    """
QUOTIENT = f"""%3 = nn.sqrt(%2) : (tensor<2x3x1xf32>) -> tensor<2x3x1xf32>
    %4 = nn.div(%x, %3) : ({X}, tensor<2x3x1xf32>) -> {X}
    """
SCALE = f"%5 = nn.mul(%4, %s) : ({X}, tensor<32xf32>) -> {X}\n    "


@pytest.mark.parametrize("middle", [RSQRT, QUOTIENT])
@pytest.mark.parametrize("scaled", [False, True])
def test_forms(harness: Harness, middle: str, scaled: bool) -> None:
    end = f"{SCALE}return %5" if scaled else "return %4"
    outcome = harness.numbers(RecognizeRmsNorm(), f"{HEAD}{middle}{end} : {X}")
    (norm,) = [op for op in outcome.unit.module.walk() if op.name == "nn.rms_norm"]
    assert (attr(norm, "axis"), attr(norm, "eps")) == (2, pytest.approx(0.001))
    assert outcome.count("mul") == outcome.count("reduce_mean") == outcome.count("div") == 0


def test_a_scale_of_ones_is_small_for_few_elements(harness: Harness) -> None:
    outcome = harness.numbers(RecognizeRmsNorm(), f"{HEAD}{RSQRT}return %4 : {X}".replace("x32x", "x4x").replace("<32x", "<4x"))
    assert "literal<[1.0, 1.0, 1.0, 1.0]" in outcome.text


def test_other_axes_are_missed(harness: Harness) -> None:
    text = f"{HEAD}{RSQRT}return %4 : {X}".replace("axes = [-1]", "axes = [1]").replace("2x3x1x", "2x1x32x")
    assert harness.unchanged(RecognizeRmsNorm(), text).missed() == ["the mean square is not taken over the last dimensions"]


def test_computed_eps_is_missed(harness: Harness) -> None:
    text = f"{HEAD}{RSQRT}return %4 : {X}".replace(f"(%x: {X})", f"(%x: {X}, %p: tensor<f32>)").replace("nn.add(%e", "nn.add(%p")
    assert harness.unchanged(RecognizeRmsNorm(), text).missed() == ["eps is no constant"]


def test_the_square_of_something_else_is_no_rms_norm(harness: Harness) -> None:
    text = f"{HEAD}{RSQRT}return %4 : {X}".replace(f"(%x: {X})", f"(%x: {X}, %z: {X})").replace("nn.mul(%x, %x)", "nn.mul(%z, %z)")
    assert harness.unchanged(RecognizeRmsNorm(), text).count("rms_norm") == 0
