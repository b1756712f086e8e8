"""Tests of the pass in passes/nn/hoist_pieces.py."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ttc.passes.nn.hoist_pieces import HoistPieces

if TYPE_CHECKING:
    from tests.passes.conftest import Harness


def test_docstring(harness: Harness) -> None:
    harness.docstring(HoistPieces())


VIEW = """(%x: tensor<4x6x24xf32>)
    %0 = nn.reshape(%x) {shape = [4, 6, 3, 2, 4]} : (tensor<4x6x24xf32>) -> tensor<4x6x3x2x4xf32>
    %1 = nn.transpose(%0) {perm = [2, 0, 3, 1, 4]} : (tensor<4x6x3x2x4xf32>) -> tensor<3x4x2x6x4xf32>
    """


def test_slices_each_take_their_columns(harness: Harness) -> None:
    part = "tensor<1x4x2x6x4xf32>"
    slices = [
        f"%{name} = nn.slice(%1) {{starts = [{at}, 0, 0, 0, 0], sizes = [1, 4, 2, 6, 4], steps = [1, 1, 1, 1, 1]}} "
        f": (tensor<3x4x2x6x4xf32>) -> {part}"
        for at, name in enumerate("qkv")
    ]
    outcome = harness.numbers(HoistPieces(), VIEW + "\n".join(slices) + f"\nreturn %q, %k, %v : {part}, {part}, {part}", tolerance=0.0)
    assert outcome.count("slice") == outcome.count("transpose") == 3
    assert "starts = [0, 0, 16]" in outcome.text
    assert "perm = [0, 2, 1, 3]" in outcome.text


@pytest.mark.parametrize(
    ("read", "result"),
    [
        ("%3 = nn.relu(%1) : (tensor<3x4x2x6x4xf32>) -> tensor<3x4x2x6x4xf32>", "tensor<3x4x2x6x4xf32>"),
        (
            "%3 = nn.slice(%1) {starts = [0, 0, 0, 0, 0], sizes = [3, 4, 2, 6, 2], steps = [1, 1, 1, 1, 1]} "
            ": (tensor<3x4x2x6x4xf32>) -> tensor<3x4x2x6x2xf32>",
            "tensor<3x4x2x6x2xf32>",
        ),
    ],
)
def test_what_is_read_whole_or_along_another_dimension_stays(harness: Harness, read: str, result: str) -> None:
    part = "tensor<1x4x2x6x4xf32>"
    harness.unchanged(
        HoistPieces(),
        f"""{VIEW}%2 = nn.slice(%1) {{starts = [1, 0, 0, 0, 0], sizes = [1, 4, 2, 6, 4], steps = [1, 1, 1, 1, 1]}}
            : (tensor<3x4x2x6x4xf32>) -> {part}
        {read}
        return %2, %3 : {part}, {result}""",
    )


@pytest.mark.parametrize(
    ("x", "view", "shape", "axis", "sizes"),
    [
        ("4x6", "reshape(%x) {shape = [3, 8]}", [3, 8], 0, [1, 2]),
        ("4x6", "reshape(%x) {shape = [4, 2, 3]}", [4, 2, 3], 2, [1, 2]),
        ("4x6", "reshape(%x) {shape = [24]}", [24], 0, [8, 16]),
        ("4x6x5", "transpose(%x) {perm = [1, 0, 2]}", [6, 4, 5], 2, [1, 4]),
    ],
)
def test_other_pieces_stay(harness: Harness, x: str, view: str, shape: list[int], axis: int, sizes: list[int]) -> None:
    """Pieces of several dimensions at once, of the inner part of one, and along a dimension that stays where it is."""
    types = ["tensor<" + "x".join(str(n if i == axis else size) for i, size in enumerate(shape)) + "xf32>" for n in sizes]
    seen = "tensor<" + "x".join(map(str, shape)) + "xf32>"
    harness.unchanged(
        HoistPieces(),
        f"""(%x: tensor<{x}xf32>)
        %0 = nn.{view} : (tensor<{x}xf32>) -> {seen}
        %1, %2 = nn.split(%0) {{axis = {axis}, sizes = {sizes}}} : ({seen}) -> ({", ".join(types)})
        return %1, %2 : {", ".join(types)}""",
    )


def test_pieces_of_a_dimension_that_is_taken_apart(harness: Harness) -> None:
    outcome = harness.numbers(
        HoistPieces(),
        """(%x: tensor<12x5xf32>)
        %0 = nn.reshape(%x) {shape = [3, 4, 5]} : (tensor<12x5xf32>) -> tensor<3x4x5xf32>
        %1, %2 = nn.split(%0) {axis = 0, sizes = [1, 2]} : (tensor<3x4x5xf32>) -> (tensor<1x4x5xf32>, tensor<2x4x5xf32>)
        return %1, %2 : tensor<1x4x5xf32>, tensor<2x4x5xf32>""",
        tolerance=0.0,
    )
    ops = [line for line in outcome.text.splitlines() if " = nn." in line]
    assert ["nn.split" in line for line in ops] == [True, False, False]
    assert "{axis = 0, sizes = [4, 8]}" in ops[0]
