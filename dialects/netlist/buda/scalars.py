"""Values as YAML writes them in a flow: plain where every reader takes them for what they are, quoted otherwise."""

from __future__ import annotations

import math
import re

from ttc.dialects.core.plain.functions import Plain

PLAIN = re.compile(r"[A-Za-z_$/][A-Za-z0-9_$./+\-]*")
"""Texts that no reader takes for anything else than a text, apart from `WORDS`."""
WORDS = frozenset("true false yes no on off y n null none nan inf".split())


def scalar(value: Plain) -> str:
    """Return a scalar.  Texts are quoted unless they are plain words: names come from anywhere."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case float():
            return _float(value)
        case str():
            plain = PLAIN.fullmatch(value) is not None and value.lower() not in WORDS
            return value if plain else _quoted(value)
        case _:
            return flow(value)


def flow(value: Plain) -> str:
    """Return a scalar, or a list in brackets."""
    if isinstance(value, tuple):
        return "[" + ", ".join(map(flow, value)) + "]"
    return scalar(value)


def _float(value: float) -> str:
    if not math.isfinite(value):
        return ".nan" if math.isnan(value) else ".inf" if value > 0 else "-.inf"
    text = repr(value)
    return text if "." in text or "e" not in text else text.replace("e", ".0e")


def _quoted(text: str) -> str:
    """In double quotes; what does not print is written by its number."""
    return '"' + "".join(map(_character, text)) + '"'


def _character(c: str) -> str:
    if c in '"\\':
        return "\\" + c
    if c.isprintable():
        return c
    code = ord(c)
    return f"\\x{code:02x}" if code < 1 << 8 else f"\\u{code:04x}" if code < 1 << 16 else f"\\U{code:08x}"
