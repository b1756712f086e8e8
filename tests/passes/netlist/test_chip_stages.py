"""Stages of a pipeline: even shares, breaks, narrow borders, rounds."""

from __future__ import annotations

import random

from ttc.passes.netlist.chip_stages import balanced, moved, partition, rounds


def heaviest(sizes: list[int], weights: list[int]) -> int:
    ends = [sum(sizes[: i + 1]) for i in range(len(sizes))]
    return max(sum(weights[end - size : end]) for size, end in zip(sizes, ends, strict=True))


def test_the_heaviest_run_is_as_light_as_possible() -> None:
    assert partition([1, 2, 3, 4, 5], 2) == [3, 2]
    assert partition([9, 1, 1, 1], 3) == [1, 3]
    assert partition([5, 5], 4) == [1, 1]
    assert partition([], 2) == []


def test_against_all_ways_of_cutting_in_three() -> None:
    generator = random.Random(3)
    for _ in range(20):
        weights = [generator.randrange(1, 50) for _ in range(10)]
        wanted = min(heaviest([a, b - a, 10 - b], weights) for a in range(1, 9) for b in range(a + 1, 10))
        assert heaviest(partition(weights, 3), weights) <= wanted


def test_breaks_hold() -> None:
    assert partition([1] * 8, 2, {3}) == [3, 5]
    assert partition([1] * 8, 3, {1}) == [1, 4, 3]


def test_borders_move_to_where_less_crosses() -> None:
    weights = [10] * 8
    crossing = [0.0, 90.0, 90.0, 5.0, 90.0, 90.0, 90.0, 90.0]
    assert moved([4, 4], weights, (), crossing) == [3, 5]
    assert moved([4, 4], weights, {4}, crossing) == [4, 4]
    assert moved([4, 4], weights, (), [0.0] * 8) == [4, 4]


def test_what_stages_are_found_to_take_corrects_the_shares() -> None:
    """By the weights the halves are even, but the first takes three times as long as it seems."""

    def time(begin: int, end: int) -> float:
        return sum(3.0 if number < 6 else 1.0 for number in range(begin, end))

    sizes, times = balanced([1.0] * 12, 2, (), time, [0.0] * 12)
    assert (sizes, times) == ([4, 8], [12.0, 12.0])


def test_rounds() -> None:
    """Many rounds keep both chips busy; switches make them dear; a single stage needs one."""
    assert rounds([1e6, 1e6], [0.0, 0.0], 8) == 8
    assert rounds([1e6, 1e6], [5e4, 5e4], 64) == 4
    assert rounds([1e6, 1e6], [9e5, 9e5], 8) == 1
    assert rounds([1e6, 1e6], [0.0, 0.0], 1) == 1
    assert rounds([1e6], [1e4], 16) == 1
