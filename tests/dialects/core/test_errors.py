"""The one error: its text, its place, its hints; and the table of codes against what the sources raise."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ttc.dialects.core.errors import CODES, Error, nearest

ROOT = Path(__file__).resolve().parents[3]
TABLE = ROOT / "dialects" / "core" / "errors.py"


def test_codes_are_those_that_the_sources_name() -> None:
    sources = [path for floor in ("dialects", "runtime", "passes", "ttc") for path in (ROOT / floor).rglob("*.py") if path != TABLE]
    named = {code for path in sources for code in re.findall(r'"(E\d{4})"', path.read_text())}
    assert named == set(CODES)


def test_the_text_names_code_place_excerpt_and_hint() -> None:
    error = Error("E0402", "groups is at least 1, not 0", where="/conv", hint="leave groups out", excerpt="a\nb")
    assert str(error) == "error[E0402]: /conv: groups is at least 1, not 0\n  a\n  b\nhint: leave groups out"
    assert str(Error("E0901", "odd")) == "error[E0901]: odd"


def test_long_lines_are_cut() -> None:
    text = str(Error("E0301", "x" * 1_000_000, excerpt="a\n" + "y" * 3000))
    assert [len(line) for line in text.split("\n")] == [
        2000 + len("... (998016 more characters)"),
        3,
        2000 + len("... (1002 more characters)"),
    ]


def test_the_first_place_counts() -> None:
    assert Error("E0401", "odd").at("inner").at("outer").where == "inner"


@pytest.mark.parametrize(
    ("word", "words", "hint"),
    [
        ("hots", ["host", "n150"], "did you mean 'host'?"),
        ("xyz", ["b", "a", "b"], "known: a, b"),
        ("xyz", [], None),
        ("xyz", [f"word{i}" for i in range(25)], None),
    ],
)
def test_the_nearest_word(word: str, words: list[str], hint: str | None) -> None:
    assert nearest(word, words) == hint
