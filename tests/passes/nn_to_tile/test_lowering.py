"""Ops that only targets in row layout have kernels for: one tile op on the host, a host segment beside a device, the same numbers."""

from __future__ import annotations

import pytest

from tests.passes.nn_to_tile.test_lower_to_tile import ONE_OP
from tests.passes.tiles import apply, check_numbers, parse
from ttc.passes.nn_to_tile.lower_to_tile import LowerToTile

IN_ROWS = {
    "gather": "(%x: f32[2, 5], %i: i64[3])\n%0 = nn.gather(%x, %i) {axis = 1} : (f32[2, 5], i64[3]) -> f32[2, 3]\nreturn %0 : f32[2, 3]",
    "gather_elements": """(%x: f32[2, 5], %i: i64[2, 3])
        %0 = nn.gather_elements(%x, %i) {axis = 1} : (f32[2, 5], i64[2, 3]) -> f32[2, 3]
        return %0 : f32[2, 3]""",
    "gather_nd": """(%x: f32[2, 5], %i: i64[3, 2])
        %0 = nn.gather_nd(%x, %i) {batch_dims = 0} : (f32[2, 5], i64[3, 2]) -> f32[3]
        return %0 : f32[3]""",
    "scatter_elements": """(%x: f32[2, 5], %i: i64[2, 1], %u: f32[2, 1])
        %0 = nn.scatter_elements(%x, %i, %u) {axis = 1, reduction = "add"} : (f32[2, 5], i64[2, 1], f32[2, 1]) -> f32[2, 5]
        return %0 : f32[2, 5]""",
    "scatter_nd": """(%x: f32[2, 5], %i: i64[1, 1], %u: f32[1, 5])
        %0 = nn.scatter_nd(%x, %i, %u) {reduction = "none"} : (f32[2, 5], i64[1, 1], f32[1, 5]) -> f32[2, 5]
        return %0 : f32[2, 5]""",
    "argmax": """(%x: f32[2, 5])
        %0 = nn.argmax(%x) {axis = 1, keepdims = false, select_last = false} : (f32[2, 5]) -> i64[2]
        return %0 : i64[2]""",
    "argmin": """(%x: f32[2, 5])
        %0 = nn.argmin(%x) {axis = 0, keepdims = true, select_last = true} : (f32[2, 5]) -> i64[1, 5]
        return %0 : i64[1, 5]""",
    "cumsum": """(%x: f32[2, 5])
        %0 = nn.cumsum(%x) {axis = 1, exclusive = true, reverse = false} : (f32[2, 5]) -> f32[2, 5]
        return %0 : f32[2, 5]""",
    "cumprod": """(%x: f32[2, 5])
        %0 = nn.cumprod(%x) {axis = 1, exclusive = false, reverse = true} : (f32[2, 5]) -> f32[2, 5]
        return %0 : f32[2, 5]""",
    "reverse_sequence": """(%x: f32[3, 2], %n: i64[2])
        %0 = nn.reverse_sequence(%x, %n) {time_axis = 0, batch_axis = 1} : (f32[3, 2], i64[2]) -> f32[3, 2]
        return %0 : f32[3, 2]""",
    "fft": """(%x: f32[2, 5], %c: f32[2, 5])
        %0, %1 = nn.fft(%x, %c) {axis = 1, inverse = true, onesided = false, size = 6} : (f32[2, 5], f32[2, 5]) -> (f32[2, 6], f32[2, 6])
        return %0, %1 : f32[2, 6], f32[2, 6]""",
    "irfft": """(%x: f32[2, 5])
        %0 = nn.irfft(%x, _) {axis = 0, size = 3} : (f32[2, 5]) -> f32[3, 5]
        return %0 : f32[3, 5]""",
    "det": "(%x: f32[2, 3, 3])\n%0 = nn.det(%x) : (f32[2, 3, 3]) -> f32[2]\nreturn %0 : f32[2]",
    "grid_sample": """(%x: f32[1, 2, 3, 3], %g: f32[1, 2, 2, 2])
        %0 = nn.grid_sample(%x, %g) {mode = "linear", padding = "zeros", align_corners = true}
          : (f32[1, 2, 3, 3], f32[1, 2, 2, 2]) -> f32[1, 2, 2, 2]
        return %0 : f32[1, 2, 2, 2]""",
    "roi_align": """(%x: f32[1, 2, 3, 3], %r: f32[1, 4], %i: i64[1])
        %z = ttc.constant() {value = #ttc.literal<[0], i64[1]>} : () -> i64[1]
        %0 = nn.roi_align(%x, %r, %z) {size = [2, 2], samples = 2, scale = 1.0, offset = 0.5, mode = "avg"}
          : (f32[1, 2, 3, 3], f32[1, 4], i64[1]) -> f32[1, 2, 2, 2]
        return %0 : f32[1, 2, 2, 2]""",
    "deform_conv": """(%x: f32[1, 2, 3, 3], %w: f32[4, 2, 1, 1], %o: f32[1, 2, 3, 3])
        %0 = nn.deform_conv(%x, %w, %o, _) {strides = [1, 1], dilations = [1, 1], pads = [0, 0, 0, 0], groups = 1, offset_groups = 1}
          : (f32[1, 2, 3, 3], f32[4, 2, 1, 1], f32[1, 2, 3, 3]) -> f32[1, 4, 3, 3]
        return %0 : f32[1, 4, 3, 3]""",
    "gru": """(%x: f32[3, 2, 4], %w: f32[1, 15, 4], %r: f32[1, 15, 5])
        %0, %1 = nn.gru(%x, %w, %r, _, _, _) {activations = ["sigmoid", "tanh"], alphas = [0.0, 0.0], betas = [0.0, 0.0], clip = inf,
          direction = "reverse", linear_before_reset = true} : (f32[3, 2, 4], f32[1, 15, 4], f32[1, 15, 5])
          -> (f32[3, 1, 2, 5], f32[1, 2, 5])
        return %0, %1 : f32[3, 1, 2, 5], f32[1, 2, 5]""",
    "lstm": """(%x: f32[3, 2, 4], %w: f32[1, 20, 4], %r: f32[1, 20, 5])
        %0, %1, %2 = nn.lstm(%x, %w, %r, _, _, _, _, _) {activations = ["sigmoid", "tanh", "tanh"], alphas = [0.0, 0.0, 0.0],
          betas = [0.0, 0.0, 0.0], clip = inf, direction = "forward", input_forget = false}
          : (f32[3, 2, 4], f32[1, 20, 4], f32[1, 20, 5]) -> (f32[3, 1, 2, 5], f32[1, 2, 5], f32[1, 2, 5])
        return %1, %2 : f32[1, 2, 5], f32[1, 2, 5]""",
    "rnn": """(%x: f32[3, 2, 4], %w: f32[1, 5, 4], %r: f32[1, 5, 5], %n: i32[2])
        %0, %1 = nn.rnn(%x, %w, %r, _, %n, _) {activations = ["tanh"], alphas = [0.0], betas = [0.0], clip = 1.0, direction = "forward"}
          : (f32[3, 2, 4], f32[1, 5, 4], f32[1, 5, 5], i32[2]) -> (f32[3, 1, 2, 5], f32[1, 2, 5])
        return %0, %1 : f32[3, 1, 2, 5], f32[1, 2, 5]""",
    "couple_probabilities": """(%r: f32[2, 3])
        %0 = nn.couple_probabilities(%r) {classes = 3} : (f32[2, 3]) -> f32[2, 3]
        return %0 : f32[2, 3]""",
    "tree_ensemble": """(%x: f32[2, 3], %s: f32[1], %w: f32[2, 1])
        %n = ttc.constant() {value = #ttc.literal<[0, 0, -1, -2], i32[1, 4]>} : () -> i32[1, 4]
        %r = ttc.constant() {value = #ttc.literal<[0], i32[1]>} : () -> i32[1]
        %0 = nn.tree_ensemble(%x, %n, %s, %r, %w, _) {aggregate = "sum", count = 1}
          : (f32[2, 3], i32[1, 4], f32[1], i32[1], f32[2, 1]) -> f32[2, 1]
        return %0 : f32[2, 1]""",
    "resize_by": """(%x: f32[1, 3], %s: f32[1])
        %f = ttc.constant() {value = #ttc.literal<[1.75], f32[1]>} : () -> f32[1]
        %0 = nn.resize_by(%x, %f, _) {axes = [1], sizes = [5], mode = "linear", coordinates = "half_pixel", rounding = "floor",
          cubic = -0.75, exclude_outside = false, antialias = false, fill = 0.0} : (f32[1, 3], f32[1]) -> f32[1, 5]
        return %0 : f32[1, 5]""",
    "resize": """(%x: f32[1, 3])
        %0 = nn.resize(%x) {sizes = [1, 5], scales = [1.0, 1.5], window = [0.0, 0.0, 1.0, 1.0], mode = "linear", coordinates = "half_pixel",
          rounding = "floor", cubic = -0.75, exclude_outside = false, antialias = false, fill = 0.0} : (f32[1, 3]) -> f32[1, 5]
        return %0 : f32[1, 5]""",
}


