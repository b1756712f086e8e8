"""Tests of the pass in passes/nn/fold_qdq.py."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from ttc.passes.nn.fold_qdq import FoldQdq

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tests.passes.conftest import Harness


def test_docstring(harness: Harness) -> None:
    harness.docstring(FoldQdq())


def fragment(scale: str = "tensor<f32>", flag: str = "false", weights: str = "8x3") -> str:
    """quantize(dequantize(x) @ dequantize(w) + b), x with a zero of its own."""
    return f"""(%x: tensor<4x8xui8>)
    %s = ttc.constant() {{value = #ttc.weight<"s", tensor<1xf32>>}} : () -> tensor<1xf32>
    %t = ttc.constant() {{value = #ttc.weight<"t", {scale}>}} : () -> {scale}
    %u = ttc.constant() {{value = #ttc.weight<"u", tensor<f32>>}} : () -> tensor<f32>
    %z = ttc.constant() {{value = #ttc.literal<[128], tensor<ui8>>}} : () -> tensor<ui8>
    %n = ttc.constant() {{value = #ttc.literal<[0], tensor<i8>>}} : () -> tensor<i8>
    %w = ttc.constant() {{value = #ttc.weight<"w", tensor<{weights}xi8>>}} : () -> tensor<{weights}xi8>
    %b = ttc.constant() {{value = #ttc.weight<"b", tensor<3xf32>>}} : () -> tensor<3xf32>
    %0 = nn.dequantize(%x, %s, %z) : (tensor<4x8xui8>, tensor<1xf32>, tensor<ui8>) -> tensor<4x8xf32>
    %1 = nn.dequantize(%w, %t, %n) : (tensor<{weights}xi8>, {scale}, tensor<i8>) -> tensor<{weights}xf32>
    %2 = nn.matmul(%0, %1, %b) {{transpose_a = false, transpose_b = {flag}}}
        : (tensor<4x8xf32>, tensor<{weights}xf32>, tensor<3xf32>) -> tensor<4x3xf32>
    %3 = nn.quantize(%2, %u, %z) : (tensor<4x3xf32>, tensor<f32>, tensor<ui8>) -> tensor<4x3xui8>
    return %3 : tensor<4x3xui8>"""


def values(scale: tuple[int, ...], weights: tuple[int, ...]) -> dict[str, NDArray]:
    generator = np.random.default_rng(5)
    return {
        "s": np.array([0.02], np.float32),
        "t": generator.uniform(0.01, 0.02, scale).astype(np.float32),
        "u": np.array(0.2, np.float32),
        "w": generator.integers(-128, 128, weights).astype(np.int8),
        "b": generator.normal(size=3).astype(np.float32),
    }


CASES = [((), "false", (8, 3)), ((1, 3), "false", (8, 3)), ((3, 1), "true", (3, 8)), ((3,), "false", (8, 3))]


@pytest.mark.parametrize(("scale", "flag", "weights"), CASES)
def test_matmul_within_one_step(harness: Harness, scale: tuple[int, ...], flag: str, weights: tuple[int, int]) -> None:
    text = fragment(f"tensor<{''.join(f'{n}x' for n in scale)}f32>", flag, "x".join(map(str, weights)))
    given = values(scale, weights)
    outcome = harness.run(FoldQdq(), text, given)
    x = np.random.default_rng(6).integers(0, 256, (4, 8)).astype(np.uint8)
    (found,), (wanted,) = (harness.evaluate(unit, [x]) for unit in (outcome.unit, harness.parse(text, given)))
    assert np.abs(found.astype(int) - wanted).max() <= 1
    assert 0 < wanted.min() < wanted.max() < 255
    assert outcome.report.rewrites == {"fold-qdq": 1}
    assert "(tensor<4x8xi32>" in outcome.text


def test_scales_of_rows_are_missed(harness: Harness) -> None:
    text = fragment("tensor<8x1xf32>")
    (message,) = harness.unchanged(FoldQdq(), text, values((8, 1), (8, 3))).missed()
    assert message == "operands are dequantized by scales that are not one number, or one an output of the weights"


def test_wide_integers_are_missed(harness: Harness) -> None:
    text = fragment().replace("ui8", "ui16")
    (message,) = harness.unchanged(FoldQdq(), text, values((), (8, 3))).missed()
    assert message == "sums of products of dequantized operands may exceed 32 bits"


VIEW = """(%x: tensor<4x8xi8>)
    %s = ttc.constant() {value = #ttc.literal<[0.5], tensor<f32>>} : () -> tensor<f32>
    %z = ttc.constant() {value = #ttc.literal<[3], tensor<i8>>} : () -> tensor<i8>
    %0 = nn.dequantize(%x, %s, %z) : (tensor<4x8xi8>, tensor<f32>, tensor<i8>) -> tensor<4x8xf32>
    %1 = nn.transpose(%0) {perm = [1, 0]} : (tensor<4x8xf32>) -> tensor<8x4xf32>
    %2 = nn.quantize(%1, %s, %z) : (tensor<8x4xf32>, tensor<f32>, tensor<i8>) -> tensor<8x4xi8>
    return %2 : tensor<8x4xi8>"""


def test_a_view_between_a_pair(harness: Harness) -> None:
    outcome = harness.numbers(FoldQdq(), VIEW, tolerance=0)
    assert (outcome.count("quantize"), outcome.count("dequantize"), outcome.count("transpose")) == (0, 0, 1)


POOL = """(%x: tensor<1x2x5x7xui8>)
    %s = ttc.constant() {value = #ttc.literal<[0.5], tensor<f32>>} : () -> tensor<f32>
    %z = ttc.constant() {value = #ttc.literal<[130], tensor<ui8>>} : () -> tensor<ui8>
    %0 = nn.dequantize(%x, %s, %z) : (tensor<1x2x5x7xui8>, tensor<f32>, tensor<ui8>) -> tensor<1x2x5x7xf32>
    %1 = nn.max_pool2d(%0) {ceil_mode = true, dilations = [1, 1], kernel = [3, 3], layout = "nchw", pads = [1, 1, 1, 1], strides = [2, 2]}
        : (tensor<1x2x5x7xf32>) -> tensor<1x2x3x4xf32>
    %2 = nn.quantize(%1, %s, %z) : (tensor<1x2x3x4xf32>, tensor<f32>, tensor<ui8>) -> tensor<1x2x3x4xui8>
    return %2 : tensor<1x2x3x4xui8>"""


def test_a_max_pool_between_a_pair(harness: Harness) -> None:
    outcome = harness.numbers(FoldQdq(), POOL, tolerance=0)
    assert (outcome.count("quantize"), outcome.count("dequantize"), outcome.count("max_pool2d")) == (0, 0, 1)


def test_no_max_pool_of_codes_that_fall_as_numbers_rise(harness: Harness) -> None:
    assert harness.unchanged(FoldQdq(), POOL.replace("[0.5]", "[-0.5]")).missed() == []


CONCAT = """(%x: tensor<4x8xui8>, %y: tensor<4x3xf32>)
    %s = ttc.constant() {value = #ttc.literal<[0.5], tensor<f32>>} : () -> tensor<f32>
    %z = ttc.constant() {value = #ttc.literal<[130], tensor<ui8>>} : () -> tensor<ui8>
    %0 = nn.dequantize(%x, %s, %z) : (tensor<4x8xui8>, tensor<f32>, tensor<ui8>) -> tensor<4x8xf32>
    %1 = nn.concat(%0, %y) {axis = 1} : (tensor<4x8xf32>, tensor<4x3xf32>) -> tensor<4x11xf32>
    %2 = nn.quantize(%1, %s, %z) : (tensor<4x11xf32>, tensor<f32>, tensor<ui8>) -> tensor<4x11xui8>
    return %2 : tensor<4x11xui8>"""


def test_operands_of_a_concat_are_quantized(harness: Harness) -> None:
    outcome = harness.numbers(FoldQdq(), CONCAT, tolerance=0)
    assert (outcome.count("quantize"), outcome.count("dequantize"), outcome.count("concat")) == (1, 0, 1)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("return %2 : tensor<4x11xui8>", "return %2, %1 : tensor<4x11xui8>, tensor<4x11xf32>"),
        ("quantize(%1, %s, %z) : (tensor<4x11xf32>, tensor<f32>", "quantize(%1, %t, %z) : (tensor<4x11xf32>, tensor<1x11xf32>"),
    ],
    ids=["a concat that others read", "a scale a column"],
)
def test_a_concat_that_is_quantized_as_it_is(harness: Harness, old: str, new: str) -> None:
    text = CONCAT.replace(old, new)
    text = text.replace("%0 =", '%t = ttc.constant() {value = #ttc.weight<"t", tensor<1x11xf32>>} : () -> tensor<1x11xf32>\n    %0 =')
    assert harness.unchanged(FoldQdq(), text, {"t": np.ones((1, 11), np.float32)}).missed() == []


def test_another_zero_is_no_pair(harness: Harness) -> None:
    text = VIEW.replace("%2 = nn.quantize(%1, %s, %z)", "%2 = nn.quantize(%1, %s, %y)")
    text = text.replace("%0 =", "%y = ttc.constant() {value = #ttc.literal<[4], tensor<i8>>} : () -> tensor<i8>\n    %0 =")
    assert harness.unchanged(FoldQdq(), text).missed() == []


def convolution(scale: str, weights: str, layout: str, image: str, result: str) -> str:
    """quantize(conv2d(dequantize(x), dequantize(w)) + b), padded, x with a zero of its own."""
    return f"""(%x: tensor<{image}xui8>)
    %s = ttc.constant() {{value = #ttc.weight<"s", tensor<1xf32>>}} : () -> tensor<1xf32>
    %t = ttc.constant() {{value = #ttc.weight<"t", {scale}>}} : () -> {scale}
    %u = ttc.constant() {{value = #ttc.weight<"u", tensor<f32>>}} : () -> tensor<f32>
    %z = ttc.constant() {{value = #ttc.literal<[128], tensor<ui8>>}} : () -> tensor<ui8>
    %n = ttc.constant() {{value = #ttc.literal<[0], tensor<i8>>}} : () -> tensor<i8>
    %w = ttc.constant() {{value = #ttc.weight<"w", tensor<{weights}xi8>>}} : () -> tensor<{weights}xi8>
    %b = ttc.constant() {{value = #ttc.weight<"b", tensor<3xf32>>}} : () -> tensor<3xf32>
    %0 = nn.dequantize(%x, %s, %z) : (tensor<{image}xui8>, tensor<1xf32>, tensor<ui8>) -> tensor<{image}xf32>
    %1 = nn.dequantize(%w, %t, %n) : (tensor<{weights}xi8>, {scale}, tensor<i8>) -> tensor<{weights}xf32>
    %2 = nn.conv2d(%0, %1, %b) {{dilations = [1, 1], groups = 1, layout = "{layout}", pads = [1, 1, 1, 1], strides = [2, 1]}}
        : (tensor<{image}xf32>, tensor<{weights}xf32>, tensor<3xf32>) -> tensor<{result}xf32>
    %3 = nn.quantize(%2, %u, %z) : (tensor<{result}xf32>, tensor<f32>, tensor<ui8>) -> tensor<{result}xui8>
    return %3 : tensor<{result}xui8>"""


NCHW = ((3, 2, 3, 3), "nchw", (1, 2, 7, 5), "1x3x4x5")
NHWC = ((3, 3, 2, 3), "nhwc", (1, 7, 5, 2), "1x4x5x3")
CONVOLUTIONS = [((), *NCHW), ((3, 1, 1, 1), *NCHW), ((3,), *NHWC), ((), *NHWC)]


@pytest.mark.parametrize(("scale", "weights", "layout", "image", "result"), CONVOLUTIONS)
def test_convolution_within_one_step(
    harness: Harness, scale: tuple[int, ...], weights: tuple[int, ...], layout: str, image: tuple[int, ...], result: str
) -> None:
    scales = f"tensor<{''.join(f'{n}x' for n in scale)}f32>"
    text = convolution(scales, "x".join(map(str, weights)), layout, "x".join(map(str, image)), result)
    given = values(scale, weights)
    outcome = harness.run(FoldQdq(), text, given)
    x = np.random.default_rng(6).integers(0, 256, image).astype(np.uint8)
    (found,), (wanted,) = (harness.evaluate(unit, [x]) for unit in (outcome.unit, harness.parse(text, given)))
    assert np.abs(found.astype(int) - wanted).max() <= 1
    assert len(np.unique(wanted)) > 10
    assert outcome.report.rewrites == {"fold-qdq": 1}
    assert f"-> tensor<{result}xi32>" in outcome.text


def test_scales_of_input_channels_are_missed(harness: Harness) -> None:
    text = convolution("tensor<1x2x1x1xf32>", "3x2x3x3", "nchw", "1x2x7x5", "1x3x4x5")
    (message,) = harness.unchanged(FoldQdq(), text, values((1, 2, 1, 1), (3, 2, 3, 3))).missed()
    assert message == "operands are dequantized by scales that are not one number, or one an output of the weights"
