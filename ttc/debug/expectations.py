"""Diagnostics that IR text announces in its comments: `// expected-error @+1 2 {{axis 7 is outside rank 2}}`.

A comment names the line on which an error is to be: its own, `@+N` and `@-N` from there, `@above`, `@below`, or `@unknown` for one that
names no line; then how many of the kind there are to be, if not one.  Braces hold a part of the message, or of its code; with
`expected-error-re` what stands in `{{` and `}}` inside is a regular expression.  A comment may announce several, one after another.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ttc.dialects.core.errors import Error
from ttc.dialects.core.records import record

_START = re.compile(r"//\s*+expected-")
_ITEM = re.compile(
    r"(?://)?\s*+expected-(\w++)(-re)?+\s*+"
    r"(?:@\s*+(\+\d{1,6}|-\d{1,6}|above|below|unknown)\s*+)?+(?:([1-9]\d{0,3})\s*+)?+"
    r"\{\{(.*?)\}\}(?!\})\s*+(?=$|(?://\s*+)?expected-)"
)
MAX_ANNOUNCED = 10_000
_SHIFTS = {"above": -1, "below": 1}


@record
class Expected:
    """An error that is to come.  line: None for one that names no line; pattern: found in its text."""

    line: int | None
    pattern: re.Pattern[str]
    text: str


def expected_errors(text: str, name: str) -> list[Expected]:
    """Return what the comments of a text announce.  Raises E0301 for a comment that cannot be read."""
    found: list[Expected] = []
    for number, line in enumerate(text.split("\n"), 1):
        start = _START.search(line)
        position = len(line) if start is None else start.start()
        while position < len(line):
            match = _ITEM.match(line, position)
            if match is None:
                raise Error("E0301", "the comment announces nothing", where=f"{name}:{number}", hint="// expected-error @+1 {{words}}")
            found += _announced(match, number, f"{name}:{number}")
            position = match.end()
        if len(found) > MAX_ANNOUNCED:
            raise Error("E0301", f"more than {MAX_ANNOUNCED:,} errors are announced", where=f"{name}:{number}")
    return found


def _announced(match: re.Match[str], number: int, where: str) -> list[Expected]:
    kind, regular, shift, count, words = match.groups()
    if kind != "error":
        raise Error("E0301", f"expected-{kind} is not known", where=where, hint="errors alone are announced: expected-error")
    at = None if shift == "unknown" else number + (_SHIFTS[shift] if shift in _SHIFTS else int(shift or 0))
    return [Expected(at, _pattern(words, bool(regular), where), words)] * int(count or 1)


def _pattern(words: str, regular: bool, where: str) -> re.Pattern[str]:
    if not regular:
        return re.compile(re.escape(words))
    parts = re.split(r"\{\{(.*?)\}\}", words)
    try:
        return re.compile("".join(part if index % 2 else re.escape(part) for index, part in enumerate(parts)))
    except re.error as error:
        raise Error("E0301", f"the regular expression cannot be read: {error}", where=where) from None


def mismatches(expected: Sequence[Expected], errors: Sequence[Error], name: str) -> list[Error]:
    """Return what was announced and did not come, and what came unannounced.

    errors: that the text gave; the places of those in it start with `NAME:LINE`.
    """
    open_ = list(expected)
    found: list[Error] = []
    for error in errors:
        line = line_of(error, name)
        match = next((e for e in open_ if e.line == line and e.pattern.search(str(error))), None)
        if match is None:
            found.append(Error(error.code, f"unexpected error: {error.message}", error.where, error.hint, error.excerpt))
        else:
            open_.remove(match)
    for item in open_:
        where = name if item.line is None else f"{name}:{item.line}"
        found.append(Error("E0301", f'expected error "{item.text}" did not come', where=where))
    return found


def line_of(error: Error, name: str) -> int | None:
    """Return the line of the text that an error is about."""
    match = re.match(rf"(?:.* )?{re.escape(name)}:(\d+)", error.where or "")
    return int(match[1]) if match else None
