"""Rows of a call, and what does not divide."""

from __future__ import annotations

import numpy as np
import pytest

from ttc.dialects.core.errors import Error
from ttc.train.rows import Rows, parts, rows_of

SCALAR = np.float32(2).reshape(())


def test_rows_that_divide_stay() -> None:
    given = {"x": np.arange(24).reshape(12, 2), "s": SCALAR}
    found, rows = Rows(2, 3, 2).fitted(given, 1)
    assert rows == 12
    assert found["x"] is given["x"]
    pieces = list(parts(found, 4))
    assert [p["x"].tolist() for p in pieces] == given["x"].reshape(4, 3, 2).tolist()
    assert all(p["s"] is SCALAR for p in pieces)


@pytest.mark.parametrize(("rows", "sizes"), [(13, "12 and 24"), (5, "next size is 12"), (0, "next size is 12"), (35, "24 and 36")])
def test_rows_that_do_not_divide_name_every_factor(rows: int, sizes: str) -> None:
    with pytest.raises(Error) as raised:
        Rows(2, 3, 1).fitted({"x": np.zeros((rows, 2))}, 2)
    assert raised.value.code == "E0801"
    assert raised.value.message == f"{rows} rows are no multiple of 12: microbatches of 2 x 2 iterations x 3 accumulated x 1 replicas"
    assert sizes in str(raised.value.hint)


def test_partial_batches() -> None:
    x = np.arange(7)
    padded, count = Rows(3, partial="pad").fitted({"x": x}, None)
    assert (padded["x"].tolist(), count) == ([0, 1, 2, 3, 4, 5, 6, 6, 6], 7)
    dropped, count = Rows(3, partial="drop").fitted({"x": x}, None)
    assert (dropped["x"].tolist(), count) == ([0, 1, 2, 3, 4, 5], 6)
    with pytest.raises(Error, match="2 rows are no multiple of 3"):
        Rows(3, partial="drop").fitted({"x": x[:2]}, None)


def test_different_numbers_of_rows() -> None:
    with pytest.raises(Error, match="'x' has 3 rows, and 'y' 4"):
        rows_of({"s": SCALAR, "x": np.zeros(3), "y": np.zeros(4)})


def test_a_call_without_inputs() -> None:
    with pytest.raises(Error, match="a call takes the model's inputs, and none is given"):
        Rows(3).fitted({}, None)
