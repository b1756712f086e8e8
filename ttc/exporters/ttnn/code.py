"""Python source as a small tree, printed as `ruff format` leaves it: on one line if it fits, else an argument a line."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from typing import TypeAlias

from ttc.dialects.core.plain.functions import Plain
from ttc.dialects.core.records import record

WIDTH = 88
"""The most characters of a line, which is ruff's own default."""
INDENT = "    "


@record
class CallText:
    """A call, or with brackets a tuple or list: `callee(arguments, keyword=...)`."""

    callee: str
    arguments: tuple[Code, ...] = ()
    keywords: tuple[tuple[str, Code], ...] = ()
    brackets: str = "()"

    def parts(self) -> list[tuple[str, Code]]:
        """Return the arguments, each with what stands before it."""
        return [("", item) for item in self.arguments] + [(f"{name}=", item) for name, item in self.keywords]


Code: TypeAlias = "str | CallText"


def call(callee: str, *arguments: Code, **keywords: Code | None) -> CallText:
    """Make a call; keywords that are None are left out."""
    return CallText(callee, arguments, tuple((name, value) for name, value in keywords.items() if value is not None))


def items(values: Sequence[Code], brackets: str = "()") -> CallText:
    """Make a tuple, or a list."""
    return CallText("", tuple(values), (), brackets)


def numbers(values: tuple[int, ...] | list[int], brackets: str = "()") -> CallText:
    """Make a tuple or list of whole numbers."""
    return items([str(value) for value in values], brackets)


def literal(value: Plain) -> str:
    """Return a scalar as Python writes it; texts in the quotes that ruff prefers."""
    if isinstance(value, str):
        return ascii(value) if '"' in value else '"' + ascii(value + "'")[1:-2] + '"'
    if isinstance(value, float) and not isfinite(value):
        return f'float("{value}")'
    return repr(value).replace("e+", "e")


def flat(code: Code) -> str:
    """Return code on one line."""
    if isinstance(code, str):
        return code
    parts = [before + flat(item) for before, item in code.parts()]
    comma = "," if not code.callee and code.brackets == "()" and len(parts) == 1 else ""
    return f"{code.callee}{code.brackets[0]}{', '.join(parts)}{comma}{code.brackets[1]}"


def statement(before: str, code: Code, depth: int = 1, after: str = "") -> list[str]:
    """Return the lines of `before` and code, indented; after: what stands behind it on its last line."""
    lead = INDENT * depth + before
    line = lead + flat(code) + after
    if len(line) <= WIDTH or isinstance(code, str) or not code.parts():
        return [line]
    lines = [f"{lead}{code.callee}{code.brackets[0]}"]
    for name, item in code.parts():
        lines += statement(name, item, depth + 1, ",")
    return [*lines, f"{INDENT * depth}{code.brackets[1]}{after}"]


def deletion(names: list[str], depth: int = 1) -> list[str]:
    """Return statements that delete names, as few as lines hold."""
    lines: list[str] = []
    for name in names:
        if lines and len(lines[-1]) + 2 + len(name) <= WIDTH:
            lines[-1] += f", {name}"
        else:
            lines.append(f"{INDENT * depth}del {name}")
    return lines


def pairs(sizes: tuple[int, ...]) -> CallText:
    """Return TT-NN's list of margins behind the dimensions alone."""
    return items([numbers((0, size)) for size in sizes], "[]")


def comment(text: str, depth: int = 1) -> list[str]:
    """Return a comment on as many lines as it needs; what is not printable is escaped."""
    lead, lines = f"{INDENT * depth}# ", [""]
    for word in ascii(text)[1:-1].split(" "):
        if lines[-1] and len(lead) + len(lines[-1]) + 1 + len(word) > WIDTH:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return [lead + line for line in lines if line]
