"""Masks and floors: what the padding of tiles would spoil, and what it leaves alone."""

from __future__ import annotations

import pytest

from tests.passes.tiles import apply, docstring
from ttc.passes.tile.clean_padding import CleanPadding
from ttc.passes.tile.paddings import Fill, after_function


def test_docstring() -> None:
    (remark,) = docstring(CleanPadding()).report.remarks
    assert (remark.kind, remark.message) == ("applied", "an operand is multiplied by ones, so that its padding holds zeros")


CASES = {
    "a sum over what fills its tiles": (
        """(%x: Float32[64, 64], %w: Float32[64, 32])
        %0 = tile.map(%x) {fn = "exp"} : (Float32[64, 64]) -> Float32[64, 64]
        %1 = tile.matmul(%0, %w, _) {transpose_a = false, transpose_b = false} : (Float32[64, 64], Float32[64, 32]) -> Float32[64, 32]
        return %1 : Float32[64, 32]""",
        {},
    ),
    "finite numbers that meet zeros": (
        """(%x: Float32[64, 40], %w: Float32[40, 32])
        %0 = tile.map(%x) {fn = "exp"} : (Float32[64, 40]) -> Float32[64, 40]
        %1 = tile.matmul(%0, %w, _) {transpose_a = false, transpose_b = false} : (Float32[64, 40], Float32[40, 32]) -> Float32[64, 32]
        return %1 : Float32[64, 32]""",
        {},
    ),
    "numbers that meet numbers": (
        """(%x: Float32[64, 40], %w: Float32[64, 40])
        %0 = tile.map(%x) {fn = "exp"} : (Float32[64, 40]) -> Float32[64, 40]
        %1 = tile.map(%w) {fn = "exp"} : (Float32[64, 40]) -> Float32[64, 40]
        %2 = tile.matmul(%0, %1, _) {transpose_a = false, transpose_b = true} : (Float32[64, 40], Float32[64, 40]) -> Float32[64, 64]
        return %2 : Float32[64, 64]""",
        {"mask-padding": 1},
    ),
    "a maximum along columns that end within a tile": (
        """(%x: Float32[1, 64, 40])
        %0 = tile.reduce(%x) {axes = [2], fn = "max", keepdims = true} : (Float32[1, 64, 40]) -> Float32[1, 64, 1]
        %1 = tile.map(%x, %0) {fn = "sub"} : (Float32[1, 64, 40], Float32[1, 64, 1]) -> Float32[1, 64, 40]
        return %1 : Float32[1, 64, 40]""",
        {"floor-padding": 1},
    ),
    "a maximum along matrices": (
        """(%x: Float32[4, 40, 40])
        %0 = tile.reduce(%x) {axes = [0], fn = "max", keepdims = true} : (Float32[4, 40, 40]) -> Float32[1, 40, 40]
        return %0 : Float32[1, 40, 40]""",
        {},
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_changes(case: str) -> None:
    before, expected = CASES[case]
    assert dict(apply(CleanPadding(), before).report.rewrites) == expected


@pytest.mark.parametrize(
    ("fn", "fills", "expected"),
    [
        ("mul", (Fill.ZERO, Fill.WILD), Fill.ZERO),
        ("add", (Fill.ZERO, Fill.ZERO), Fill.ZERO),
        ("add", (Fill.ZERO, Fill.LOOSE), Fill.LOOSE),
        ("exp", (Fill.ZERO,), Fill.LOOSE),
        ("exp", (Fill.LOOSE,), Fill.WILD),
        ("relu", (Fill.ZERO,), Fill.ZERO),
        ("tanh", (Fill.WILD,), Fill.WILD),
    ],
)
def test_fill_after_a_function(fn: str, fills: tuple[Fill, ...], expected: Fill) -> None:
    assert after_function(fn, fills) == expected
