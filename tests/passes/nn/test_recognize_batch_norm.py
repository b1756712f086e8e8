"""Tests of the pass in passes/nn/recognize_batch_norm.py."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ttc.passes.nn.match import attr
from ttc.passes.nn.recognize_batch_norm import RecognizeBatchNorm

if TYPE_CHECKING:
    from tests.passes.conftest import Harness

X, C = "tensor<2x5x3xf32>", "tensor<3xf32>"
HEAD = f"""(%x: {X})
    %e = ttc.constant() {{value = #ttc.literal<[0.001], tensor<f32>>}} : () -> tensor<f32>
    %s = ttc.param() {{sym = "s", value = #ttc.literal<[1.0, 2.0, 0.5], {C}>}} : () -> {C}
    %b = ttc.param() {{sym = "b", value = #ttc.literal<[0.0, 1.0, -1.0], {C}>}} : () -> {C}
    %m = ttc.param() {{sym = "m", value = #ttc.literal<[0.5, 0.25, -0.5], {C}>}} : () -> {C}
    %v = ttc.param() {{sym = "v", value = #ttc.literal<[1.0, 2.0, 0.125], {C}>}} : () -> {C}
    %0 = nn.add(%v, %e) : ({C}, tensor<f32>) -> {C}
    %1 = nn.rsqrt(%0) : ({C}) -> {C}
    """
SCALES = {"scaled": f"%i = nn.mul(%1, %s) : ({C}, {C}) -> {C}\n    ", "plain": f"%i = nn.identity(%1) : ({C}) -> {C}\n    "}
SHIFTS = {
    "bias": f"%4 = nn.mul(%m, %i) : ({C}, {C}) -> {C}\n    %5 = nn.sub(%b, %4) : ({C}, {C}) -> {C}\n    ",
    "negated mean": f"%4 = nn.neg(%m) : ({C}) -> {C}\n    %5 = nn.mul(%4, %i) : ({C}, {C}) -> {C}\n    ",
    "negated product": f"%4 = nn.mul(%i, %m) : ({C}, {C}) -> {C}\n    %5 = nn.neg(%4) : ({C}) -> {C}\n    ",
}
END = f"%6 = nn.mul(%x, %i) : ({X}, {C}) -> {X}\n    %7 = nn.add(%6, %5) : ({X}, {C}) -> {X}\n    return %7 : {X}"


def body(scale: str, shift: str) -> str:
    """A batch norm; one without a scale names the root itself."""
    text = f"{HEAD}{SCALES[scale]}{SHIFTS[shift]}{END}"
    return text.replace(SCALES["plain"], "").replace("%i", "%1") if scale == "plain" else text


def test_docstring(harness: Harness) -> None:
    harness.docstring(RecognizeBatchNorm())


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("shift", SHIFTS)
def test_forms(harness: Harness, scale: str, shift: str) -> None:
    outcome = harness.numbers(RecognizeBatchNorm(), body(scale, shift))
    (norm,) = [op for op in outcome.unit.module.walk() if op.name == "nn.batch_norm"]
    assert (attr(norm, "axis"), attr(norm, "eps")) == (2, pytest.approx(0.001))
    assert outcome.count("mul") == outcome.count("rsqrt") == outcome.count("add") == 0


def test_computed_eps_is_missed(harness: Harness) -> None:
    text = body("scaled", "bias").replace(f"(%x: {X})", f"(%x: {X}, %p: tensor<f32>)").replace("nn.add(%v, %e)", "nn.add(%v, %p)")
    assert harness.unchanged(RecognizeBatchNorm(), text).missed() == ["eps is no constant"]


def test_statistics_that_are_computed_stay(harness: Harness) -> None:
    text = body("scaled", "bias").replace(f"(%x: {X})", f"(%x: {X}, %p: {C})").replace("nn.mul(%m, %i)", "nn.mul(%p, %i)")
    harness.unchanged(RecognizeBatchNorm(), text)


def test_another_inverse_stays(harness: Harness) -> None:
    harness.unchanged(RecognizeBatchNorm(), body("scaled", "bias").replace("nn.mul(%m, %i)", "nn.mul(%m, %1)"))
