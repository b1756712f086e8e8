"""Tests of the pass in passes/nn/simplify_algebra.py."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ttc.passes.nn.simplify_algebra import SimplifyAlgebra

if TYPE_CHECKING:
    from tests.passes.conftest import Harness


def test_docstring(harness: Harness) -> None:
    harness.docstring(SimplifyAlgebra())


def number(value: float) -> str:
    return repr(value).replace("1e", "1.0e")


def chain(first: str, second: str, a: float, b: float) -> str:
    return f"""(%x: tensor<4xf32>)
    %a = ttc.constant() {{value = #ttc.literal<[{number(a)}], tensor<f32>>}} : () -> tensor<f32>
    %b = ttc.constant() {{value = #ttc.literal<[{number(b)}], tensor<f32>>}} : () -> tensor<f32>
    %0 = nn.{first}(%x, %a) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
    %1 = nn.{second}(%0, %b) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
    return %1 : tensor<4xf32>"""


@pytest.mark.parametrize(("first", "second", "a", "b"), [("mul", "mul", 3.0, 0.5), ("mul", "div", 3.0, 4.0), ("add", "add", 3.0, 2.0)])
def test_constants_combine(harness: Harness, first: str, second: str, a: float, b: float) -> None:
    outcome = harness.numbers(SimplifyAlgebra(), chain(first, second, a, b), tolerance=1e-6)
    assert outcome.report.rewrites["combine-constants"] == 1
    assert outcome.text.count("(tensor<4xf32>, tensor<f32>)") == 1


@pytest.mark.parametrize(("kind", "a", "b"), [("add", 12582912.0, -12582912.0), ("mul", 1e-20, 1e20), ("mul", 1e30, 1e30)])
def test_digits_are_kept(harness: Harness, kind: str, a: float, b: float) -> None:
    message = f"constants of two nn.{kind} are not combined: the result would lose digits"
    assert harness.unchanged(SimplifyAlgebra(), chain(kind, kind, a, b)).missed() == [message]


def test_division(harness: Harness) -> None:
    text = chain("exp_", "div", 1.0, 3.0).replace("nn.exp_(%x, %a) : (tensor<4xf32>, tensor<f32>)", "nn.exp(%x) : (tensor<4xf32>)")
    assert harness.unchanged(SimplifyAlgebra(), text).missed() == ["dividing by 3 is not multiplying by a number exactly"]
    assert harness.numbers(SimplifyAlgebra(exact_division=False), text, tolerance=1e-6).count("div") == 0


def test_integers_stay(harness: Harness) -> None:
    text = chain("sub", "sub", 3.0, 2.0).replace("f32", "i32").replace("3.0", "3").replace("2.0", "2")
    harness.unchanged(SimplifyAlgebra(), text)


def test_a_value_read_elsewhere_stays(harness: Harness) -> None:
    text = chain("add", "add", 3.0, 2.0).replace("return %1 : tensor<4xf32>", "return %0, %1 : tensor<4xf32>, tensor<4xf32>")
    harness.unchanged(SimplifyAlgebra(), text)
