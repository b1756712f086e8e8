"""Tests of the pass in passes/nn/recognize_rotary.py."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ttc.passes.nn.match import attr
from ttc.passes.nn.recognize_rotary import RecognizeRotary

if TYPE_CHECKING:
    from tests.passes.conftest import Harness


def test_docstring(harness: Harness) -> None:
    harness.docstring(RecognizeRotary())


X, HALF, WIDE = "tensor<2x3x5x8xf32>", "tensor<2x3x5x4xf32>", "tensor<2x3x5x4x1xf32>"
ARGUMENTS = f"(%x: {X}, %c: tensor<1x1x5x8xf32>, %s: tensor<5x8xf32>)\n"
SPLIT = f"%a, %b = nn.split(%x) {{axis = 3, sizes = [4, 4]}} : ({X}) -> ({HALF}, {HALF})\n"


def sliced(name: str, start: int, step: int) -> str:
    return f"%{name} = nn.slice(%x) {{sizes = [2, 3, 5, 4], starts = [0, 0, 0, {start}], steps = [1, 1, 1, {step}]}} : ({X}) -> {HALF}\n"


ROTATED = f"""%n = nn.neg(%b) : ({HALF}) -> {HALF}
    %r = nn.concat(%n, %a) {{axis = -1}} : ({HALF}, {HALF}) -> {X}
    """
INTERLEAVED = f"""%n = nn.neg(%b) : ({HALF}) -> {HALF}
    %n1 = nn.reshape(%n) {{shape = [2, 3, 5, 4, 1]}} : ({HALF}) -> {WIDE}
    %a1 = nn.reshape(%a) {{shape = [2, 3, 5, 4, 1]}} : ({HALF}) -> {WIDE}
    %p = nn.concat(%n1, %a1) {{axis = 4}} : ({WIDE}, {WIDE}) -> tensor<2x3x5x4x2xf32>
    %r = nn.reshape(%p) {{shape = [2, 3, 5, 8]}} : (tensor<2x3x5x4x2xf32>) -> {X}
    """
SUM = f"""%0 = nn.mul(%s, %r) : (tensor<5x8xf32>, {X}) -> {X}
    %1 = nn.mul(%x, %c) : ({X}, tensor<1x1x5x8xf32>) -> {X}
    %2 = nn.add(%0, %1) : ({X}, {X}) -> {X}
    return %2 : {X}"""


@pytest.mark.parametrize(
    ("text", "interleaved"),
    [
        (sliced("a", 0, 1) + sliced("b", 4, 1) + ROTATED, False),
        (SPLIT + ROTATED, False),
        (sliced("a", 0, 2) + sliced("b", 1, 2) + INTERLEAVED, True),
    ],
)
def test_forms(harness: Harness, text: str, interleaved: bool) -> None:
    outcome = harness.numbers(RecognizeRotary(), ARGUMENTS + text + SUM, tolerance=1e-6)
    (rotary,) = [op for op in outcome.unit.module.walk() if op.name == "nn.rotary_embedding"]
    assert attr(rotary, "interleaved") is interleaved
    assert outcome.count("concat") == outcome.count("mul") == 0


def test_halves_apart(harness: Harness) -> None:
    table, product = "tensor<5x4xf32>", f"tensor<5x4xf32>) -> {HALF}"
    text = f"""(%x: {X}, %c: {table}, %s: {table})
    {SPLIT}
    %0 = nn.mul(%a, %c) : ({HALF}, {product}
    %1 = nn.mul(%b, %s) : ({HALF}, {product}
    %2 = nn.sub(%0, %1) : ({HALF}, {HALF}) -> {HALF}
    %3 = nn.mul(%b, %c) : ({HALF}, {product}
    %4 = nn.mul(%s, %a) : ({table}, {HALF}) -> {HALF}
    %5 = nn.add(%3, %4) : ({HALF}, {HALF}) -> {HALF}
    %6 = nn.concat(%2, %5) {{axis = 3}} : ({HALF}, {HALF}) -> {X}
    return %6 : {X}"""
    outcome = harness.numbers(RecognizeRotary(), text, tolerance=1e-6)
    assert (outcome.count("rotary_embedding"), outcome.count("concat"), outcome.count("mul")) == (1, 2, 0)
    crossed = text.replace("nn.mul(%s, %a)", "nn.mul(%c, %a)")
    assert harness.unchanged(RecognizeRotary(), crossed).count("rotary_embedding") == 0


def test_a_sum_with_something_else_is_missed(harness: Harness) -> None:
    text = ARGUMENTS.replace("(%x", f"(%z: {X}, %x") + SPLIT + ROTATED + SUM.replace("nn.mul(%x, %c)", "nn.mul(%z, %c)")
    assert harness.unchanged(RecognizeRotary(), text).missed() == ["a rotated value is no part of a rotary embedding"]


def test_integers_stay(harness: Harness) -> None:
    harness.unchanged(RecognizeRotary(), (ARGUMENTS + SPLIT + ROTATED + SUM).replace("f32", "i32"))


@pytest.mark.parametrize("order", ["(%a, %n)", "(%n, %b)"])
def test_other_halves_are_no_rotation(harness: Harness, order: str) -> None:
    text = ARGUMENTS + SPLIT + ROTATED.replace("(%n, %a)", order) + SUM
    assert harness.unchanged(RecognizeRotary(), text).count("rotary_embedding") == 0
