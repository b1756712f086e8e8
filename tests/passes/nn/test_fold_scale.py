"""Tests of the pass in passes/nn/fold_scale.py."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from ttc.passes.nn.fold_scale import FoldScale

if TYPE_CHECKING:
    from tests.passes.conftest import Harness


def test_docstring(harness: Harness) -> None:
    harness.docstring(FoldScale())


def constant(name: str, type_: str) -> str:
    return f'%{name} = ttc.constant() {{value = #ttc.weight<"{name}", {type_}>}} : () -> {type_}\n'


X, Y, IMAGE = "tensor<4x8xf32>", "tensor<4x3xf32>", "tensor<1x4x5x5xf32>"
HEAD = f"(%x: {X})\n" + constant("w", "tensor<8x3xf32>") + constant("b", "tensor<3xf32>") + constant("c", "tensor<1x1xf32>")
MATMUL = f"%0 = nn.matmul(%x, %w, %b) {{transpose_a = false, transpose_b = false}} : ({X}, tensor<8x3xf32>, tensor<3xf32>) -> {Y}\n"
CONV = f"""(%x: {IMAGE})
{constant("w", "tensor<6x2x1x1xf32>")}{constant("g", "tensor<6x1x1xf32>")}
%0 = nn.conv2d(%x, %w, _) {{dilations = [1, 1], groups = 2, layout = "nchw", pads = [0, 0, 0, 0], strides = [1, 1]}}
    : ({IMAGE}, tensor<6x2x1x1xf32>) -> tensor<1x6x5x5xf32>
%1 = nn.mul(%g, %0) : (tensor<6x1x1xf32>, tensor<1x6x5x5xf32>) -> tensor<1x6x5x5xf32>
return %1 : tensor<1x6x5x5xf32>"""
FORMS = {
    "a number": HEAD + MATMUL + f"%1 = nn.mul(%0, %c) : ({Y}, tensor<1x1xf32>) -> {Y}\nreturn %1 : {Y}",
    "a divisor": HEAD + MATMUL + f"%1 = nn.div(%0, %c) : ({Y}, tensor<1x1xf32>) -> {Y}\nreturn %1 : {Y}",
    "a channel": HEAD + MATMUL + f"%1 = nn.mul(%b, %0) : (tensor<3xf32>, {Y}) -> {Y}\nreturn %1 : {Y}",
    "before": HEAD + f"%s = nn.div(%x, %c) : ({X}, tensor<1x1xf32>) -> {X}\n" + MATMUL.replace("%x, %w", "%s, %w") + f"return %0 : {Y}",
    "channels first": CONV,
}


@pytest.mark.parametrize("text", FORMS.values(), ids=FORMS)
def test_forms(harness: Harness, text: str) -> None:
    outcome = harness.numbers(FoldScale(), text)
    (op,) = [op for op in outcome.unit.module.walk() if op.name in ("nn.matmul", "nn.conv2d")]
    assert op.parent is not None
    assert op.next_op is op.parent.last_op
    assert outcome.report.rewrites == {"fold-scale": 1}


OBSTACLES = {
    "readers": (MATMUL, "%0, %1", "nn.matmul before it has other readers"),
    "activation": (MATMUL.replace("{tr", '{activation = "relu", tr'), "%1", "nn.matmul before it has an activation"),
    "weights": (
        MATMUL + f"%u = nn.exp(%w) : (tensor<8x3xf32>) -> {Y}\n".replace("4x3", "8x3"),
        "%1, %u",
        "the weights of nn.matmul before it are used",
    ),
}


@pytest.mark.parametrize(("matmul", "results", "message"), OBSTACLES.values(), ids=OBSTACLES)
def test_missed(harness: Harness, matmul: str, results: str, message: str) -> None:
    types = {"%0, %1": f"{Y}, {Y}", "%1": Y, "%1, %u": f"{Y}, tensor<8x3xf32>"}[results]
    text = f"{HEAD}{matmul}%1 = nn.mul(%0, %c) : ({Y}, tensor<1x1xf32>) -> {Y}\nreturn {results} : {types}"
    (found,) = harness.unchanged(FoldScale(), text).missed()
    assert found.startswith(message)


def test_integers_stay(harness: Harness) -> None:
    text = FORMS["a divisor"].replace("f32", "i32")
    assert harness.unchanged(FoldScale(), text, {"c": np.full((1, 1), 2)}).missed() == []


def test_one_number_a_row_is_missed(harness: Harness) -> None:
    text = HEAD + constant("r", "tensor<4x1xf32>") + MATMUL + f"%1 = nn.mul(%0, %r) : ({Y}, tensor<4x1xf32>) -> {Y}\nreturn %1 : {Y}"
    assert harness.unchanged(FoldScale(), text).missed() == ["a constant of shape [4, 1] is not one number a channel of [4, 3]"]
