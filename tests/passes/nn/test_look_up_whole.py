"""Tests of the pass in passes/nn/look_up_whole.py."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ttc.passes.nn.look_up_whole import LookUpWhole

if TYPE_CHECKING:
    from tests.passes.conftest import Harness

S = "!ttc.string"
TABLE = f"""
    (%x: tensor<4x3x{S}>)
    %0 = nn.slice(%x) {{sizes = [4, 1], starts = [0, 0], steps = [1, 1]}} : (tensor<4x3x{S}>) -> tensor<4x1x{S}>
    %1 = nn.reshape(%0) {{shape = [4]}} : (tensor<4x1x{S}>) -> tensor<4x{S}>
    %2 = nn.string_index(%1) {{words = ["a", "b", "c"]}} : (tensor<4x{S}>) -> tensor<4xi64>
    %3 = nn.transpose(%x) {{perm = [1, 0]}} : (tensor<4x3x{S}>) -> tensor<3x4x{S}>
    %4 = nn.string_index(%3) {{words = ["z", "b", "z"]}} : (tensor<3x4x{S}>) -> tensor<3x4xi64>
    %5, %6 = nn.split(%3) {{axis = 0, sizes = [1, 2]}} : (tensor<3x4x{S}>) -> (tensor<1x4x{S}>, tensor<2x4x{S}>)
    %7 = nn.string_index(%6) {{words = ["c"]}} : (tensor<2x4x{S}>) -> tensor<2x4xi64>
    %8 = nn.string_index(%x) {{words = ["q", "a"]}} : (tensor<4x3x{S}>) -> tensor<4x3xi64>
    return %2, %4, %7, %8 : tensor<4xi64>, tensor<3x4xi64>, tensor<2x4xi64>, tensor<4x3xi64>
"""
READ = f"""
    (%x: tensor<2x2x{S}>)
    %0 = nn.slice(%x) {{sizes = [2, 1], starts = [0, 0], steps = [1, 1]}} : (tensor<2x2x{S}>) -> tensor<2x1x{S}>
    %1 = nn.string_index(%0) {{words = ["a"]}} : (tensor<2x1x{S}>) -> tensor<2x1xi64>
    %2 = nn.VALUE : tensor<2x2x{S}>
    return %1, %2 : tensor<2x1xi64>, tensor<2x2x{S}>
"""


def test_docstring(harness: Harness) -> None:
    harness.docstring(LookUpWhole())


def test_lookups_of_parts_are_one(harness: Harness) -> None:
    outcome = harness.numbers(LookUpWhole(), TABLE)
    assert outcome.text.count("nn.string_index") == 1
    assert '{words = ["a", "b", "c", "z", "q"]}' in outcome.text
    assert outcome.count("gather") == 4
    assert [remark.message for remark in outcome.remarks] == ["4 lookups of words are one"]


@pytest.mark.parametrize("op", ["identity(%x)", "string_concat(%x, %x)"])
def test_text_that_is_read_otherwise_stays(harness: Harness, op: str) -> None:
    types = ", ".join([f"tensor<2x2x{S}>"] * op.count("%x"))
    before = READ.replace("nn.VALUE", f"nn.{op} : ({types}) ->").replace("-> :", "->")
    assert harness.run(LookUpWhole(), before).text == harness.text_of(harness.parse(before).module)


def test_lists_that_are_too_long_together_stay(harness: Harness, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ttc.passes.nn.look_up_whole.MAX_WORDS", 4)
    assert harness.unchanged(LookUpWhole(), TABLE).missed() == ["5 words are too many to be looked up at once"]
