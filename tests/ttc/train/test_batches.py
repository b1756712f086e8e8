"""Batches: every row once an epoch, in an order of seed and epoch alone."""

from __future__ import annotations

from itertools import islice

import numpy as np
import pytest

from ttc.dialects.core.errors import Error
from ttc.train.batches import Batches, check_divides


@pytest.mark.parametrize("shuffled", [False, True])
def test_every_row_once_an_epoch(shuffled: bool) -> None:
    batches = Batches(rows=14, size=3, shuffled=shuffled, seed=1)
    found = list(islice(batches.from_update(0), 8))
    assert [epoch for epoch, _ in found] == [0] * 4 + [1] * 4
    first, second = (np.concatenate([rows for _, rows in found[i : i + 4]]) for i in (0, 4))
    assert len(set(first.tolist())) == len(set(second.tolist())) == 12
    assert np.array_equal(first, second) is not shuffled


def test_going_on_anywhere_gives_the_same_batches() -> None:
    batches = Batches(rows=10, size=2, shuffled=True, seed=7)
    whole = [rows.tolist() for _, rows in islice(batches.from_update(0), 12)]
    for update in range(12):
        assert [rows.tolist() for _, rows in islice(batches.from_update(update), 12 - update)] == whole[update:]
    assert Batches(10, 2, True, 8).order(0).tolist() != batches.order(0).tolist()


def test_orders_are_the_same_everywhere() -> None:
    assert Batches(8, 1, True, 3).order(2).tolist() == [2, 4, 1, 3, 6, 5, 0, 7]


def test_rows_that_do_not_divide() -> None:
    check_divides(12, 4, "data", "error")
    check_divides(13, 4, "data", "drop")
    with pytest.raises(Error, match="13 rows are not a multiple of the batch of 4") as caught:
        check_divides(13, 4, "data", "error")
    assert "12 or 16 rows" in str(caught.value.hint)
    with pytest.raises(Error, match="do not fill"):
        check_divides(3, 4, "data", "drop")
