"""How text that comes from elsewhere is shown: names of models and archives may hold any character, and a terminal obeys some of them.

One rule for tables, messages, remarks, traces and IR: what is not printable is escaped.  That is what Python's `str.isprintable` says of a
character: control characters (line breaks, ESC), Unicode's formats (directions of text, joiners), separators of lines and paragraphs,
spaces that are not the plain one, and what no character is.
"""

from __future__ import annotations


def shown(text: str) -> str:
    r"""Return text as one line that can be printed, others' characters escaped as Python does: `a\nb`, `\x1b[31m`, `\u202e`."""
    return text if text.isprintable() else "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def shown_lines(text: str) -> str:
    """Return text of several lines, each of them as `shown` has it."""
    return "\n".join(map(shown, text.split("\n")))


def ir_escaped(text: str) -> str:
    r"""Characters of a string of IR text, which the parser reads back: `\n`, or the bytes in UTF-8 as `\E2\80\AE`."""
    text = text.replace("\\", "\\\\").replace('"', '\\"')
    return text if text.isprintable() else "".join(c if c.isprintable() else _ir_character(c) for c in text)


def _ir_character(character: str) -> str:
    if character in "\n\t":
        return "\\n" if character == "\n" else "\\t"
    return "".join(f"\\{byte:02X}" for byte in character.encode("utf-8", "surrogatepass"))
