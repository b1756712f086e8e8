"""Outputs of a call over several microbatches."""

from __future__ import annotations

import numpy as np
import pytest

from ttc.dialects.core.errors import Error
from ttc.train.outputs import OutputMode
from ttc.train.rows import Rows

PARTS = [(np.full((2, 3), float(i), np.float32),) for i in range(5)]


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("all", [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]),
        ("last", [4, 4]),
        ("sum", [10, 10]),
        ("mean", [2, 2]),
        ("every:2", [1, 1, 3, 3]),
        ("every:5", [4, 4]),
    ],
)
def test_modes(text: str, rows: list[float]) -> None:
    (found,) = OutputMode.of(text).chosen(PARTS)
    assert found.dtype == np.float32
    assert found[:, 0].tolist() == rows


def test_none_but_the_loss() -> None:
    assert OutputMode.of("loss").chosen(PARTS) == ()


@pytest.mark.parametrize("text", ["al", "every", "every:0", "every:x", ""])
def test_what_is_no_mode(text: str) -> None:
    with pytest.raises(ValueError, match="did you mean|it takes|known"):
        OutputMode.of(text)


def test_fewer_microbatches_than_an_interval() -> None:
    with pytest.raises(Error, match="none of 5 microbatches"):
        OutputMode.of("every:6").chosen(PARTS)


@pytest.mark.parametrize(
    ("text", "microbatches"),
    [
        ("all", list(range(12))),
        ("last", [8, 11]),  # of each replica, in the last iteration
        ("every:2", [1, 6, 8, 4, 9, 11]),
        ("every:6", [8, 11]),
        ("sum", [0 + 1 + 2 + 6 + 7 + 8, 3 + 4 + 5 + 9 + 10 + 11]),
        ("mean", [4, 7]),
        ("loss", []),
    ],
)
def test_replicas_stand_one_after_another(text: str, microbatches: list[int]) -> None:
    rows, mode = Rows(iterations=2, accumulate=3, replicas=2), OutputMode.of(text)
    found = mode.chosen([(np.full((1, 2), i, np.float32),) for i in range(12)], rows)
    assert [int(row[0]) for array in found for row in array] == microbatches
    assert mode.count(rows) == len(microbatches)


def test_labels_of_the_outputs_that_are_given() -> None:
    labels = np.arange(24)
    rows = Rows(iterations=2, accumulate=3, replicas=2)
    assert OutputMode.of("last").aligned(labels, rows).tolist() == [16, 17, 22, 23]
    assert OutputMode.of("every:6").aligned(labels, rows).tolist() == [16, 17, 22, 23]
    assert OutputMode.of("all").aligned(labels, rows).tolist() == labels.tolist()
    with pytest.raises(Error, match="no labels belong to it"):
        OutputMode.of("sum").aligned(labels, rows)
    with pytest.raises(Error, match="no multiple of 12"):
        OutputMode.of("last").aligned(labels[:-1], rows)