@pytest.mark.parametrize("op", IN_ROWS)
def test_one_op_in_rows(op: str) -> None:
    outcome = apply(LowerToTile(), IN_ROWS[op], "host")
    assert outcome.names() == [f"tile.{op}"]
    assert outcome.missed() == []
    check_numbers(parse(IN_ROWS[op], "host"), outcome.unit)


@pytest.mark.parametrize("op", IN_ROWS)
def test_beside_a_device_it_runs_on_the_host(op: str) -> None:
    outcome = apply(LowerToTile(), IN_ROWS[op])
    assert outcome.missed() == [f"nn.{op} runs on the host: n150 has no kernel for it"]


def test_the_largest_are_ordered_and_picked() -> None:
    fragment = """(%x: f32[2, 5])
        %0, %1 = nn.topk(%x) {k = 2, axis = 1, largest = true} : (f32[2, 5]) -> (f32[2, 2], i64[2, 2])
        return %0, %1 : f32[2, 2], i64[2, 2]"""
    outcome = apply(LowerToTile(), fragment, "host")
    assert outcome.names() == ["tile.order", "tile.gather_elements"]
    check_numbers(parse(fragment, "host"), outcome.unit)


def test_a_few_constant_indices_are_slices() -> None:
    fragment = """(%x: f32[2, 9])
        %i = ttc.constant() {value = #ttc.literal<[3, 4, -9, 7], i64[2, 2]>} : () -> i64[2, 2]
        %0 = nn.gather(%x, %i) {axis = 1} : (f32[2, 9], i64[2, 2]) -> f32[2, 2, 2]
        return %0 : f32[2, 2, 2]"""
    outcome = apply(LowerToTile(), fragment)
    assert outcome.names() == ["tile.slice", "tile.slice", "tile.slice", "tile.concat", "tile.reshape"]
    check_numbers(parse(fragment), outcome.unit)
    assert apply(LowerToTile(), fragment, "host").names() == ["tile.gather"]


