"""Tests of the pass in passes/nn/recognize_attention.py."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from ttc.passes.manager import run_pass
from ttc.passes.nn.canonicalize import Canonicalize
from ttc.passes.nn.match import attr
from ttc.passes.nn.recognize_attention import RecognizeAttention

if TYPE_CHECKING:
    from tests.passes.conftest import Harness, Outcome


def test_docstring(harness: Harness) -> None:
    harness.docstring(RecognizeAttention())


NUMBERS = """%c = ttc.constant() {value = #ttc.literal<[0.5], tensor<f32>>} : () -> tensor<f32>
    %z = ttc.constant() {value = #ttc.literal<[0.0], tensor<f32>>} : () -> tensor<f32>
    %l = ttc.constant() {value = #ttc.literal<[ninf], tensor<f32>>} : () -> tensor<f32>
    %o = ttc.constant() {value = #ttc.literal<[-10000.0], tensor<f32>>} : () -> tensor<f32>
    %h = ttc.constant() {value = #ttc.weight<"h", tensor<4x5xi1>>} : () -> tensor<4x5xi1>
    """
ARGUMENTS = "(%q: tensor<2x3x4x8xf32>, %k: tensor<2x3x5x8xf32>, %v: tensor<2x3x5x6xf32>, %b: tensor<2x1x1x5xi1>)\n    "
TURNED = "%kt = nn.transpose(%k) {perm = [0, 1, 3, 2]} : (tensor<2x3x5x8xf32>) -> tensor<2x3x8x5xf32>\n    "
SCORES = "tensor<2x3x4x5xf32>"
FLAGS = "{transpose_a = false, transpose_b = false}"
PRODUCT = f"%0 = nn.matmul(%qs, %ks, _) {FLAGS} : (tensor<2x3x4x8xf32>, tensor<2x3x8x5xf32>) -> {SCORES}\n    "
BOTH_SCALED = f"""{TURNED}%qs = nn.mul(%q, %c) : (tensor<2x3x4x8xf32>, tensor<f32>) -> tensor<2x3x4x8xf32>
    %ks = nn.mul(%kt, %c) : (tensor<2x3x8x5xf32>, tensor<f32>) -> tensor<2x3x8x5xf32>
    {PRODUCT}"""
DIVIDED = f"""{TURNED}%p = nn.matmul(%q, %kt, _) {FLAGS} : (tensor<2x3x4x8xf32>, tensor<2x3x8x5xf32>) -> {SCORES}
    %0 = nn.div(%p, %c) : ({SCORES}, tensor<f32>) -> {SCORES}
    """
FLAGGED = (
    f"%0 = nn.matmul(%q, %k, _) {FLAGS.replace('b = false', 'b = true')} : (tensor<2x3x4x8xf32>, tensor<2x3x5x8xf32>) -> {SCORES}\n    "
)
MASK = f"""%m = nn.where(%b, %z, %l) : (tensor<2x1x1x5xi1>, tensor<f32>, tensor<f32>) -> tensor<2x1x1x5xf32>
    %1 = nn.add(%m, %0) : (tensor<2x1x1x5xf32>, {SCORES}) -> {SCORES}
    """
SOFTMAX = f"%2 = nn.softmax(%{{scores}}) {{{{axis = 3}}}} : ({SCORES}) -> {SCORES}\n    "
NAN_TO_ZERO = f"""%n = nn.is_nan(%2) : ({SCORES}) -> tensor<2x3x4x5xi1>
    %3 = nn.where(%n, %z, %2) : (tensor<2x3x4x5xi1>, tensor<f32>, {SCORES}) -> {SCORES}
    """
LAST = f"""%4 = nn.matmul(%{{p}}, %v, _) {{{FLAGS}}}
    : ({SCORES}, tensor<2x3x5x6xf32>) -> tensor<2x3x4x6xf32>
    return %4 : tensor<2x3x4x6xf32>"""


def fragment(scores: str, *, masked: bool = False, zeroed: bool = False) -> str:
    softmax = SOFTMAX.format(scores="1" if masked else "0")
    last = LAST.format(p="3" if zeroed else "2")
    return ARGUMENTS + NUMBERS + scores + (MASK if masked else "") + softmax + (NAN_TO_ZERO if zeroed else "") + last


@pytest.mark.parametrize(("scores", "scale"), [(BOTH_SCALED, 0.25), (DIVIDED, 2.0), (FLAGGED, 1.0)])
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("zeroed", [False, True])
def test_forms(harness: Harness, scores: str, scale: float, masked: bool, zeroed: bool) -> None:
    outcome = harness.numbers(RecognizeAttention(), fragment(scores, masked=masked, zeroed=zeroed))
    (attention,) = [op for op in outcome.unit.module.walk() if op.name == "nn.attention"]
    assert (attr(attention, "scale"), attr(attention, "zero_masked"), len(attention.operands)) == (scale, zeroed, 3 + masked)
    assert outcome.count("transpose") == outcome.count("matmul") == outcome.count("softmax") == 0


def test_rows_masked_altogether(harness: Harness) -> None:
    unit = harness.parse(fragment(FLAGGED, masked=True, zeroed=True))
    outcome = harness.run(RecognizeAttention(), fragment(FLAGGED, masked=True, zeroed=True))
    generator = np.random.default_rng(3)
    inputs = [generator.normal(size=s).astype(np.float32) for s in ((2, 3, 4, 8), (2, 3, 5, 8), (2, 3, 5, 6))]
    mask = np.ones((2, 1, 1, 5), np.bool_)
    mask[0] = False
    harness.check_numbers(unit, outcome.unit, [*inputs, mask])
    assert not harness.evaluate(outcome.unit, [*inputs, mask])[0][0].any()


def test_a_mask_of_zeros_is_left_out(harness: Harness) -> None:
    zeros = f"""%m = nn.expand(%z) {{shape = [1, 1, 4, 5]}} : (tensor<f32>) -> tensor<1x1x4x5xf32>
    %1 = nn.add(%0, %m) : ({SCORES}, tensor<1x1x4x5xf32>) -> {SCORES}
    """
    text = ARGUMENTS + NUMBERS + FLAGGED + zeros + SOFTMAX.format(scores="1") + LAST.format(p="2")
    outcome = harness.numbers(RecognizeAttention(), text)
    (attention,) = [op for op in outcome.unit.module.walk() if op.name == "nn.attention"]
    assert len(attention.operands) == 3


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("axis = 3", "axis = 2", "softmax is not over the last axis"),
        ("return %4", "return %0", "the scores are no matmul that has no other users"),
        ("nn.matmul(%q, %k, _) {", 'nn.matmul(%q, %k, _) {activation = "relu", ', "the scores have a bias or an activation"),
    ],
)
def test_missed(harness: Harness, old: str, new: str, reason: str) -> None:
    text = fragment(FLAGGED).replace(old, new)
    if new == "return %0":
        text = text.replace("return %0 : tensor<2x3x4x6xf32>", f"return %0, %4 : {SCORES}, tensor<2x3x4x6xf32>")
    assert harness.unchanged(RecognizeAttention(), text).missed() == [f"softmax before a matmul is no attention: {reason}"]


def test_transposes_through_a_merged_batch_are_seen_after_canonicalization(harness: Harness) -> None:
    turned = """%r = nn.reshape(%k) {shape = [6, 5, 8]} : (tensor<2x3x5x8xf32>) -> tensor<6x5x8xf32>
    %u = nn.transpose(%r) {perm = [0, 2, 1]} : (tensor<6x5x8xf32>) -> tensor<6x8x5xf32>
    %kt = nn.reshape(%u) {shape = [2, 3, 8, 5]} : (tensor<6x8x5xf32>) -> tensor<2x3x8x5xf32>
    """
    outcome = harness.run(Canonicalize(), fragment(BOTH_SCALED.replace(TURNED, turned), masked=True, zeroed=True))
    run_pass(RecognizeAttention(), outcome.unit)
    assert (outcome.count("attention"), outcome.count("transpose"), outcome.count("reshape")) == (1, 0, 0)


def attended(harness: Harness, scores: str, values: dict[str, np.ndarray] | None = None) -> Outcome:
    """Attention recognized over masked scores %1, and checked on inputs whose mask %b leaves some columns."""
    text = ARGUMENTS + NUMBERS + FLAGGED + scores + SOFTMAX.format(scores="1") + LAST.format(p="2")
    outcome = harness.run(RecognizeAttention(), text, values)
    generator = np.random.default_rng(3)
    inputs = [generator.normal(size=s).astype(np.float32) for s in ((2, 3, 4, 8), (2, 3, 5, 8), (2, 3, 5, 6))]
    mask = np.array([0, 1, 0, 1, 1], np.bool_) * np.ones((2, 1, 1, 5), np.bool_)
    harness.check_numbers(harness.parse(text, values), outcome.unit, [*inputs, mask])
    return outcome


CAUSAL = {"h": np.tri(4, 5, 1, dtype=np.bool_)}
WHERE = {
    "erased where true": (f"%1 = nn.where(%b, %l, %0) : (tensor<2x1x1x5xi1>, tensor<f32>, {SCORES}) -> {SCORES}\n", 1),
    "erased where false": (f"%1 = nn.where(%b, %0, %l) : (tensor<2x1x1x5xi1>, {SCORES}, tensor<f32>) -> {SCORES}\n", 1),
    "causal": (f"%1 = nn.where(%h, %0, %o) : (tensor<4x5xi1>, {SCORES}, tensor<f32>) -> {SCORES}\n", 1),
    "causal, and a mask added": (
        f"""%m = nn.where(%b, %z, %l) : (tensor<2x1x1x5xi1>, tensor<f32>, tensor<f32>) -> tensor<2x1x1x5xf32>
        %w = nn.where(%h, %0, %o) : (tensor<4x5xi1>, {SCORES}, tensor<f32>) -> {SCORES}
        %1 = nn.add(%w, %m) : ({SCORES}, tensor<2x1x1x5xf32>) -> {SCORES}
        """,
        2,
    ),
}


@pytest.mark.parametrize(("scores", "wheres"), WHERE.values(), ids=WHERE)
def test_scores_that_are_replaced_are_masked(harness: Harness, scores: str, wheres: int) -> None:
    outcome = attended(harness, scores, CAUSAL)
    assert (outcome.count("attention"), outcome.count("where"), outcome.count("softmax")) == (1, wheres, 0)


def test_a_small_number_in_rows_without_scores_is_no_mask(harness: Harness) -> None:
    blind = {"h": np.tri(4, 5, -1, dtype=np.bool_)}
    assert attended(harness, WHERE["causal"][0], blind).count("attention") == 0
    computed = f"%1 = nn.where(%b, %0, %o) : (tensor<2x1x1x5xi1>, {SCORES}, tensor<f32>) -> {SCORES}\n"
    assert attended(harness, computed).count("attention") == 0


def test_keys_without_a_batch(harness: Harness) -> None:
    text = f"""(%q: tensor<2x3x4x8xf32>, %k: tensor<3x5x8xf32>, %v: tensor<1x3x5x6xf32>)
    %0 = nn.matmul(%q, %k, _) {FLAGS.replace("b = false", "b = true")} : (tensor<2x3x4x8xf32>, tensor<3x5x8xf32>) -> {SCORES}
    %1 = nn.softmax(%0) {{axis = -1}} : ({SCORES}) -> {SCORES}
    %2 = nn.matmul(%1, %v, _) {FLAGS} : ({SCORES}, tensor<1x3x5x6xf32>) -> tensor<2x3x4x6xf32>
    return %2 : tensor<2x3x4x6xf32>"""
    assert harness.numbers(RecognizeAttention(), text).count("attention") == 1
