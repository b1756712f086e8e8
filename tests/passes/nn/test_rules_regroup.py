"""Tests of the rules in passes/nn/rules_regroup.py."""

from __future__ import annotations

from itertools import permutations
from typing import TYPE_CHECKING

import numpy as np
import pytest

from ttc.passes.nn.canonicalize import Canonicalize
from ttc.passes.nn.rules_regroup import regroup, reshape_first, transpose_first

if TYPE_CHECKING:
    from tests.passes.conftest import Harness

SHAPES = [
    ((2, 3, 4), (6, 4)),
    ((6, 4), (2, 3, 4)),
    ((2, 6, 4), (2, 3, 2, 4)),
    ((1, 6, 1), (2, 3)),
    ((2, 3), (1, 2, 1, 3, 1)),
    ((4, 6), (6, 4)),
    ((2, 3, 4), (2, 3, 4)),
    ((1, 1), (1,)),
]


def test_groups_are_the_finest() -> None:
    assert regroup((2, 6, 4), (2, 3, 2, 4)) == [([0], [0]), ([1], [1, 2]), ([2], [3])]
    assert regroup((2, 3, 4), (2, 3, 4)) == [([0], [0]), ([1], [1]), ([2], [2])]
    assert regroup((4, 6), (6, 4)) == [([0, 1], [0, 1])]
    assert regroup((2, 1, 3), (2, 3)) == [([0, 1], [0]), ([2], [1])]
    assert regroup((0, 3), (0, 3)) is None
    assert regroup((), (1,)) is None


@pytest.mark.parametrize(("before", "after"), SHAPES)
def test_order_does_not_matter(before: tuple[int, ...], after: tuple[int, ...]) -> None:
    groups = regroup(before, after)
    assert groups is not None
    found = 0
    for perm in permutations(range(len(before))):
        shape = [0] * len(before)
        for place, dim in enumerate(perm):
            shape[dim] = before[place]
        x = np.arange(np.prod(before)).reshape(shape)
        moved = reshape_first(perm, groups, after)
        if moved is not None:
            found += 1
            np.testing.assert_array_equal(x.reshape(moved[0]).transpose(moved[1]), x.transpose(perm).reshape(after))
    assert found
    for perm in permutations(range(len(after))):
        earlier = transpose_first(groups, perm)
        x = np.arange(np.prod(before)).reshape(before)
        wanted = x.reshape(after).transpose(perm)
        if earlier is not None:
            np.testing.assert_array_equal(x.transpose(earlier).reshape(wanted.shape), wanted)


def test_a_pixel_shuffle_between_layouts_is_one_transpose(harness: Harness) -> None:
    text = """(%x: tensor<1x3x5x8xf32>)
    %0 = nn.transpose(%x) {perm = [0, 3, 1, 2]} : (tensor<1x3x5x8xf32>) -> tensor<1x8x3x5xf32>
    %1 = nn.reshape(%0) {shape = [1, 2, 2, 2, 3, 5]} : (tensor<1x8x3x5xf32>) -> tensor<1x2x2x2x3x5xf32>
    %2 = nn.transpose(%1) {perm = [0, 1, 4, 2, 5, 3]} : (tensor<1x2x2x2x3x5xf32>) -> tensor<1x2x3x2x5x2xf32>
    %3 = nn.reshape(%2) {shape = [1, 2, 6, 10]} : (tensor<1x2x3x2x5x2xf32>) -> tensor<1x2x6x10xf32>
    %4 = nn.transpose(%3) {perm = [0, 2, 3, 1]} : (tensor<1x2x6x10xf32>) -> tensor<1x6x10x2xf32>
    return %4 : tensor<1x6x10x2xf32>"""
    outcome = harness.numbers(Canonicalize(), text, tolerance=0)
    assert (outcome.count("transpose"), outcome.count("reshape")) == (1, 2)


