"""Regular expressions against Python's on what both have, and what bounds them."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ttc.dialects.core.errors import Error
from ttc.dialects.nn import regular
from ttc.dialects.nn.regular import Pattern, compiled

PATTERNS = [
    "", "abc", "a|b|", "(a|b)*c", "a+b?", "a{2,3}", "a{2}", "a{2,}", "a{0}", "a*?b+?", "(?:ab)+", "(?P<n>a)b", ".", "a.c", "[abc]",
    "[^a-c]+",
    "[a-cx]*", "[]a]+", "[^]]", "[a-]", r"\d+", r"\D\w", r"\s\S", r"[\d.]+", r"\.\*", r"\x41", r"^a$", r"\ba\b", r"a\Bb", r"a\b b",
    "(a*)*b",
    "(?i)aB[c-e]", "(?s)a.b", r"(\W|^)[\w.\-]{0,5}@(a|b)\.c(\W|$)", r"[\\\]]", "((a|b){1,2}c){2}",
]  # fmt: skip


@pytest.mark.parametrize("pattern", PATTERNS)
@settings(max_examples=25)
@given(text=st.text("abcABx.@ \n1_]\\*-", max_size=7))
def test_whole_matches_are_those_of_python(pattern: str, text: str) -> None:
    assert compiled(pattern).matches(text) == (re.fullmatch(pattern, text, re.ASCII) is not None)


def test_syntax_that_python_lacks() -> None:
    assert compiled(r"[[:alpha:]_]+[[:digit:]]").matches("ab_1")
    assert compiled(r"\Qa.b*\E+").matches("a.b**")
    assert compiled(r"\Q+\E").matches("+")
    assert compiled(r"\x{1F600}\z").matches("\U0001f600")


@pytest.mark.parametrize(
    "pattern",
    [
        "(",
        ")",
        "(a",
        "a)",
        "[",
        "[a",
        "*",
        "a|*",
        "[z-a]",
        "a{1001}",
        "a{3,2}",
        "a{",
        "a{x}",
        r"\1",
        r"\p{L}",
        r"\x",
        r"\x{}",
        r"\xzz",
        "\\",
    ]
    + ["(?=a)", "(?<=a)b", "(?P<>a)", "(?#a)", "[[:none:]]", "a" * 3000, "(" * 200 + ")" * 200, "((a{100}){100}){100}"],
)
def test_patterns_that_cannot_be_used(pattern: str) -> None:
    with pytest.raises(Error) as caught:
        Pattern(pattern)
    assert caught.value.code == "E0402"


def test_time_is_linear_in_the_text() -> None:
    started = time.process_time()
    assert not compiled("(a*)*(a|aa)*b").matches("a" * 20000)
    assert time.process_time() - started < 5


def test_texts_too_long_for_a_pattern(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(regular, "MAX_STEPS", 100)
    with pytest.raises(Error) as caught:
        Pattern("abc").matches("a" * 100)
    assert caught.value.code == "E0805"
