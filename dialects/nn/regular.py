"""Regular expressions in time linear in the text: patterns come with models, and backtracking could take for ever.

The syntax is RE2's, without what needs more than an automaton: literals, `.`, classes, groups, `|`, `* + ? {m,n}` (lazy ones alike, as
only whole matches count), `^ $`, `\\b \\B`, `\\d \\w \\s \\D \\W \\S`, escapes of characters, `\\Q..\\E`, and `(?i)`, `(?s)` in front.
"""

from __future__ import annotations

from dataclasses import field
from functools import lru_cache
from typing import TypeAlias

from ttc.dialects.core.errors import Error
from ttc.dialects.core.records import record

MAX_PATTERN = 2000
MAX_STATES = 20000
MAX_REPEATS = 1000
MAX_DEPTH = 100
MAX_STEPS = 1 << 28
"""The most steps of a match: characters of the text times states of the pattern."""

Ranges: TypeAlias = tuple[tuple[str, str], ...]
_CLASSES: dict[str, Ranges] = {
    "d": (("0", "9"),),
    "w": (("0", "9"), ("A", "Z"), ("_", "_"), ("a", "z")),
    "s": ((" ", " "), ("\t", "\n"), ("\f", "\r")),
}
_NAMED: dict[str, Ranges] = {
    "alpha": (("A", "Z"), ("a", "z")),
    "digit": _CLASSES["d"],
    "alnum": (("0", "9"), ("A", "Z"), ("a", "z")),
    "upper": (("A", "Z"),),
    "lower": (("a", "z"),),
    "space": ((" ", " "), ("\t", "\r")),
    "punct": (("!", "/"), (":", "@"), ("[", "`"), ("{", "~")),
    "xdigit": (("0", "9"), ("A", "F"), ("a", "f")),
    "word": _CLASSES["w"],
}
_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "f": "\f", "v": "\v", "a": "\a"}


@record(slots=True)
class _Set:
    """Characters in ranges, or those outside."""

    ranges: Ranges
    outside: bool = False

    def has(self, character: str) -> bool:
        return any(low <= character <= high for low, high in self.ranges) != self.outside


@record(slots=True)
class _All:
    """Parts one after the other."""

    parts: tuple[_Node, ...]


@record(slots=True)
class _Any:
    """A choice between alternatives of a pattern."""

    choices: tuple[_Node, ...]


@record(slots=True)
class _Repeat:
    """A part least to most times; None: no limit."""

    part: _Node
    least: int
    most: int | None


_Node: TypeAlias = "_Set | _All | _Any | _Repeat | str"


@record(frozen=False, slots=True)
class _State:
    """What leads on: a character of a set; or nothing, perhaps only at the start of the text, its end, or where a word ends or not."""

    accepts: _Set | None = None
    then: list[int] = field(default_factory=list)
    only: str = ""


class Pattern:
    """A compiled expression.  Raises E0402 for one that is malformed, unsupported or too large."""

    def __init__(self, text: str) -> None:
        if len(text) > MAX_PATTERN:
            raise Error("E0402", f"a pattern of {len(text)} characters is too long")
        self._states: list[_State] = []
        self._first, self._last = self._emitted(_Parser(text).whole())

    def matches(self, text: str) -> bool:
        """Return whether the whole text is one that the pattern describes.  Raises E0805 for text too long for it."""
        if len(text) * len(self._states) > MAX_STEPS:
            raise Error("E0805", f"a text of {len(text)} characters is too long for a pattern of {len(self._states)} states")
        current = self._closure({self._first}, text, 0)
        for at, character in enumerate(text):
            found: set[int] = set()
            for number in current:
                state = self._states[number]
                if state.accepts is not None and state.accepts.has(character):
                    found.update(state.then)
            if not found:
                return False
            current = self._closure(found, text, at + 1)
        return self._last in current

    def _closure(self, states: set[int], text: str, at: int) -> set[int]:
        """Return all states that are reached without a character."""
        seen, pending = set(states), list(states)
        while pending:
            state = self._states[pending.pop()]
            if state.accepts is not None or (state.only and not _holds(state.only, text, at)):
                continue
            for following in state.then:
                if following not in seen:
                    seen.add(following)
                    pending.append(following)
        return seen

    def _add(self, accepts: _Set | None = None, only: str = "") -> int:
        if len(self._states) >= MAX_STATES:
            raise Error("E0402", f"a pattern of more than {MAX_STATES} states")
        self._states.append(_State(accepts, [], only))
        return len(self._states) - 1

    def _emitted(self, node: _Node) -> tuple[int, int]:
        """First and last state of a part of the expression."""
        match node:
            case _Set():
                return self._chain(self._add(node), self._add())
            case str():
                return self._chain(self._add(only=node), self._add())
            case _All(parts):
                first = last = self._add()
                for part in parts:
                    begin, end = self._emitted(part)
                    self._states[last].then.append(begin)
                    last = end
                return first, last
            case _Any(choices):
                first, last = self._add(), self._add()
                for choice in choices:
                    begin, end = self._emitted(choice)
                    self._states[first].then.append(begin)
                    self._states[end].then.append(last)
                return first, last
            case _Repeat(part, least, most):
                return self._repeated(part, least, most)

    def _repeated(self, part: _Node, least: int, most: int | None) -> tuple[int, int]:
        first = last = self._add()
        end = self._add()
        for count in range(least if most is None else most):
            if count >= least:
                self._states[last].then.append(end)
            begin, after = self._emitted(part)
            self._states[last].then.append(begin)
            last = after
        if most is None:
            begin, after = self._emitted(part)
            self._states[last].then.append(begin)
            self._states[after].then.append(last)
        self._states[last].then.append(end)
        return first, end

    def _chain(self, first: int, last: int) -> tuple[int, int]:
        self._states[first].then.append(last)
        return first, last


