"""Cuts of runs of few epochs: what a whole run takes, which cuts are likely, and how they are moved."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest

from tests.passes.tile_to_netlist.made import candidate, chain, found, small
from ttc.passes.tile_to_netlist.moving import EpochFigures, likely, moved, windows_of
from ttc.passes.tile_to_netlist.sharing import paced


def figures(count: int, longest: int, fill: float = 100.0, interval: float = 10.0) -> EpochFigures:
    """Epochs of n ops take n times so many cycles for the first microbatch, and between two."""
    sizes = np.where(np.arange(longest + 1) > 0, np.arange(longest + 1), inf)
    possible = np.arange(longest + 1)[None, :] <= count - np.arange(count)[:, None]
    return EpochFigures(*(np.where(possible, sizes[None, :] * part, inf) for part in (fill, interval)))


def test_an_epoch_begins_when_the_cores_before_are_through() -> None:
    """Or, where the first microbatch takes longer than all intervals, when that is there."""
    assert figures(4, 4, fill=10.0).run((0, 2), 8) == 8 * 20 + 20 + 7 * 20
    assert figures(4, 4, fill=1000.0).run((0, 2), 8) == 2000 + 2000 + 7 * 20


def test_a_short_epoch_behind_a_long_one_waits_for_its_last_microbatch() -> None:
    table = figures(12, 11)
    alone = 1100 + 7 * 110
    assert table.run((0, 11), 8) == alone + 100  # the only op takes the last microbatch when that is there
    assert table.run((0, 11), 1) == 1100 + 100
    assert table.run((0,), 8) == inf  # no epoch has so many ops


def test_likely_cuts_are_apart_and_the_best_comes_first() -> None:
    table = figures(24, 16)
    found = likely(table, 8, 5)
    assert len(found) == 5
    times = [table.run(begins, 8) for begins in found]
    assert times == sorted(times)
    assert all(max(end - begin for begin, end in windows_of(begins, 24)) <= 16 for begins in found)
    pairs = [(a, b) for a in found for b in found if a is not b and len(a) == len(b)]
    assert all(max(abs(x - y) for x, y in zip(a, b, strict=True)) > 2 for a, b in pairs)


def test_no_cut_is_likely_where_ops_fit_into_no_few_epochs() -> None:
    assert likely(figures(24, 3), 8, 5) == []
    assert likely(figures(1, 1), 8, 5) == []


def test_figures_are_those_of_the_best_sharing() -> None:
    problem = chain([found(candidate(1, 1, 1000)), found(candidate(1, 2, 700)), found(candidate(2, 2, 10))], small(), 64)
    family = paced([node.found.front for node in problem.nodes], 8)
    table = EpochFigures.of(problem, [family], 2)
    assert table.fill.shape == (3, 3)
    assert (table.fill[0, 1], table.interval[0, 1]) == (1000.0, 1000.0)
    assert (table.fill[0, 2], table.interval[0, 2]) == (1700.0, 1000.0)
    assert table.interval[1, 2] == inf  # six cores of four
    assert table.fill[2, 2] == inf


@pytest.mark.parametrize("tries", [3, 100])
def test_cuts_are_moved_to_the_shortest_run(tries: int) -> None:
    asked: list[tuple[int, ...]] = []

    def timed(windows: tuple[tuple[int, int], ...]) -> tuple[float, str] | None:
        begins = tuple(begin for begin, _ in windows)
        asked.append(begins)
        if begins == (0, 9):
            return None
        cycles = float(sum(abs(a - b) for a, b in zip(begins, (0, 5, 12), strict=False)) + 100 * (len(begins) != 3))
        return cycles, str(begins)

    found = moved([(0, 9), (0, 8), (0, 8, 11)], 20, tries, timed)
    assert found == ("(0, 5, 12)" if tries == 100 else "(0, 8, 11)")
    assert len(asked) == len(set(asked)) <= tries


def test_no_run_is_found_where_none_is_possible() -> None:
    assert moved([(0, 2), (0, 3)], 5, 10, lambda windows: None) is None
    assert moved([], 5, 10, lambda windows: (1.0, "never")) is None
