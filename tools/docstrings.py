"""Turns the docstrings of this project, prose followed by sections such as `Args:`, into Markdown."""

from __future__ import annotations

import inspect
import re

SECTIONS = {
    "Args": "Arguments",
    "Returns": "Returns",
    "Raises": "Raises",
    "Source": "Source",
    "Before": "Before",
    "After": "After",
    "Missed": "Missed",
}
"""Headings that may stand at the start of a docstring's line, and how the page names them."""
CODE = ("Before", "After")
"""Sections that hold IR."""
_HEADING = re.compile(rf"^({'|'.join(SECTIONS)}):(?: +(.*))?$")
_ENTRY = re.compile(r"^([A-Za-z_*][\w*]*(?:, [A-Za-z_*][\w*]*)*): ")
_SPECIAL = re.compile(r"([\\*_<>\[\]|])")


def escaped(text: str) -> str:
    """Return the text with the characters that Markdown gives a meaning escaped, but for what stands between backticks."""
    parts = text.split("`")
    return "`".join(part if i % 2 and len(parts) % 2 else _SPECIAL.sub(r"\\\1", part) for i, part in enumerate(parts))


def summary(docstring: str | None) -> str:
    """Return the first paragraph of a docstring as one line of Markdown."""
    return escaped(" ".join(inspect.cleandoc(docstring or "").partition("\n\n")[0].split()))


def markdown(docstring: str | None) -> list[str]:
    """Yield the lines of a docstring's Markdown: paragraphs, then a list for each section, and a block of code for each that holds IR."""
    prose: list[str] = []
    sections: list[tuple[str, list[str]]] = []
    for line in inspect.cleandoc(docstring or "").splitlines():
        heading = _HEADING.match(line)
        if heading:
            sections.append((heading[1], [heading[2]] if heading[2] else []))
        elif sections:
            sections[-1][1].append(line)
        else:
            prose.append(escaped(line))
    lines = [*prose, ""]
    for name, body in sections:
        lines += _code(name, body) if name in CODE else _listed(name, body)
    return lines


def _code(name: str, body: list[str]) -> list[str]:
    text = inspect.cleandoc("\n" + "\n".join(body)).splitlines()
    return [f"**{SECTIONS[name]}**", "", "```mlir", *text, "```", ""]


def _listed(name: str, body: list[str]) -> list[str]:
    found = [f"- {_named(entry)}" for entry in entries(body)]
    return [f"**{SECTIONS[name]}**", "", *found, ""] if found else []


def _named(entry: str) -> str:
    name = _ENTRY.match(entry)
    return f"`{name[1]}`: {escaped(entry[name.end() :])}" if name else escaped(entry)


def entries(body: list[str]) -> list[str]:
    """Return the entries of a section: each `name: text`, on lines of its own or two spaces behind the one before; else all of it as
    one.
    """
    text = "\n".join(line.strip() for line in body if line.strip())
    pieces = re.split(r"(?:\n|  )(?=[A-Za-z_*][\w*]*(?:, [A-Za-z_*][\w*]*)*: )", text)
    return [" ".join(piece.split()) for piece in pieces if piece.strip()]