def _holds(condition: str, text: str, at: int) -> bool:
    """Return whether a place in the text is what a part without a character asks for."""
    if condition in "^$":
        return at == (0 if condition == "^" else len(text))
    word = _Set(_CLASSES["w"])
    border = any(map(word.has, text[max(at - 1, 0) : at])) != any(map(word.has, text[at : at + 1]))
    return border == (condition == "b")


@lru_cache(maxsize=64)
def compiled(pattern: str) -> Pattern:
    """Return a pattern compiled; the last ones are kept."""
    return Pattern(pattern)


class _Parser:
    """From the text of an expression to its parts.  A `str` among them stands for the start or the end of the text."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._depth = 0
        self._fold = self._dot_all = False

    def whole(self) -> _Node:
        self._flags()
        found = self._choices()
        if self._at < len(self._text):
            raise self._bad("an unopened group is closed")
        return found

    def _flags(self) -> None:
        while self._text.startswith("(?", self._at):
            end = self._text.find(")", self._at)
            flags = self._text[self._at + 2 : end] if end > 0 else ""
            if not flags or not set(flags) <= set("is"):
                return
            self._fold |= "i" in flags
            self._dot_all |= "s" in flags
            self._at = end + 1

    def _bad(self, why: str) -> Error:
        return Error("E0402", f"a pattern cannot be used: {why}", excerpt=self._text[max(self._at - 20, 0) : self._at + 20])

    def _peek(self) -> str:
        return self._text[self._at : self._at + 1]

    def _next(self) -> str:
        character = self._peek()
        if not character:
            raise self._bad("it ends too early")
        self._at += 1
        return character

    def _takes(self, text: str) -> bool:
        found = self._text.startswith(text, self._at)
        self._at += len(text) if found else 0
        return found

    def _choices(self) -> _Node:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise self._bad(f"groups nest more than {MAX_DEPTH} deep")
        found = [self._sequence()]
        while self._takes("|"):
            found.append(self._sequence())
        self._depth -= 1
        return found[0] if len(found) == 1 else _Any(tuple(found))

    def _sequence(self) -> _Node:
        parts: list[_Node] = []
        while self._peek() not in ("", "|", ")"):
            *quoted, last = self._quoted() if self._takes("\\Q") else [self._part()]
            parts += [*quoted, self._counted(last)]
        return _All(tuple(parts))

    def _quoted(self) -> list[_Node]:
        """Characters that stand for themselves, up to \\E."""
        end = self._text.find("\\E", self._at)
        quoted = self._text[self._at : end if end >= 0 else len(self._text)]
        self._at += len(quoted) + (2 if end >= 0 else 0)
        return [self._literal(c) for c in quoted] or [_All(())]

    def _part(self) -> _Node:
        character = self._next()
        if character == "(":
            return self._group()
        if character == "[":
            return self._class()
        if character in "^$":
            return character
        if character == ".":
            return _Set((), outside=True) if self._dot_all else _Set((("\n", "\n"),), outside=True)
        if character in "*+?":
            raise self._bad("nothing is repeated")
        return self._escape() if character == "\\" else self._literal(character)

    def _literal(self, character: str) -> _Set:
        return _Set(self._folded(((character, character),)))

    def _folded(self, ranges: Ranges) -> Ranges:
        """With the letters of the other case, of ASCII and of single characters."""
        if not self._fold:
            return ranges
        found = list(ranges)
        for low, high in ranges:
            if low == high:
                found += [(other, other) for other in (low.lower(), low.upper()) if len(other) == 1]
            for first, last, shift in (("a", "z", -32), ("A", "Z", 32)):
                start, end = max(low, first), min(high, last)
                if start <= end:
                    found.append((chr(ord(start) + shift), chr(ord(end) + shift)))
        return tuple(found)

    def _group(self) -> _Node:
        if self._takes("?P<") or self._takes("?<"):
            end = self._text.find(">", self._at)
            if end < 0 or not self._text[self._at : end].isidentifier():
                raise self._bad("a group has no name, or looks behind itself")
            self._at = end + 1
        elif not self._takes("?:") and self._takes("?"):
            raise self._bad("groups with flags or conditions are not supported")
        found = self._choices()
        if not self._takes(")"):
            raise self._bad("a group is not closed")
        return found

    def _counted(self, part: _Node) -> _Node:
        while self._peek() and self._peek() in "*+?{":
            least, most = self._bounds()
            self._takes("?")  # lazy: a whole match is the same
            if max(least, most or 0) > MAX_REPEATS or (most is not None and most < least):
                raise self._bad(f"it repeats something {least} to {most} times")
            part = _Repeat(part, least, most)
        return part

    def _bounds(self) -> tuple[int, int | None]:
        """Return how often, least and most."""
        if self._takes("*"):
            return 0, None
        if self._takes("+"):
            return 1, None
        if self._takes("?"):
            return 0, 1
        end = self._text.find("}", self._at)
        low, comma, high = self._text[self._at + 1 : end].partition(",") if end > 0 else ("", "", "")
        if not _is_number(low) or (high and not _is_number(high)):
            raise self._bad("a brace does not hold a number")
        self._at = end + 1
        return int(low), int(high) if high else None if comma else int(low)

    def _escape(self) -> _Node:
        character = self._next()
        if character in "bB":
            return character
        if character in "Az":
            return "^" if character == "A" else "$"
        if character.lower() in _CLASSES:
            return _Set(_CLASSES[character.lower()], outside=character.isupper())
        return self._literal(self._character(character))

    def _character(self, character: str) -> str:
        """Return what an escape stands for."""
        if character == "x":
            braced = self._peek() == "{"
            end = self._text.find("}", self._at) if braced else self._at + 2
            digits = self._text[self._at + braced : max(end, self._at)]
            self._at += len(digits) + 2 * braced
            if not 0 < len(digits) <= 6 or not set(digits) <= set("0123456789abcdefABCDEF") or int(digits, 16) > 0x10FFFF:
                raise self._bad("\\x stands before no character's number")
            return chr(int(digits, 16))
        if character in _ESCAPES:
            return _ESCAPES[character]
        if character.isalnum():
            raise self._bad(f"\\{character} is not supported")
        return character

    def _class(self) -> _Set:
        outside = self._takes("^")
        found: list[tuple[str, str]] = []
        first = True
        while first or not self._takes("]"):
            first = False
            found.extend(self._member())
        return _Set(self._folded(tuple(found)), outside)

    def _member(self) -> Ranges:
        """Return one entry of a class: a range, a character, or a class with a name."""
        if self._takes("[:"):
            end = self._text.find(":]", self._at)
            name = self._text[self._at : end] if end > 0 else ""
            if name not in _NAMED:
                raise self._bad("there is no class of that name")
            self._at = end + 2
            return _NAMED[name]
        low = self._next()
        if low == "\\":
            low = self._next()
            if low in _CLASSES:
                return _CLASSES[low]
            low = self._character(low)
        if self._peek() != "-" or self._text[self._at + 1 : self._at + 2] in ("", "]"):
            return ((low, low),)
        self._next()
        high = self._next()
        high = self._character(self._next()) if high == "\\" else high
        if high < low:
            raise self._bad(f"the range {low}-{high} is empty")
        return ((low, high),)


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) <= 6
