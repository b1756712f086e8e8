"""Tests of the pass in passes/nn/fuse_activation.py."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ttc.passes.nn.fuse_activation import FuseActivation
from ttc.passes.nn.match import attr

if TYPE_CHECKING:
    from tests.passes.conftest import Harness


def test_docstring(harness: Harness) -> None:
    harness.docstring(FuseActivation())


def fragment(activation: str, *, extra: str = "", used: bool = False) -> str:
    """A matmul and an activation; `extra`: attributes of the matmul; `used`: its result is used elsewhere."""
    more, types = (", %1", ", tensor<4x3xf32>") if used else ("", "")
    return f"""(%x: tensor<4x8xf32>, %w: tensor<8x3xf32>, %b: tensor<3xf32>)
        %1 = nn.matmul(%x, %w, %b) {{{extra}transpose_a = false, transpose_b = false}}
            : (tensor<4x8xf32>, tensor<8x3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
        %2 = nn.{activation} : (tensor<4x3xf32>) -> tensor<4x3xf32>
        return %2{more} : tensor<4x3xf32>{types}"""


@pytest.mark.parametrize(
    ("text", "name", "args"),
    [
        ("relu(%1)", "relu", None),
        ("sigmoid(%1)", "sigmoid", None),
        ("tanh(%1)", "tanh", None),
        ("silu(%1)", "silu", None),
        ("hard_swish(%1)", "hard_swish", None),
        ('gelu(%1) {approximate = "none"}', "gelu", None),
        ('gelu(%1) {approximate = "tanh"}', "gelu_tanh", None),
        ("hard_sigmoid(%1) {alpha = 0.25, beta = 0.5}", "hard_sigmoid", (0.25, 0.5)),
        ("elu(%1) {alpha = 0.5}", "elu", (0.5,)),
        ("clip(%1) {max = 6.0, min = 0.0}", "clip", (0.0, 6.0)),
        ("clip(%1) {max = 1.0}", "clip", (float("-inf"), 1.0)),
        ("clip(%1) {min = -1.0}", "clip", (-1.0, float("inf"))),
    ],
)
def test_activations(harness: Harness, text: str, name: str, args: tuple[float, ...] | None) -> None:
    outcome = harness.numbers(FuseActivation(), fragment(text))
    (matmul,) = [op for op in outcome.unit.module.walk() if op.name == "nn.matmul"]
    assert (attr(matmul, "activation"), attr(matmul, "activation_args")) == (name, args)
    assert outcome.count(text.partition("(")[0]) == 0


@pytest.mark.parametrize(
    ("text", "extra", "used", "message"),
    [
        ("relu(%1)", "", True, "nn.matmul before it has other users, so relu stays an op"),
        ("relu(%1)", 'activation = "tanh", ', False, "nn.matmul before it has the activation tanh already"),
    ],
)
def test_missed(harness: Harness, text: str, extra: str, used: bool, message: str) -> None:
    assert harness.unchanged(FuseActivation(), fragment(text, extra=extra, used=used)).missed() == [message]


def test_through_views(harness: Harness) -> None:
    text = """(%x: tensor<4x8xf32>, %w: tensor<8x3xf32>)
        %1 = nn.matmul(%x, %w, _) {transpose_a = false, transpose_b = false} : (tensor<4x8xf32>, tensor<8x3xf32>) -> tensor<4x3xf32>
        %2 = nn.transpose(%1) {perm = [1, 0]} : (tensor<4x3xf32>) -> tensor<3x4xf32>
        %3 = nn.reshape(%2) {shape = [3, 2, 2]} : (tensor<3x4xf32>) -> tensor<3x2x2xf32>
        %4 = nn.relu(%3) : (tensor<3x2x2xf32>) -> tensor<3x2x2xf32>
        return %4 : tensor<3x2x2xf32>"""
    outcome = harness.numbers(FuseActivation(), text)
    assert (outcome.count("relu"), outcome.count("matmul"), outcome.count("transpose"), outcome.count("reshape")) == (0, 1, 1, 1)
    assert 'activation = "relu"' in outcome.text
