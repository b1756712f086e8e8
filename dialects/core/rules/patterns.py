"""Patterns by which rules say what they are about: shell patterns, or regular expressions after `re:`."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from functools import lru_cache

from ttc.dialects.core.errors import Error

REGEX = "re:"
"""Begins a pattern that is a regular expression, which the whole text must match."""


def fits(pattern: str, text: str) -> bool:
    """Return whether a text matches a pattern."""
    if pattern.startswith(REGEX):
        return compiled(pattern).fullmatch(text) is not None
    return fnmatchcase(text, pattern)


@lru_cache(256)
def compiled(pattern: str) -> re.Pattern[str]:
    """Return the regular expression of a pattern that begins with `re:`.  Raises E0101 for one that is none."""
    try:
        return re.compile(pattern.removeprefix(REGEX))
    except (re.error, RecursionError) as error:
        raise Error("E0101", f"'{pattern[:80]}' is no regular expression: {error}") from None


def checked(pattern: str) -> str:
    """Return a pattern that can be used.  Raises E0101 for a regular expression that is none."""
    if pattern.startswith(REGEX):
        compiled(pattern)
    return pattern
