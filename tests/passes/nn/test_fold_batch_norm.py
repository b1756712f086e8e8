"""Tests of the pass in passes/nn/fold_batch_norm.py."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from xdsl.ir import Operation

from ttc.passes.nn.fold_batch_norm import FoldBatchNorm

if TYPE_CHECKING:
    from tests.passes.conftest import Harness


def test_docstring(harness: Harness) -> None:
    harness.docstring(FoldBatchNorm())


STATISTICS = "\n".join(
    f'%{name} = ttc.param() {{sym = "{name}", value = #ttc.weight<"{name}", tensor<4xf32>>}} : () -> tensor<4xf32>' for name in "gbmv"
)
NORM = "%n = nn.batch_norm(%1, %g, %b, %m, %v) {{axis = {axis}, eps = 0.01}}"
NORM += " : (tensor<{y}xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<{y}xf32>"


def fragment(
    op: str, x: str, w: str, y: str, *, axis: int = 1, old: bool = False, computed: bool = False, end: str = "return %n : {y}"
) -> str:
    """An op over weights w, then a batch_norm; `old`: the op has a bias; `computed`: the weights are an argument."""
    weights = "" if computed else f'%w = ttc.param() {{sym = "w", value = #ttc.weight<"w", tensor<{w}xf32>>}} : () -> tensor<{w}xf32>'
    argument = f", %w: tensor<{w}xf32>" if computed else ""
    name, attrs = op.split(" ", 1)
    bias, bias_type = ("%o", ", tensor<4xf32>") if old else ("_", "")
    return f"""(%x: tensor<{x}xf32>{argument})
        {weights}
        %o = ttc.constant() {{value = #ttc.weight<"o", tensor<4xf32>>}} : () -> tensor<4xf32>
        {STATISTICS}
        %1 = nn.{name}(%x, %w, {bias}) {{{attrs}}} : (tensor<{x}xf32>, tensor<{w}xf32>{bias_type}) -> tensor<{y}xf32>
        {NORM.format(axis=axis, y=y)}
        {end.format(y=f"tensor<{y}xf32>")}"""


def conv(layout: str, groups: int, more: str = "") -> str:
    return f'conv2d {more}dilations = [1, 1], groups = {groups}, layout = "{layout}", pads = [1, 1, 1, 1], strides = [1, 1]'


def conv_transpose(layout: str, groups: int) -> str:
    return (
        f'conv_transpose2d dilations = [1, 1], groups = {groups}, layout = "{layout}", output_padding = [0, 0], '
        "pads = [0, 0, 0, 0], strides = [2, 2]"
    )


MATMUL = "matmul transpose_a = false, transpose_b = {b}"
CASES = [
    (conv("nchw", 1), "2x6x5x5", "4x6x3x3", "2x4x5x5", 1),
    (conv("nchw", 2), "2x6x5x5", "4x3x3x3", "2x4x5x5", 1),
    (conv("nhwc", 2), "2x5x5x6", "3x3x3x4", "2x5x5x4", 3),
    (conv_transpose("nchw", 1), "2x6x5x5", "6x4x2x2", "2x4x10x10", 1),
    (conv_transpose("nchw", 2), "2x6x5x5", "6x2x2x2", "2x4x10x10", 1),
    (conv_transpose("nhwc", 1), "2x5x5x6", "2x2x4x6", "2x10x10x4", 3),
    (conv_transpose("nhwc", 2), "2x5x5x6", "2x2x2x6", "2x10x10x4", 3),
    (MATMUL.format(b="false"), "5x6", "6x4", "5x4", 1),
    (MATMUL.format(b="true"), "5x6", "4x6", "5x4", 1),
]


@pytest.mark.parametrize(("op", "x", "w", "y", "axis"), CASES)
@pytest.mark.parametrize("old", [False, True])
def test_weights_take_the_norm(harness: Harness, op: str, x: str, w: str, y: str, axis: int, old: bool) -> None:
    outcome = harness.numbers(FoldBatchNorm(), fragment(op, x, w, y, axis=axis, old=old))
    assert outcome.count("batch_norm") == 0
    assert outcome.missed() == []
    (returned,) = [o for o in outcome.unit.module.walk() if o.name == "func.return"]
    producer = returned.operands[0].owner
    assert isinstance(producer, Operation)
    assert producer.name == f"nn.{op.split(' ')[0]}"


@pytest.mark.parametrize(
    ("more", "axis", "computed", "end", "reason"),
    [
        ("", 1, True, "return %n : {y}", "nn.conv2d before it has computed weights"),
        ("", 2, False, "return %n : {y}", "nn.conv2d before it has its channels along another axis"),
        ("", 1, False, "return %n, %1 : {y}, {y}", "nn.conv2d before it has other users"),
        ('activation = "relu", ', 1, False, "return %n : {y}", "nn.conv2d before it has an activation"),
    ],
)
def test_missed(harness: Harness, more: str, axis: int, computed: bool, end: str, reason: str) -> None:
    text = fragment(conv("nchw", 1, more), "2x6x4x4", "4x6x3x3", "2x4x4x4", axis=axis, computed=computed, end=end)
    outcome = harness.numbers(FoldBatchNorm(), text)
    assert outcome.missed() == [f"{reason}, so the batch_norm becomes mul and add"]
    assert outcome.count("batch_norm") == 0


def test_computed_statistics_are_subtracted_first(harness: Harness) -> None:
    outcome = harness.numbers(
        FoldBatchNorm(),
        """(%x: tensor<2x3x4xf32>, %s: tensor<3xf32>)
        %v = nn.abs(%s) : (tensor<3xf32>) -> tensor<3xf32>
        %1 = nn.batch_norm(%x, %s, %s, %s, %v) {axis = 1, eps = 4.0}
            : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3x4xf32>
        return %1 : tensor<2x3x4xf32>""",
    )
    assert [outcome.count(name) for name in ("batch_norm", "sub", "mul")] == [0, 1, 1]
    assert outcome.missed() == ["the statistics are not constant, so the batch_norm becomes sub, mul and add"]
