"""Rows of a call, and what does not divide."""

from __future__ import annotations

import numpy as np
import pytest

from ttc.dialects.core.errors import Error
from ttc.train.rows import Rows, parts, rows_of, turns

SCALAR = np.float32(2).reshape(())


def test_rows_that_divide_stay() -> None:
    given = {"x": np.arange(24).reshape(12, 2), "s": SCALAR}
    found, rows = Rows(2, 3, 2).fitted(given)
    assert rows == 12
    assert found["x"] is given["x"]
    pieces = list(parts(found, 4))
    assert [p["x"].tolist() for p in pieces] == given["x"].reshape(4, 3, 2).tolist()
    assert all(p["s"] is SCALAR for p in pieces)


@pytest.mark.parametrize(("rows", "sizes"), [(13, "12 and 24"), (5, "next size is 12"), (0, "next size is 12"), (35, "24 and 36")])
def test_rows_that_do_not_divide_name_every_factor(rows: int, sizes: str) -> None:
    with pytest.raises(Error) as raised:
        Rows(2, 3, 1, batch=2).fitted({"x": np.zeros((rows, 2))})
    assert raised.value.code == "E0801"
    assert raised.value.message == f"{rows} rows are no multiple of 12: microbatches of 2 x 2 iterations x 3 accumulated x 1 replicas"
    assert sizes in str(raised.value.hint)


def test_partial_batches() -> None:
    x = np.arange(7)
    padded, count = Rows(3, partial="pad").fitted({"x": x})
    assert (padded["x"].tolist(), count) == ([0, 1, 2, 3, 4, 5, 6, 6, 6], 7)
    dropped, count = Rows(3, partial="drop").fitted({"x": x})
    assert (dropped["x"].tolist(), count) == ([0, 1, 2, 3, 4, 5], 6)
    with pytest.raises(Error, match="2 rows are no multiple of 3"):
        Rows(3, partial="drop").fitted({"x": x[:2]})


def test_different_numbers_of_rows() -> None:
    with pytest.raises(Error, match="'x' has 3 rows, and 'y' 4"):
        rows_of({"s": SCALAR, "x": np.zeros(3), "y": np.zeros(4)})


def test_a_call_without_inputs() -> None:
    with pytest.raises(Error, match="a call takes the model's inputs, and none is given"):
        Rows(3).fitted({})


def test_more_rows_are_more_microbatches_where_these_are_fixed() -> None:
    assert Rows(2, 1, 2).of_call(24) == Rows(2, 1, 2)
    rows = Rows(2, 1, 2, batch=3).of_call(24)
    assert (rows.accumulate, rows.pieces) == (2, 8)
    iteration, _ = parts({"x": np.arange(24), "s": SCALAR}, 2)
    found = list(turns(iteration, rows))
    assert [turn["x"].tolist() for turn in found] == [[0, 1, 2, 6, 7, 8], [3, 4, 5, 9, 10, 11]]
    assert all(turn["s"] is SCALAR for turn in found)
