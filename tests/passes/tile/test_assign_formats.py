"""Storage formats."""

from __future__ import annotations

import numpy as np
import pytest

from tests.passes.tiles import apply, docstring, evaluate, same
from ttc.dialects.core.errors import Error
from ttc.dialects.tile.base import tile_of
from ttc.passes.tile.assign_formats import AssignFormats

ATTENTION = """
(%q: Float32[1, 3, 4], %keep: UInt8[3])
%none = ttc.constant() {value = #ttc.literal<[0.0], f32[]>} : () -> Float32[]
%low = ttc.constant() {value = #ttc.literal<[-3.4028235e+38], f32[]>} : () -> Float32[]
%mask = tile.map(%keep, %none, %low) {fn = "where"} : (UInt8[3], Float32[], Float32[]) -> Float32[3]
%wide = tile.reshape(%mask) {shape = [1, 1, 3]} : (Float32[3]) -> Float32[1, 1, 3]
%y = tile.attention(%q, %q, %q, %wide) {scale = 1.0, zero_masked = false}
  : (Float32[1, 3, 4], Float32[1, 3, 4], Float32[1, 3, 4], Float32[1, 1, 3]) -> Float32[1, 3, 4]
return %y : Float32[1, 3, 4]
"""


def test_docstring() -> None:
    docstring(AssignFormats("Float16_b"), "host", 1e-2)


def test_without_a_format_nothing_changes() -> None:
    assert not same(AssignFormats(), ATTENTION, ATTENTION).report.rewrites


def test_masks_stay_finite() -> None:
    outcome = apply(AssignFormats("Float16_b"), ATTENTION, tolerance=2e-2)
    assert {tile_of(op.results[0]).format for op in (*outcome.ops("tile.map"), *outcome.ops("tile.reshape"))} == {"Float32"}
    assert tile_of(outcome.ops("tile.attention")[0].results[0]).format == "Float16_b"
    hidden = [np.ones((1, 3, 4), np.float32), np.zeros(3, np.uint8)]
    (found,) = evaluate(outcome.unit, hidden)
    np.testing.assert_array_equal(found, hidden[0])  # a row of which everything is masked is a mean, not NaN


def test_views_hold_the_format_of_what_they_view() -> None:
    outcome = apply(
        AssignFormats("Bfp8_b"),
        """(%x: Float32[32, 32])
        %0 = tile.softmax(%x) {axis = -1} : (Float32[32, 32]) -> Float32[32, 32]
        %1 = tile.reshape(%x) {shape = [1, 32, 32]} : (Float32[32, 32]) -> Float32[1, 32, 32]
        %2 = tile.map(%1) {fn = "sin"} : (Float32[1, 32, 32]) -> Float32[1, 32, 32]
        return %0, %2 : Float32[32, 32], Float32[1, 32, 32]""",
        target="n150",
        tolerance=5e-2,
    )
    (view,), (sine,) = outcome.ops("tile.reshape"), outcome.ops("tile.map")
    assert [tile_of(view.results[0]).format, tile_of(sine.results[0]).format] == ["Float32", "Bfp8_b"]


def test_weights_are_stored_and_regions_compute_in_float32() -> None:
    same(
        AssignFormats("Float16_b"),
        """(%x: Float32[4])
        %w = ttc.param() {sym = "w", value = #ttc.weight<"w", f32[4]>} : () -> Float32[4]
        %0 = tile.eltwise(%x, %w) : (Float32[4], Float32[4]) -> Float32[4] {
        ^bb0(%a: Float32[4], %b: Float32[4]):
          %1 = tile.map(%a, %b) {fn = "add"} : (Float32[4], Float32[4]) -> Float32[4]
          tile.yield(%1) : (Float32[4]) -> ()
        }
        return %0 : Float32[4]""",
        """(%x: Float16_b[4])
        %w = ttc.param() {sym = "w", value = #ttc.weight<"w", f32[4]>} : () -> Float16_b[4]
        %0 = tile.eltwise(%x, %w) : (Float16_b[4], Float16_b[4]) -> Float16_b[4] {
        ^bb0(%a: Float16_b[4], %b: Float16_b[4]):
          %1 = tile.map(%a, %b) {fn = "add"} : (Float16_b[4], Float16_b[4]) -> Float32[4]
          tile.yield(%1) : (Float32[4]) -> ()
        }
        return %0 : Float16_b[4]""",
        tolerance=2e-2,
    )


def test_host_segments_keep_their_types() -> None:
    outcome = apply(
        AssignFormats("Float16_b"),
        """(%x: Float32[4])
        %0 = tile.to_host(%x) : (Float32[4]) -> f32[4]
        %1 = nn.cumsum(%0) {axis = 0, exclusive = false, reverse = false} : (f32[4]) -> f32[4]
        %2 = tile.from_host(%1) : (f32[4]) -> Float32[4]
        return %2 : Float32[4]""",
        tolerance=2e-2,
    )
    assert tile_of(outcome.ops("tile.from_host")[0].results[0]).format == "Float16_b"
    assert str(outcome.ops("nn.cumsum")[0].results[0].type) == "tensor<4xf32>"


