"""Tests of the pass in passes/nn/join_transposes.py."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ttc.passes.nn.join_transposes import JoinTransposes

if TYPE_CHECKING:
    from tests.passes.conftest import Harness

X, W = "%x: tensor<8x6x4xf32>, %y: tensor<48x3x4xf32>", "%w: tensor<4x10xf32>, %v: tensor<12x10xf32>, %b: tensor<10xf32>"
FLAGS = "{transpose_a = false, transpose_b = false}"
FIRST = "%0 = nn.transpose(%x) {perm = [1, 0, 2]} : (tensor<8x6x4xf32>) -> tensor<6x8x4xf32>"
PRODUCT = f"%1 = nn.matmul(%0, %w, %b) {FLAGS} : (tensor<6x8x4xf32>, tensor<4x10xf32>, tensor<10xf32>) -> tensor<6x8x10xf32>"


def test_docstring(harness: Harness) -> None:
    harness.docstring(JoinTransposes())


def test_a_transpose_moves_to_the_one_before_the_product(harness: Harness) -> None:
    """What comes out of attention: heads beside samples, joined, and samples back in front."""
    outcome = harness.numbers(
        JoinTransposes(),
        f"""({X}, {W})
        %0 = nn.transpose(%y) {{perm = [1, 0, 2]}} : (tensor<48x3x4xf32>) -> tensor<3x48x4xf32>
        %1 = nn.reshape(%0) {{shape = [48, 12]}} : (tensor<3x48x4xf32>) -> tensor<48x12xf32>
        %2 = nn.matmul(%1, %v, %b) {FLAGS} : (tensor<48x12xf32>, tensor<12x10xf32>, tensor<10xf32>) -> tensor<48x10xf32>
        %3 = nn.reshape(%2) {{shape = [3, 16, 10]}} : (tensor<48x10xf32>) -> tensor<3x16x10xf32>
        %4 = nn.transpose(%3) {{perm = [1, 0, 2]}} : (tensor<3x16x10xf32>) -> tensor<16x3x10xf32>
        return %4 : tensor<16x3x10xf32>""",
    )
    assert outcome.text.rindex("transpose(") < outcome.text.index("matmul")
    assert len(outcome.remarks) == 1


def test_pieces_and_multiples_may_stand_between(harness: Harness) -> None:
    outcome = harness.numbers(
        JoinTransposes(),
        f"""({X}, {W})
        {FIRST}
        {PRODUCT}
        %2, %3 = nn.split(%1) {{axis = 2, sizes = [5, 5]}} : (tensor<6x8x10xf32>) -> (tensor<6x8x5xf32>, tensor<6x8x5xf32>)
        %4 = nn.mul(%2, %2) : (tensor<6x8x5xf32>, tensor<6x8x5xf32>) -> tensor<6x8x5xf32>
        %5 = nn.transpose(%4) {{perm = [1, 0, 2]}} : (tensor<6x8x5xf32>) -> tensor<8x6x5xf32>
        return %3, %5 : tensor<6x8x5xf32>, tensor<8x6x5xf32>""",
    )
    assert outcome.text.index("matmul") < outcome.text.index("transpose(")


@pytest.mark.parametrize(
    "text",
    [
        f"""{FIRST}
        {PRODUCT}
        %2 = nn.relu(%1) : (tensor<6x8x10xf32>) -> tensor<6x8x10xf32>
        return %2 : tensor<6x8x10xf32>""",
        f"""{FIRST}
        {PRODUCT}
        %2 = nn.transpose(%1) {{perm = [1, 0, 2]}} : (tensor<6x8x10xf32>) -> tensor<8x6x10xf32>
        %3 = nn.relu(%0) : (tensor<6x8x4xf32>) -> tensor<6x8x4xf32>
        return %1, %2, %3 : tensor<6x8x10xf32>, tensor<8x6x10xf32>, tensor<6x8x4xf32>""",
        """%0 = nn.transpose(%x) {perm = [0, 2, 1]} : (tensor<8x6x4xf32>) -> tensor<8x4x6xf32>
        %1 = nn.matmul(%0, %0, _) {transpose_a = false, transpose_b = true} : (tensor<8x4x6xf32>, tensor<8x4x6xf32>) -> tensor<8x4x4xf32>
        %2 = nn.transpose(%1) {perm = [1, 0, 2]} : (tensor<8x4x4xf32>) -> tensor<4x8x4xf32>
        return %2 : tensor<4x8x4xf32>""",
    ],
    ids=["alone", "read", "of_samples"],
)
def test_others_stay(harness: Harness, text: str) -> None:
    harness.unchanged(JoinTransposes(), f"({X}, {W})\n        {text}")
