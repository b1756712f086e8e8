"""Tests of the pass in passes/nn/fold_transpose.py."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ttc.passes.nn.fold_transpose import FoldTranspose
from ttc.passes.nn.match import attr

if TYPE_CHECKING:
    from tests.passes.conftest import Harness


def test_docstring(harness: Harness) -> None:
    harness.docstring(FoldTranspose())


def fragment(perm: str, turned: str, flags: tuple[str, str]) -> str:
    """A batched matmul whose second operand y[2, 8, 3] is transposed to `turned`."""
    a, b = flags
    x = "2x8x4" if a == "true" else "2x4x8"
    return f"""(%x: tensor<{x}xf32>, %y: tensor<2x3x8xf32>)
        %1 = nn.transpose(%y) {{perm = {perm}}} : (tensor<2x3x8xf32>) -> tensor<{turned}xf32>
        %2 = nn.matmul(%x, %1, _) {{transpose_a = {a}, transpose_b = {b}}} : (tensor<{x}xf32>, tensor<{turned}xf32>) -> tensor<2x4x3xf32>
        return %2 : tensor<2x4x3xf32>"""


@pytest.mark.parametrize("a", ["false", "true"])
def test_flags_are_flipped(harness: Harness, a: str) -> None:
    outcome = harness.numbers(FoldTranspose(), fragment("[0, 2, 1]", "2x8x3", (a, "false")))
    (matmul,) = [op for op in outcome.unit.module.walk() if op.name == "nn.matmul"]
    assert (attr(matmul, "transpose_a"), attr(matmul, "transpose_b")) == (a == "true", True)
    assert outcome.count("transpose") == 0


def test_one_transpose_on_both_sides(harness: Harness) -> None:
    outcome = harness.numbers(
        FoldTranspose(),
        """(%x: tensor<4x4xf32>)
        %1 = nn.transpose(%x) {perm = [1, 0]} : (tensor<4x4xf32>) -> tensor<4x4xf32>
        %2 = nn.matmul(%1, %1, _) {transpose_a = false, transpose_b = true} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
        return %2 : tensor<4x4xf32>""",
    )
    (matmul,) = [op for op in outcome.unit.module.walk() if op.name == "nn.matmul"]
    assert (attr(matmul, "transpose_a"), attr(matmul, "transpose_b")) == (True, False)


def test_a_transpose_of_other_dimensions_stays(harness: Harness) -> None:
    text = """(%x: tensor<3x2x8xf32>, %y: tensor<2x3x8xf32>)
        %1 = nn.transpose(%y) {perm = [1, 2, 0]} : (tensor<2x3x8xf32>) -> tensor<3x8x2xf32>
        %2 = nn.matmul(%x, %1, _) {transpose_a = false, transpose_b = false} : (tensor<3x2x8xf32>, tensor<3x8x2xf32>) -> tensor<3x2x2xf32>
        return %2 : tensor<3x2x2xf32>"""
    assert harness.unchanged(FoldTranspose(), text).missed() == ["a transpose by [1, 2, 0] does more than exchange the last two dimensions"]