@pytest.mark.parametrize(("format_", "target"), [("Float77", "host"), ("Int32", "host"), ("Float64", "n150")])
def test_illegal_formats(format_: str, target: str) -> None:
    with pytest.raises(Error) as error:
        apply(AssignFormats(format_), ATTENTION, target)
    assert error.value.code == "E0607"


SCORES = """
(%x: Float32[2, 4], %mask: Float32[2, 4])
%0 = tile.map(%x, %mask) {fn = "add"} : (Float32[2, 4], Float32[2, 4]) -> Float32[2, 4]
%1 = tile.softmax(%0) {axis = 1} : (Float32[2, 4]) -> Float32[2, 4]
%2 = tile.map(%1) {fn = "relu"} : (Float32[2, 4]) -> Float32[2, 4]
return %2 : Float32[2, 4]
"""


@pytest.mark.parametrize("format_", ["Bfp8_b", "Bfp8", "Bfp4_b", "Float16", "Lf8", "Fp8_e4m3"])
def test_scores_stay_out_of_formats_that_spoil_them(format_: str) -> None:
    outcome = apply(AssignFormats(format_), SCORES, tolerance=1.0)
    scores, relu, softmax = (tile_of(op.results[0]).format for op in (*outcome.ops("tile.map"), *outcome.ops("tile.softmax")))
    assert (scores, relu, softmax) == ("Float32", format_, format_)
    messages = [remark.message for remark in outcome.report.remarks]
    assert messages == ["stays in Float32: scores of a softmax"] * 3  # both arguments and their sum
    masked = np.array([[0, 0, -3.4e38, -3.4e38]] * 2, np.float32)
    (found,) = evaluate(outcome.unit, [np.ones((2, 4), np.float32), masked])
    np.testing.assert_array_equal(found, [[0.5, 0.5, 0, 0]] * 2)


@pytest.mark.parametrize("format_", ["Float16_b", "Tf32"])
def test_scores_take_formats_of_wide_exponents(format_: str) -> None:
    outcome = apply(AssignFormats(format_), SCORES, "host", tolerance=2e-2)
    assert {tile_of(op.results[0]).format for op in (*outcome.ops("tile.map"), *outcome.ops("tile.softmax"))} == {format_}
    assert not outcome.report.remarks


def test_masks_that_are_given_stay_as_they_are() -> None:
    outcome = apply(
        AssignFormats("Bfp8_b"),
        """(%q: Float32[1, 3, 4], %mask: Float32[1, 3, 3])
        %y = tile.attention(%q, %q, %q, %mask) {scale = 1.0, zero_masked = false}
          : (Float32[1, 3, 4], Float32[1, 3, 4], Float32[1, 3, 4], Float32[1, 3, 3]) -> Float32[1, 3, 4]
        return %y : Float32[1, 3, 4]""",
        tolerance=0.1,
    )
    (attention,) = outcome.ops("tile.attention")
    assert [tile_of(x).format for x in attention.operands] == ["Bfp8_b", "Bfp8_b", "Bfp8_b", "Float32"]
    assert [remark.message for remark in outcome.report.remarks] == ["stays in Float32: a mask"]


def test_sums_of_attention_stay_as_they_are() -> None:
    outcome = apply(
        AssignFormats("Float16_b"),
        """(%q: Float32[1, 3, 4], %s: Float32[3, 1])
        %y, %t = tile.attention_training(%q, %q, %q, _) {scale = 1.0, zero_masked = false}
          : (Float32[1, 3, 4], Float32[1, 3, 4], Float32[1, 3, 4]) -> (Float32[1, 3, 4], Float32[1, 3])
        %u = tile.reshape(%s) {shape = [1, 3]} : (Float32[3, 1]) -> Float32[1, 3]
        %a, %b, %c = tile.attention_gradient(%q, %q, %q, %y, %u, %q, _) {scale = 1.0}
          : (Float32[1, 3, 4], Float32[1, 3, 4], Float32[1, 3, 4], Float32[1, 3, 4], Float32[1, 3], Float32[1, 3, 4])
          -> (Float32[1, 3, 4], Float32[1, 3, 4], Float32[1, 3, 4])
        return %a, %b, %c, %t : Float32[1, 3, 4], Float32[1, 3, 4], Float32[1, 3, 4], Float32[1, 3]""",
        "host",
        tolerance=0.1,
    )
    (forward,), (gradient,) = outcome.ops("tile.attention_training"), outcome.ops("tile.attention_gradient")
    assert [tile_of(x).format for x in forward.results] == ["Float16_b", "Float32"]
    assert [tile_of(x).format for x in gradient.operands] == ["Float16_b"] * 4 + ["Float32", "Float16_b"]
    assert {remark.message for remark in outcome.report.remarks} == {"stays in Float32: logarithms of sums of an attention"}
