"""Tests of the pass in passes/nn/channels_last.py."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from xdsl.ir import Block, Operation

from ttc.dialects.nn.shape import TransposeOp
from ttc.passes.base import Watcher
from ttc.passes.nn.channels_last import ChannelsLast
from ttc.passes.nn.match import is_constant

if TYPE_CHECKING:
    from tests.passes.conftest import Harness, Outcome


def test_docstring(harness: Harness) -> None:
    harness.docstring(ChannelsLast())


Y = "tensor<2x4x6x6xf32>"
CONV = '{dilations = [1, 1], groups = 1, layout = "nchw", pads = [1, 1, 1, 1], strides = [1, 1]}'
WINDOW = 'dilations = [1, 1], kernel = [2, 2], layout = "nchw", pads = [0, 0, 0, 0], strides = [2, 2]'
HEAD = f"""(%x: tensor<2x3x6x6xf32>, %z: {Y})
    %w = ttc.constant() {{value = #ttc.weight<"w", tensor<4x3x3x3xf32>>}} : () -> tensor<4x3x3x3xf32>
    %k = ttc.constant() {{value = #ttc.weight<"k", tensor<4x4x3x3xf32>>}} : () -> tensor<4x4x3x3xf32>
    %c = ttc.constant() {{value = #ttc.weight<"c", tensor<4x1x1xf32>>}} : () -> tensor<4x1x1xf32>
    %s = ttc.constant() {{value = #ttc.literal<[2.0], tensor<f32>>}} : () -> tensor<f32>
    %g = ttc.constant() {{value = #ttc.weight<"g", tensor<4xf32>>}} : () -> tensor<4xf32>
    %f = ttc.constant() {{value = #ttc.weight<"f", tensor<144x5xf32>>}} : () -> tensor<144x5xf32>
    %t = ttc.constant() {{value = #ttc.weight<"t", tensor<5x144xf32>>}} : () -> tensor<5x144xf32>
    %y = nn.conv2d(%x, %w, %g) {CONV} : (tensor<2x3x6x6xf32>, tensor<4x3x3x3xf32>, tensor<4xf32>) -> {Y}
    """

THROUGH = {
    "relu": f"%r = nn.relu(%y) : ({Y}) -> {Y}",
    "channel factor": f"%r = nn.mul(%c, %y) : (tensor<4x1x1xf32>, {Y}) -> {Y}",
    "scalar": f"%r = nn.add(%y, %s) : ({Y}, tensor<f32>) -> {Y}",
    "residual": f"%r = nn.add(%y, %z) : ({Y}, {Y}) -> {Y}",
    "batch_norm": f"%r = nn.batch_norm(%y, %g, %g, %g, %g) {{axis = 1, eps = 0.5}}"
    f" : ({Y}, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> {Y}",
    "softmax over channels": f"%r = nn.softmax(%y) {{axis = 1}} : ({Y}) -> {Y}",
    "softmax over width": f"%r = nn.softmax(%y) {{axis = -1}} : ({Y}) -> {Y}",
    "keepdims": f"%q = nn.reduce_max(%y) {{axes = [-1, 2], keepdims = true}} : ({Y}) -> tensor<2x4x1x1xf32>\n"
    f"%r = nn.mul(%y, %q) : ({Y}, tensor<2x4x1x1xf32>) -> {Y}",
    "concat and slice": f"%q = nn.concat(%y, %z) {{axis = 1}} : ({Y}, {Y}) -> tensor<2x8x6x6xf32>\n"
    "%r = nn.slice(%q) {sizes = [2, 4, 6, 6], starts = [0, 1, 0, 0], steps = [1, 2, 1, 1]}"
    f" : (tensor<2x8x6x6xf32>) -> {Y}",
    "split": "%p, %q = nn.split(%y) {axis = 1, sizes = [1, 3]} : "
    f"({Y}) -> (tensor<2x1x6x6xf32>, tensor<2x3x6x6xf32>)\n"
    f"%r = nn.concat(%q, %p) {{axis = 1}} : (tensor<2x3x6x6xf32>, tensor<2x1x6x6xf32>) -> {Y}",
    "pad and pool": '%p = nn.pad(%y) {after = [0, 0, 2, 5], before = [0, 0, 4, 1], mode = "constant", value = -1.0}'
    f" : ({Y}) -> tensor<2x4x12x12xf32>\n"
    f"%r = nn.max_pool2d(%p) {{ceil_mode = false, {WINDOW}}} : (tensor<2x4x12x12xf32>) -> {Y}",
    "average": "%p = nn.concat(%y, %y) {axis = 2}"
    f" : ({Y}, {Y}) -> tensor<2x4x12x6xf32>\n%q = nn.concat(%p, %p) {{axis = 3}}"
    " : (tensor<2x4x12x6xf32>, tensor<2x4x12x6xf32>) -> tensor<2x4x12x12xf32>\n"
    f"%r = nn.avg_pool2d(%q) {{ceil_mode = false, count_include_pad = false, {WINDOW}}} : (tensor<2x4x12x12xf32>) -> {Y}",
}


def transposes(outcome: Outcome) -> int:
    """Transposes of values that are computed from inputs; those of inputs themselves apart."""
    found = [op.operands[0] for op in outcome.unit.module.walk() if isinstance(op, TransposeOp)]
    return sum(not is_constant(x) and not isinstance(x.owner, Block) for x in found)


@pytest.mark.parametrize("through", THROUGH)
def test_layout_is_carried_from_convolution_to_convolution(harness: Harness, through: str) -> None:
    text = f"{HEAD}{THROUGH[through]}\n%o = nn.conv2d(%r, %k, _) {CONV} : ({Y}, tensor<4x4x3x3xf32>) -> {Y}\nreturn %o : {Y}"
    outcome = harness.numbers(ChannelsLast(), text)
    assert transposes(outcome) == 1  # of the output
    assert outcome.text.count('layout = "nchw"') == 0


def test_transposed_convolution(harness: Harness) -> None:
    attrs = '{dilations = [1, 1], groups = 2, layout = "nchw", output_padding = [0, 0], pads = [0, 0, 0, 0], strides = [2, 2]}'
    text = f"""{HEAD}%u = ttc.constant() {{value = #ttc.weight<"u", tensor<4x3x2x2xf32>>}} : () -> tensor<4x3x2x2xf32>
        %o = nn.conv_transpose2d(%y, %u, _) {attrs} : ({Y}, tensor<4x3x2x2xf32>) -> tensor<2x6x12x12xf32>
        return %o : tensor<2x6x12x12xf32>"""
    assert transposes(harness.numbers(ChannelsLast(), text)) == 1


@pytest.mark.parametrize(
    "tail",
    [
        f"%r = nn.reduce_mean(%y) {{axes = [2, 3], keepdims = false}} : ({Y}) -> tensor<2x4xf32>\nreturn %r : tensor<2x4xf32>",
        f"%q = nn.reduce_mean(%y) {{axes = [2, 3], keepdims = true}} : ({Y}) -> tensor<2x4x1x1xf32>\n"
        "%r = nn.reshape(%q) {shape = [2, 4]} : (tensor<2x4x1x1xf32>) -> tensor<2x4xf32>\nreturn %r : tensor<2x4xf32>",
        f"%q = nn.reshape(%y) {{shape = [2, 4, 36]}} : ({Y}) -> tensor<2x4x36xf32>\n"
        "%r = nn.transpose(%q) {perm = [0, 2, 1]} : (tensor<2x4x36xf32>) -> tensor<2x36x4xf32>\nreturn %r : tensor<2x36x4xf32>",
        f"%r = nn.transpose(%y) {{perm = [0, 2, 3, 1]}} : ({Y}) -> tensor<2x6x6x4xf32>\nreturn %r : tensor<2x6x6x4xf32>",
        f"%q = nn.reshape(%y) {{shape = [2, 144]}} : ({Y}) -> tensor<2x144xf32>\n"
        "%a = nn.matmul(%q, %f, _) {transpose_a = false, transpose_b = false} : (tensor<2x144xf32>, tensor<144x5xf32>) -> tensor<2x5xf32>\n"
        "%b = nn.matmul(%q, %t, _) {transpose_a = false, transpose_b = true} : (tensor<2x144xf32>, tensor<5x144xf32>) -> tensor<2x5xf32>\n"
        "%r = nn.add(%a, %b) : (tensor<2x5xf32>, tensor<2x5xf32>) -> tensor<2x5xf32>\nreturn %r : tensor<2x5xf32>",
    ],
)
def test_ends_that_need_no_transpose(harness: Harness, tail: str) -> None:
    assert transposes(harness.numbers(ChannelsLast(), HEAD + tail)) == 0


@pytest.mark.parametrize(
    "tail",
    [
        f"%r = nn.reshape(%y) {{shape = [2, 144]}} : ({Y}) -> tensor<2x144xf32>\nreturn %r : tensor<2x144xf32>",
        f"%r = nn.reduce_sum(%y) {{axes = [0], keepdims = false}} : ({Y}) -> tensor<4x6x6xf32>\nreturn %r : tensor<4x6x6xf32>",
        f"%p = nn.reshape(%y) {{shape = [8, 6, 6]}} : ({Y}) -> tensor<8x6x6xf32>\n"
        f"%r = nn.layer_norm(%y, _, _) {{axis = 3, eps = 0.5}} : ({Y}) -> {Y}\nreturn %p, %r : tensor<8x6x6xf32>, {Y}",
    ],
)
def test_other_ops_read_one_transpose_back(harness: Harness, tail: str) -> None:
    outcome = harness.numbers(ChannelsLast(), HEAD + tail)
    assert transposes(outcome) == 1
    assert len(outcome.missed()) == 1


def test_weights_that_are_computed(harness: Harness) -> None:
    text = f"""{HEAD}%q = nn.slice(%y) {{sizes = [2, 4, 3, 3], starts = [0, 0, 0, 0], steps = [1, 1, 1, 1]}} : ({Y}) -> tensor<2x4x3x3xf32>
        %r = nn.conv2d(%y, %q, _) {CONV} : ({Y}, tensor<2x4x3x3xf32>) -> tensor<2x2x6x6xf32>
        return %r : tensor<2x2x6x6xf32>"""
    assert harness.numbers(ChannelsLast(), text).text.count('layout = "nchw"') == 0


def test_without_convolutions_nothing_changes(harness: Harness) -> None:
    harness.unchanged(ChannelsLast(), f"(%x: {Y})\n%0 = nn.relu(%x) : ({Y}) -> {Y}\nreturn %0 : {Y}")


def test_instruments_can_keep_one_convolution_as_it_is(harness: Harness) -> None:
    class RefuseSecond(Watcher):
        seen = 0

        def rewrite(self, name: str, op: Operation) -> bool:
            self.seen += op.name == "nn.conv2d"
            return op.name != "nn.conv2d" or self.seen == 1

    text = f"{HEAD}%o = nn.conv2d(%y, %k, _) {CONV} : ({Y}, tensor<4x4x3x3xf32>) -> {Y}\nreturn %o : {Y}"
    outcome = harness.run(ChannelsLast(), text, instruments=[RefuseSecond()])
    harness.check_numbers(harness.parse(text), outcome.unit)
    assert (outcome.text.count('"nchw"'), outcome.text.count('"nhwc"'), transposes(outcome)) == (1, 1, 1)
