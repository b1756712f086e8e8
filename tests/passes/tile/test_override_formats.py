"""Formats of single ops: results, weights, views; masks and scores; what no rule matches."""

from __future__ import annotations

import pytest

from tests.passes.tiles import apply, docstring
from ttc.dialects.core.errors import Error
from ttc.dialects.core.rules.precision import AMP, PrecisionRule
from ttc.dialects.tile.base import tile_of
from ttc.passes.tile.override_formats import OverrideFormats

LINEAR = """
(%x: Float32[32, 64])
%w = ttc.constant() {value = #ttc.weight<"w", f32[64, 64]>} : () -> Float32[64, 64]
%b = ttc.constant() {value = #ttc.weight<"b", f32[64]>} : () -> Float32[64]
%first = tile.matmul(%x, %w, %b) {transpose_a = false, transpose_b = false}
  : (Float32[32, 64], Float32[64, 64], Float32[64]) -> Float32[32, 64]
%view = tile.reshape(%first) {shape = [2, 16, 64]} : (Float32[32, 64]) -> Float32[2, 16, 64]
%last = tile.map(%view) {fn = "relu"} : (Float32[2, 16, 64]) -> Float32[2, 16, 64]
return %last : Float32[2, 16, 64]
"""

TIED = """
(%x: Float32[64, 64])
%w = ttc.constant() {value = #ttc.weight<"w", f32[64, 64]>} : () -> Float32[64, 64]
%first = tile.matmul(%x, %w, _) {transpose_a = false, transpose_b = false} : (Float32[64, 64], Float32[64, 64]) -> Float32[64, 64]
%second = tile.map(%first, %w) {fn = "add"} : (Float32[64, 64], Float32[64, 64]) -> Float32[64, 64]
return %second : Float32[64, 64]
"""

ATTENTION = """
(%q: Float32[1, 32, 32], %keep: Float32[1, 32, 32])
%mask = tile.map(%keep) {fn = "neg"} : (Float32[1, 32, 32]) -> Float32[1, 32, 32]
%y = tile.attention(%q, %q, %q, %mask) {scale = 1.0, zero_masked = false}
  : (Float32[1, 32, 32], Float32[1, 32, 32], Float32[1, 32, 32], Float32[1, 32, 32]) -> Float32[1, 32, 32]
return %y : Float32[1, 32, 32]
"""

SOFTMAX = """
(%a: Float32[32, 32])
%scores = tile.matmul(%a, %a, _) {transpose_a = false, transpose_b = true} : (Float32[32, 32], Float32[32, 32]) -> Float32[32, 32]
%y = tile.softmax(%scores) {axis = 1} : (Float32[32, 32]) -> Float32[32, 32]
return %y : Float32[32, 32]
"""


def formats(fragment: str, *rules: PrecisionRule, tolerance: float | None = None) -> tuple[dict[str, str], list[str]]:
    """Formats of values by name after the rules, and messages of what was missed."""
    outcome = apply(OverrideFormats(rules), fragment, tolerance=tolerance)
    found = {r.name_hint: tile_of(r).format for op in outcome.unit.module.walk() for r in op.results if r.name_hint}
    return {str(name): format_ for name, format_ in found.items()}, outcome.missed()


def test_docstring() -> None:
    docstring(OverrideFormats((PrecisionRule("relu", output="Float16_b"),)), "host", 1e-2)


def test_results_weights_and_views() -> None:
    found, missed = formats(LINEAR, PrecisionRule("matmul", output="Float16_b", weights="Bfp8_b"), tolerance=0.1)
    assert found == {"w": "Bfp8_b", "b": "Float32", "first": "Float16_b", "view": "Float16_b", "last": "Float32"}
    assert missed == []


def test_the_last_rule_counts_and_names_are_patterns() -> None:
    found, _ = formats(LINEAR, PrecisionRule(output="Bfp8_b"), PrecisionRule(name="fir*", output="Float16_b"))
    assert (found["first"], found["last"]) == ("Float16_b", "Bfp8_b")


def test_a_weight_with_two_readers_is_as_wide_as_either_asks() -> None:
    found, missed = formats(TIED, PrecisionRule("matmul", weights="Bfp8_b"))
    assert found["w"] == "Float32"
    assert missed == ["weight 'w' stays in Float32, which another reader asks for"]
    found, missed = formats(TIED, PrecisionRule("matmul", weights="Bfp8_b"), PrecisionRule("add", weights="Float16_b"))
    assert found["w"] == "Float16_b"


def test_a_rule_that_spoils_a_mask_is_refused() -> None:
    with pytest.raises(Error) as caught:
        formats(ATTENTION, PrecisionRule("map", output="Bfp8_b"))
    assert (caught.value.code, caught.value.where) == ("E0503", "mask")
    found, _ = formats(ATTENTION, PrecisionRule("map", output="Bfp8_b"), PrecisionRule(name="mask", output="Float16_b"))
    assert found["mask"] == "Float16_b"


def test_a_level_of_mixed_precision_passes_over_masks_and_scores() -> None:
    found, missed = formats(ATTENTION, *AMP[2])
    assert (found["mask"], missed) == ("Float32", ["stays in Float32: Bfp8_b would spoil a mask"])
    found, missed = formats(SOFTMAX, *AMP[2])
    assert (found["scores"], missed) == ("Float32", ["stays in Float32: Bfp8_b would spoil scores of a softmax"])
    found, missed = formats(SOFTMAX, PrecisionRule("matmul", output="Bfp8_b"))
    assert (found["scores"], missed) == ("Bfp8_b", [])


def test_rules_that_match_nothing_are_remarked() -> None:
    _, missed = formats(LINEAR, PrecisionRule("matmull", output="Float16_b"), PrecisionRule("map", "frist", fidelity="LoFi"))
    assert missed == [
        "rule 'op=matmull output=Float16_b' matches no op; did you mean 'matmul'?",
        "rule 'op=map name=frist fidelity=LoFi' matches no op; did you mean 'first'?",
    ]


def test_a_format_that_the_target_lacks() -> None:
    with pytest.raises(Error) as caught:
        apply(OverrideFormats((PrecisionRule(output="Half"),)), LINEAR)
    assert caught.value.code == "E0607"