@pytest.mark.parametrize(("target", "expected"), [("host", ["slice", "slice", "concat"]), ("n150", ["slice"] * 4 + ["concat"] * 2)])
def test_mirrored_margins(target: str, expected: list[str]) -> None:
    fragment = """(%x: f32[2, 6])
        %0 = nn.pad(%x) {before = [0, 3], after = [0, 1], value = 0.0, mode = "reflect"} : (f32[2, 6]) -> f32[2, 10]
        return %0 : f32[2, 10]"""
    outcome = apply(LowerToTile(), fragment, target)
    assert sorted(outcome.names()) == sorted(f"tile.{name}" for name in expected)
    check_numbers(parse(fragment, target), outcome.unit)


@pytest.mark.parametrize("fragment", ["repeat often", "pad with the border", "pad with the other end"])
@pytest.mark.parametrize("target", ["host", "n150"])
def test_numbers_of_copies(fragment: str, target: str) -> None:
    text, _ = ONE_OP[fragment]
    check_numbers(parse(text, target), apply(LowerToTile(), text, target).unit)


@pytest.mark.parametrize("stored", ["i4", "ui2", "f8E4M3FN", "f4E2M1FN"])
def test_rows_hold_what_models_only_store(stored: str) -> None:
    fragment = f"""(%x: f32[4])
        %0 = nn.cast(%x) {{dtype = {stored}}} : (f32[4]) -> tensor<4x{stored}>
        %1 = nn.cast(%0) {{dtype = f32}} : (tensor<4x{stored}>) -> f32[4]
        return %1 : f32[4]"""
    outcome = apply(LowerToTile(), fragment, "host")
    assert outcome.names() == ["tile.cast", "tile.cast"]
    check_numbers(parse(fragment, "host"), outcome.unit)
