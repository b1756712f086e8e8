"""Cuts into epochs that are alike: which period ops have, and which cuts are worth packing."""

from __future__ import annotations

import pytest

from ttc.passes.tile_to_netlist.repeating import period_of, repeating

LAYER = ("norm", "product", "attention", "product", "add")
INF = float("inf")


@pytest.mark.parametrize(
    ("kinds", "period"),
    [
        (LAYER * 6, 5),
        (("embedding", *LAYER * 6, "logits"), 5),
        (("a", "b", "c", "d", "e", "f", "g", "h", "i", "j"), None),
        (("map",) * 20, 4),
        (LAYER, None),
        ((), None),
    ],
)
def test_ops_come_again_after_a_period(kinds: tuple[str, ...], period: int | None) -> None:
    assert period_of(kinds) == period


def epochs_of(count: int, longest: int, cut_at: int | None = None) -> list[list[float]]:
    """Times of epochs of so many ops: a switch of 10 and one cycle an op; 5 less where an epoch of a period begins at one place in it."""
    return [
        [10.0 + n - 5.0 * (cut_at is not None and begin % 5 == cut_at) for n in range(1, min(longest, count - begin) + 1)]
        for begin in range(count)
    ]


def test_epochs_have_whole_periods_and_cover_all_ops() -> None:
    by_size = repeating(epochs_of(23, 12), 5, 40)
    assert [bool(cuts) for cuts in by_size] == [True, True]
    for windows in (windows for cuts in by_size for windows in cuts):
        begins, ends = zip(*windows, strict=True)
        assert begins == (0, *ends[:-1])
        assert ends[-1] == 23
        sizes = {end - begin for begin, end in windows[1:-1]}
        assert sizes in (set(), {5}, {10})


def test_the_best_place_for_the_cuts_comes_first_for_each_number_of_periods() -> None:
    found = repeating(epochs_of(23, 12, cut_at=3), 5, 2)
    assert [[windows[1][0] % 5 for windows in cuts] for cuts in found] == [[3], [3]]
    assert [[windows[1][1] - windows[1][0] for windows in cuts] for cuts in found] == [[5], [10]]


def test_epochs_that_are_impossible_are_in_no_cut() -> None:
    times = epochs_of(23, 12)
    times[3][4] = INF  # of the five ops from the fourth on
    assert all((3, 8) not in windows for cuts in repeating(times, 5, 100) for windows in cuts)
    assert repeating([[INF] * 12 for _ in range(23)], 5, 4) == [[], []]
