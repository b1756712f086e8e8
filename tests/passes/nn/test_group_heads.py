"""Tests of the pass in passes/nn/group_heads.py."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ttc.passes.nn.group_heads import GroupHeads

if TYPE_CHECKING:
    from tests.passes.conftest import Harness


def test_docstring(harness: Harness) -> None:
    harness.docstring(GroupHeads())


Q, K, V, Y = "tensor<2x4x5x8xf32>", "tensor<2x4x6x8xf32>", "tensor<2x4x6x3xf32>", "tensor<2x4x5x3xf32>"


def repeated(name: str, heads: int, size: int, whole: str) -> str:
    """%name of `heads` heads, each repeated, as %<name>r of four heads."""
    small, wide = f"tensor<2x{heads}x1x6x{size}xf32>", f"tensor<2x{heads}x{4 // heads}x6x{size}xf32>"
    return f"""%{name}e = nn.expand(%{name}) {{shape = [2, {heads}, {4 // heads}, 6, {size}]}} : ({small}) -> {wide}
    %{name}r = nn.reshape(%{name}e) {{shape = [2, 4, 6, {size}]}} : ({wide}) -> {whole}
    """


def fragment(mask: str) -> str:
    return f"""(%q: {Q}, %k: tensor<2x2x1x6x8xf32>, %v: tensor<2x2x1x6x3xf32>, %m: {mask})
    {repeated("k", 2, 8, K)}{repeated("v", 2, 3, V)}
    %y = nn.attention(%q, %kr, %vr, %m) {{scale = 0.5, zero_masked = true}} : ({Q}, {K}, {V}, {mask}) -> {Y}
    return %y : {Y}"""


@pytest.mark.parametrize(("shape", "expands"), [("5x6", 0), ("4x1x6", 0), ("1x1x5x6", 0), ("2x1x5x6", 1), ("2x4x5x6", 0), ("1x4x5x1", 0)])
def test_masks(harness: Harness, shape: str, expands: int) -> None:
    outcome = harness.numbers(GroupHeads(), fragment(f"tensor<{shape}xf32>"))
    assert outcome.count("expand") == expands
    assert "-> tensor<2x2x2x5x3xf32>" in outcome.text


def test_one_head_for_all_is_broadcast(harness: Harness) -> None:
    text = f"""(%q: {Q}, %k: tensor<2x1x6x8xf32>, %v: tensor<2x1x6x3xf32>)
    %kr = nn.expand(%k) {{shape = [2, 4, 6, 8]}} : (tensor<2x1x6x8xf32>) -> {K}
    %vr = nn.expand(%v) {{shape = [2, 4, 6, 3]}} : (tensor<2x1x6x3xf32>) -> {V}
    %y = nn.attention(%q, %kr, %vr, _) {{scale = 0.5, zero_masked = false}} : ({Q}, {K}, {V}) -> {Y}
    return %y : {Y}"""
    outcome = harness.numbers(GroupHeads(), text)
    assert (outcome.count("expand"), outcome.count("reshape"), outcome.count("attention")) == (0, 0, 1)


def test_one_head_repeated_by_a_reshape_is_broadcast(harness: Harness) -> None:
    text = fragment("tensor<2x1x5x6xf32>").replace("%k: tensor<2x2x", "%k: tensor<2x1x").replace("%v: tensor<2x2x", "%v: tensor<2x1x")
    text = text.replace(repeated("k", 2, 8, K), repeated("k", 1, 8, K)).replace(repeated("v", 2, 3, V), repeated("v", 1, 3, V))
    outcome = harness.numbers(GroupHeads(), text)
    assert (outcome.count("expand"), outcome.count("attention")) == (0, 1)


def test_missed(harness: Harness) -> None:
    text = f"""(%q: {Q}, %k: tensor<2x2x1x6x8xf32>, %v: {V})
    {repeated("k", 2, 8, K)}
    %y = nn.attention(%q, %kr, %v, _) {{scale = 0.5, zero_masked = false}} : ({Q}, {K}, {V}) -> {Y}
    return %y : {Y}"""
    assert harness.unchanged(GroupHeads(), text).missed() == ["keys and values are not repeated alike"]


def test_queries_of_one_head_are_missed(harness: Harness) -> None:
    text = fragment("tensor<5x6xf32>").replace(f"%q: {Q}", "%q: tensor<2x1x5x8xf32>").replace(f": ({Q},", ": (tensor<2x1x5x8xf32>,")
    assert harness.unchanged(GroupHeads(), text).missed() == ["queries have fewer heads than keys and values"]


def test_repeats_along_positions_are_none_of_heads(harness: Harness) -> None:
    text = fragment("tensor<5x6xf32>").replace("nn.expand(%k) {shape = [2, 2, 2, 6, 8]} : (tensor<2x2x1x6x8xf32>)", "nn.exp(%k2)")
    text = text.replace("nn.exp(%k2)", "nn.exp(%k2) : (tensor<2x2x2x6x8xf32>)").replace(
        "%k: tensor<2x2x1x6x8xf32>", "%k2: tensor<2x2x2x6x8xf32>"
    )
    assert len(harness.unchanged(GroupHeads(), text).missed()) == 1
