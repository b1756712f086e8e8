"""Tests of the pass in passes/nn/recognize_swish.py."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ttc.passes.nn.recognize_swish import RecognizeSwish

if TYPE_CHECKING:
    from tests.passes.conftest import Harness


def test_docstring(harness: Harness) -> None:
    harness.docstring(RecognizeSwish())


NUMBERS = {"three": 3.0, "six": 6.0, "sixth": 0.16666667, "half": 0.5}
HEAD = "(%x: tensor<4xf32>, %z: tensor<4xf32>)\n" + "".join(
    f"%{name} = ttc.constant() {{value = #ttc.literal<[{value}], tensor<f32>>}} : () -> tensor<f32>\n" for name, value in NUMBERS.items()
)


def binary(name: str, op: str, a: str, b: str) -> str:
    types = ["tensor<f32>" if v in NUMBERS else "tensor<4xf32>" for v in (a, b)]
    return f"%{name} = nn.{op}(%{a}, %{b}) : ({', '.join(types)}) -> tensor<4xf32>\n"


def unary(name: str, text: str) -> str:
    return f"%{name} = nn.{text} : (tensor<4xf32>) -> tensor<4xf32>\n"


RELU6 = binary("0", "add", "x", "three") + unary("1", "clip(%0) {max = 6.0, min = 0.0}")
FORMS = {
    "silu": (unary("1", "sigmoid(%x)") + binary("y", "mul", "x", "1"), "silu"),
    "silu, gate first": (unary("1", "sigmoid(%x)") + binary("y", "mul", "1", "x"), "silu"),
    "hard sigmoid": (unary("1", "hard_sigmoid(%x) {alpha = 0.16666667, beta = 0.5}") + binary("y", "mul", "x", "1"), "hard_swish"),
    "divided before": (RELU6 + binary("2", "div", "1", "six") + binary("y", "mul", "2", "x"), "hard_swish"),
    "x divided": (RELU6 + binary("2", "mul", "x", "sixth") + binary("y", "mul", "2", "1"), "hard_swish"),
    "multiplied after": (RELU6 + binary("2", "mul", "1", "x") + binary("y", "mul", "sixth", "2"), "hard_swish"),
    "clipped to one": (
        binary("s", "mul", "x", "sixth")
        + binary("0", "add", "s", "half")
        + unary("1", "clip(%0) {max = 1.0, min = 0.0}")
        + binary("y", "mul", "x", "1"),
        "hard_swish",
    ),
}


@pytest.mark.parametrize(("text", "kind"), FORMS.values(), ids=FORMS)
def test_forms(harness: Harness, text: str, kind: str) -> None:
    outcome = harness.numbers(RecognizeSwish(), f"{HEAD}{text}return %y : tensor<4xf32>")
    assert outcome.count(kind) == 1
    assert outcome.count("mul") == outcome.count("clip") == outcome.count("sigmoid") == outcome.count("hard_sigmoid") == 0


OTHERS = {
    "gate of something else": unary("1", "sigmoid(%x)") + binary("y", "mul", "z", "1"),
    "other slope": unary("1", "hard_sigmoid(%x) {alpha = 0.2, beta = 0.5}") + binary("y", "mul", "x", "1"),
    "scaled argument": binary("0", "mul", "x", "half") + unary("1", "sigmoid(%0)") + binary("y", "mul", "x", "1"),
}


@pytest.mark.parametrize("text", OTHERS.values(), ids=OTHERS)
def test_others_stay(harness: Harness, text: str) -> None:
    assert harness.unchanged(RecognizeSwish(), f"{HEAD}{text}return %y : tensor<4xf32>").missed() == []


def test_integers_stay(harness: Harness) -> None:
    text = RELU6 + binary("y", "mul", "x", "1")
    whole = f"{HEAD}{text}return %y : tensor<4xf32>".replace("[0.16666667]", "[1]").replace("[0.5]", "[1]").replace("f32", "i32")
    harness.unchanged(RecognizeSwish(), whole.replace("[3.0]", "[3]").replace("[6.0]", "[6]"))


def test_missed(harness: Harness) -> None:
    text = f"{HEAD}{RELU6}{binary('2', 'mul', '1', 'z')}{binary('y', 'div', '2', 'six')}return %y : tensor<4xf32>"
    message = "nn.clip gates something else than its operand, or has other readers"
    assert harness.unchanged(RecognizeSwish(), text).missed() == [message]
