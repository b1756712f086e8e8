"""Pages that are made from the code are as the code is now."""

from __future__ import annotations

from pathlib import Path

import pytest

import docs

PAGES = Path(__file__).parents[2] / "docs"


def test_names_that_follow_each_other_with_the_same_text_share_a_row() -> None:
    rows = {"a": "one", "b": "one", "c": "two", "d": "one"}
    assert docs.table_of("| x | y |", rows).split("\n") == [
        "| x | y |",
        "|---|---|",
        "| `a`, `b` | one |",
        "| `c` | two |",
        "| `d` | one |",
        "",
    ]


def test_a_part_of_a_page_is_replaced() -> None:
    page = f"before\n{docs.BEGIN}old\n{docs.END}after\n"
    assert docs.with_part(page, "new\n") == f"before\n{docs.BEGIN}new\n{docs.END}after\n"


def test_the_page_of_poptorch_is_that_of_the_code() -> None:
    pytest.importorskip("torch", reason="torch has a build for Python 3.11 alone")
    page = (PAGES / "coming_from_poptorch.md").read_text(encoding="utf-8")
    assert docs.with_part(page, docs.names_of_poptorch()) == page, "make docs"
