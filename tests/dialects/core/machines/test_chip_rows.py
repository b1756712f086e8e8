"""Chips that programs are spread over: rows of linked ones, any of them, and what is not there."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ttc.dialects.core.errors import Error
from ttc.dialects.core.machines.chip_rows import chips_in_a_row, is_row, near_chips, require_linked, some_chips
from ttc.dialects.core.machines.targets import load_target

N150 = load_target("n150")


def grid(rows: int, cols: int) -> tuple[tuple[int, int, int], ...]:
    """Links of chips in a rectangle, numbered row by row."""
    across = [(r * cols + c, r * cols + c + 1, 4) for r in range(rows) for c in range(cols - 1)]
    down = [(r * cols + c, r * cols + c + cols, 4) for r in range(rows - 1) for c in range(cols)]
    return tuple(sorted(across + down))


@pytest.mark.parametrize(("rows", "cols"), [(1, 2), (2, 4), (4, 8), (16, 16)])
def test_all_chips_of_a_rectangle_form_a_row(rows: int, cols: int) -> None:
    target = replace(N150, chips=rows * cols, links=grid(rows, cols))
    found = chips_in_a_row(target, rows * cols)
    assert sorted(found) == list(range(rows * cols))
    joined = {link[:2] for link in target.links}
    assert all((min(pair), max(pair)) in joined for pair in zip(found, found[1:], strict=False))


def test_the_search_ends_where_there_is_no_row() -> None:
    """A star of many chips has rows of three alone; so has a star of pairs, of five."""
    star = replace(N150, chips=400, links=tuple((0, chip, 1) for chip in range(1, 400)))
    with pytest.raises(Error, match="no 4 chips"):
        chips_in_a_row(star, 4)
    pairs = replace(N150, chips=401, links=tuple(sorted(link for c in range(1, 400, 2) for link in ((0, c, 1), (c, c + 1, 1)))))
    assert len(chips_in_a_row(pairs, 5)) == 5


def test_rows_begin_where_the_host_is() -> None:
    target = replace(N150, chips=3, links=((0, 1, 1), (1, 2, 1)))
    assert chips_in_a_row(target, 3, [2]) == (2, 1, 0)
    assert chips_in_a_row(target, 3, [1]) == (0, 1, 2)  # from the middle no row has all three
    assert chips_in_a_row(target, 1, [1]) == (1,)


@pytest.mark.parametrize(
    ("target", "count", "message"),
    [
        (N150, 2, "target n150 has 1 chip, not 2"),
        (load_target("n300"), 3, "target n300 has 2 chips, not 3"),
        (replace(N150, chips=4, links=((0, 1, 1), (2, 3, 1))), 3, "no 3 chips of which each is linked to the next"),
        (replace(N150, chips=2), 2, "no 2 chips of which each is linked to the next"),
    ],
)
def test_chips_that_are_not_there(target: Any, count: int, message: str) -> None:
    with pytest.raises(Error, match=message) as caught:
        chips_in_a_row(target, count)
    assert caught.value.code == "E0101"


def test_replicas_need_no_links() -> None:
    apart = replace(N150, chips=4, links=((0, 1, 1), (2, 3, 1)))
    assert some_chips(apart, 4) == (0, 1, 2, 3)
    assert some_chips(replace(N150, chips=3, links=((0, 2, 1), (1, 2, 1))), 3) == (0, 2, 1)  # a row where there is one
    require_linked(apart, (0, 1))
    assert [is_row(apart, chips) for chips in ((0, 1), (3, 2), (0, 1, 2), (1,))] == [True, True, False, True]
    with pytest.raises(Error, match="no 3 chips of which each is linked to the next") as caught:
        require_linked(apart, (0, 1, 2))
    assert (caught.value.code, caught.value.hint) == ("E0101", "no link joins chips 1 and 2")
    with pytest.raises(Error, match="has 4 chips, not 5"):
        some_chips(apart, 5)


def test_chips_near_each_other() -> None:
    target = replace(N150, chips=8, links=grid(2, 4))
    row = chips_in_a_row(target, 8)
    assert near_chips(target, row, 8) == row
    square = sorted(near_chips(target, row, 4))
    assert [chip - square[0] for chip in square] == [0, 1, 4, 5]
    assert sorted(near_chips(replace(target, links=((2, 5, 1),)), row, 2)) == [2, 5]
