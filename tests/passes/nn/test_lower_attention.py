"""Tests of the pass in passes/nn/lower_attention.py."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ttc.passes.nn.lower_attention import LowerAttention

if TYPE_CHECKING:
    from tests.passes.conftest import Harness


def test_docstring(harness: Harness) -> None:
    outcome = harness.docstring(LowerAttention())
    assert len(outcome.remarks) == 1


def forward(rows: int, mask: str = "_", *, zero_masked: bool) -> str:
    q = f"tensor<2x{rows}x8xf32>"
    given = f"%m: tensor<{rows}x{rows}xf32>"
    types = f"({q}, {q}, {q}{'' if mask == '_' else f', tensor<{rows}x{rows}xf32>'})"
    return f"""(%q: {q}, {given})
    %0, %1 = nn.attention_training(%q, %q, %q, {mask}) {{scale = 0.5, zero_masked = {str(zero_masked).lower()}}}
        : {types} -> ({q}, tensor<2x{rows}xf32>)
    return %0, %1 : {q}, tensor<2x{rows}xf32>"""


@pytest.mark.parametrize("zero_masked", [False, True])
@pytest.mark.parametrize("mask", ["_", "%m"])
def test_sums_are_written_out(harness: Harness, mask: str, zero_masked: bool) -> None:
    outcome = harness.numbers(LowerAttention(), forward(5, mask, zero_masked=zero_masked))
    assert [outcome.count(name) for name in ("attention_training", "attention", "log")] == [0, 1, 1]


def backward(rows: int, dtype: str = "f32") -> str:
    q, k = f"tensor<2x{rows}x8x{dtype}>", f"tensor<1x7x8x{dtype}>"
    results = f"{q}, tensor<2x7x8x{dtype}>, tensor<2x7x8x{dtype}>"
    return f"""(%q: {q}, %k: {k}, %s: tensor<2x{rows}xf32>, %m: tensor<7x{dtype}>)
    %0, %1, %2 = nn.attention_gradient(%q, %k, %k, %q, %s, %q, %m) {{scale = 0.5}}
        : ({q}, {k}, {k}, {q}, tensor<2x{rows}xf32>, {q}, tensor<7x{dtype}>) -> ({results})
    return %0, %1, %2 : {results}"""


@pytest.mark.parametrize(("dtype", "tolerance"), [("f32", 1e-4), ("f16", 1e-2)])
def test_gradients_are_written_out(harness: Harness, dtype: str, tolerance: float) -> None:
    outcome = harness.numbers(LowerAttention(), backward(5, dtype), tolerance=tolerance)
    assert [outcome.count(name) for name in ("attention_gradient", "matmul")] == [0, 5]
    (remark,) = outcome.remarks
    assert remark.message == "the gradient of attention has the matrix of scores: it has 35 elements, fewer than 1,024"


def test_long_sequences_stay_one_op(harness: Harness) -> None:
    outcome = harness.numbers(LowerAttention(), backward(200))
    assert outcome.missed() == ["the gradient of attention computes scores again, part by part"]
    outcome = harness.run(LowerAttention(), forward(40, zero_masked=True))
    assert outcome.missed() == ["attention gives the logarithms of its sums, for a gradient without the matrix of scores"]
    assert not outcome.report.rewrites