def test_keys_repeated_for_their_queries_and_transposed_twice(harness: Harness) -> None:
    text = """(%x: tensor<2x2x2x5x6xf32>)
    %0 = nn.reshape(%x) {shape = [8, 5, 6]} : (tensor<2x2x2x5x6xf32>) -> tensor<8x5x6xf32>
    %1 = nn.transpose(%0) {perm = [0, 2, 1]} : (tensor<8x5x6xf32>) -> tensor<8x6x5xf32>
    %2 = nn.reshape(%1) {shape = [2, 4, 6, 5]} : (tensor<8x6x5xf32>) -> tensor<2x4x6x5xf32>
    %3 = nn.transpose(%2) {perm = [0, 1, 3, 2]} : (tensor<2x4x6x5xf32>) -> tensor<2x4x5x6xf32>
    return %3 : tensor<2x4x5x6xf32>"""
    after = """(%x: tensor<2x2x2x5x6xf32>)
    %3 = nn.reshape(%x) {shape = [2, 4, 5, 6]} : (tensor<2x2x2x5x6xf32>) -> tensor<2x4x5x6xf32>
    return %3 : tensor<2x4x5x6xf32>"""
    harness.same(Canonicalize(), text, after)


def test_windows_that_mix_rows_and_columns_stay(harness: Harness) -> None:
    text = """(%x: tensor<1x16x3xf32>)
    %0 = nn.reshape(%x) {shape = [1, 2, 2, 2, 2, 3]} : (tensor<1x16x3xf32>) -> tensor<1x2x2x2x2x3xf32>
    %1 = nn.transpose(%0) {perm = [0, 1, 3, 2, 4, 5]} : (tensor<1x2x2x2x2x3xf32>) -> tensor<1x2x2x2x2x3xf32>
    %2 = nn.reshape(%1) {shape = [4, 4, 3]} : (tensor<1x2x2x2x2x3xf32>) -> tensor<4x4x3xf32>
    return %2 : tensor<4x4x3xf32>"""
    harness.unchanged(Canonicalize(), text)


@pytest.mark.parametrize(
    ("shape", "first", "middle", "last", "joined"),
    [
        ([8, 6, 10], [1, 0, 2], [6, 16, 5], [1, 0, 2], [[0, 2, 1, 3]]),
        ([8, 6, 10], [1, 0, 2], [1, 6, 8, 10], [2, 1, 3, 0], []),
        ([2, 3, 4], [2, 0, 1], [4, 6], [1, 0], []),
        ([2, 3, 4, 5], [3, 1, 2, 0], [5, 3, 8], [2, 0, 1], [[2, 0, 3, 1]]),
        ([2, 9, 4], [1, 0, 2], [6, 12], [1, 0], [[1, 0, 2], [1, 0]]),
    ],
)
def test_two_transposes_around_a_reshape(
    harness: Harness, shape: list[int], first: list[int], middle: list[int], last: list[int], joined: list[list[int]]
) -> None:
    """They are one, of as few dimensions as that takes, or none; but not where dimensions share no sizes."""

    def tensor(sizes: list[int]) -> str:
        return f"tensor<{'x'.join(map(str, sizes))}xf32>"

    before, after = [shape[i] for i in first], [middle[i] for i in last]
    text = f"""(%x: {tensor(shape)})
        %0 = nn.transpose(%x) {{perm = {first}}} : ({tensor(shape)}) -> {tensor(before)}
        %1 = nn.reshape(%0) {{shape = {middle}}} : ({tensor(before)}) -> {tensor(middle)}
        %2 = nn.transpose(%1) {{perm = {last}}} : ({tensor(middle)}) -> {tensor(after)}
        return %2 : {tensor(after)}"""
    outcome = harness.numbers(Canonicalize(), text, tolerance=0.0)
    perms = [line.split("perm = ")[1].split("}")[0] for line in outcome.text.splitlines() if "nn.transpose" in line]
    assert perms == [str(perm) for perm in joined]
