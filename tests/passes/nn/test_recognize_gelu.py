"""Tests of the pass in passes/nn/recognize_gelu.py."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ttc.passes.nn.match import attr
from ttc.passes.nn.recognize_gelu import RecognizeGelu

if TYPE_CHECKING:
    from tests.passes.conftest import Harness


def test_docstring(harness: Harness) -> None:
    harness.docstring(RecognizeGelu())


def constant(name: str, value: float) -> str:
    return f"%{name} = ttc.constant() {{value = #ttc.literal<[{value}], tensor<f32>>}} : () -> tensor<f32>"


def binary(result: str, op: str, a: str, b: str) -> str:
    """An op on tensors of 4 and scalars, whose names are upper case."""
    types = ", ".join("tensor<f32>" if x.isupper() else "tensor<4xf32>" for x in (a, b))
    return f"%{result} = nn.{op}(%{a}, %{b}) : ({types}) -> tensor<4xf32>"


def unary(result: str, op: str, a: str) -> str:
    return f"%{result} = nn.{op}(%{a}) : (tensor<4xf32>) -> tensor<4xf32>"


def fragment(*lines: str, result: str) -> str:
    numbers = {"R": 1.4142135, "I": 0.70710677, "ONE": 1.0, "H": 0.5, "TWO": 2.0, "THREE": 3.0, "C": 0.044715, "S": 0.7978846}
    constants = [constant(name, value) for name, value in numbers.items()]
    return "\n".join(["(%x: tensor<4xf32>)", *constants, *lines, f"return %{result} : tensor<4xf32>"])


ERF = [binary("a", "mul", "I", "x"), unary("e", "erf", "a"), binary("p", "add", "ONE", "e")]
CUBES = {
    "pow": [binary("cube", "pow", "x", "THREE")],
    "square first": [binary("sq", "mul", "x", "x"), binary("cube", "mul", "sq", "x")],
    "square last": [binary("sq", "mul", "x", "x"), binary("cube", "mul", "x", "sq")],
}
TAILS = {
    "half with x": [binary("h", "mul", "x", "H"), binary("y", "mul", "h", "p")],
    "half last": [binary("h", "mul", "p", "x"), binary("y", "mul", "H", "h")],
    "half first": [binary("h", "mul", "H", "p"), binary("y", "mul", "x", "h")],
    "divided last": [binary("h", "mul", "x", "p"), binary("y", "div", "h", "TWO")],
    "divided x": [binary("h", "div", "x", "TWO"), binary("y", "mul", "p", "h")],
}


@pytest.mark.parametrize("tail", TAILS)
def test_erf_form(harness: Harness, tail: str) -> None:
    outcome = harness.numbers(RecognizeGelu(), fragment(*ERF, *TAILS[tail], result="y"))
    (gelu,) = [op for op in outcome.unit.module.walk() if op.name == "nn.gelu"]
    assert attr(gelu, "approximate") == "none"
    assert outcome.count("erf") == outcome.count("mul") == outcome.count("div") == 0


@pytest.mark.parametrize("cube", CUBES)
@pytest.mark.parametrize("tail", TAILS)
def test_tanh_form(harness: Harness, cube: str, tail: str) -> None:
    inner = [binary("k", "mul", "C", "cube"), binary("s", "add", "x", "k"), binary("a", "mul", "s", "S"), unary("t", "tanh", "a")]
    outcome = harness.numbers(RecognizeGelu(), fragment(*CUBES[cube], *inner, binary("p", "add", "t", "ONE"), *TAILS[tail], result="y"))
    (gelu,) = [op for op in outcome.unit.module.walk() if op.name == "nn.gelu"]
    assert attr(gelu, "approximate") == "tanh"
    assert outcome.count("tanh") == outcome.count("mul") == outcome.count("pow") == 0


def test_factored_tanh_form(harness: Harness) -> None:
    lines = [
        binary("sx", "mul", "x", "S"),
        binary("cx", "mul", "C", "x"),
        binary("cxx", "mul", "cx", "x"),
        binary("q", "add", "cxx", "ONE"),
        binary("a", "mul", "sx", "q"),
        unary("t", "tanh", "a"),
        binary("p", "add", "t", "ONE"),
    ]
    assert harness.numbers(RecognizeGelu(), fragment(*lines, *TAILS["half with x"], result="y")).count("gelu") == 1


def test_missed(harness: Harness) -> None:
    other = [binary("a", "mul", "H", "x"), *ERF[1:], *TAILS["half last"]]
    outcome = harness.unchanged(RecognizeGelu(), fragment(*other, result="y"))
    assert outcome.missed() == ["1 + nn.erf is no part of a gelu that has no other users"]
