"""Outputs of a call over several microbatches."""

from __future__ import annotations

import numpy as np
import pytest

from ttc.dialects.core.errors import Error
from ttc.train.outputs import OutputMode

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
