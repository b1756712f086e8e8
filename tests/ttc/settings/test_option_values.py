"""Kinds of option values: what each takes, and what it says of what it does not take."""

from __future__ import annotations

from pathlib import Path

import pytest

import ttc.settings.option_values as takes


@pytest.mark.parametrize(
    ("read", "raw", "value"),
    [
        (takes.word(("a", "b")), "b", "b"),
        (takes.truth, "true", True),
        (takes.truth, 0, False),
        (takes.machine, Path("x.yaml"), "x.yaml"),
        (takes.integer(1), "12", 12),
        (takes.correlation, "0.5", 0.5),
        (takes.words, "a,b,a", ("a", "b")),
        (takes.rows, [7, 3], "[3, 7]"),
        (takes.rows, 2, "2"),
        (takes.level(3), "3", 3),
        (takes.read_shapes, "x=1x3,y=", (("x", (1, 3)), ("y", ()))),
    ],
)
def test_values(read, raw, value) -> None:
    assert read(raw) == value


@pytest.mark.parametrize(
    ("read", "raw", "reason"),
    [
        (takes.word(("alpha", "beta")), "alpa", "alpha"),
        (takes.truth, "yes", "true or false"),
        (takes.text, "", "a name"),
        (takes.path, 3, "a path"),
        (takes.integer(1), 0, "at least 1"),
        (takes.integer(0), "9" * 40, "whole number"),
        (takes.correlation, "nan", "from 0 to 1"),
        (takes.words, [1], "names"),
        (takes.rows, True, "number of rows"),
        (takes.level(2), 3, "0, 1 or 2"),
        (takes.level(2), True, "0, 1 or 2"),
        (takes.read_shapes, "x=1,x=2", "each name once"),
    ],
)
def test_reasons(read, raw, reason) -> None:
    with pytest.raises(ValueError, match=reason):
        read(raw)
