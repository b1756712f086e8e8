"""From nodes of a document to the values of fields.

Each function raises ValueError with what the field takes where the node is not that.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, TypeAlias

from ttc.dialects.core.errors import nearest
from ttc.dialects.core.plain.functions import Plain
from ttc.dialects.netlist.buda.document import Items, Node, Quoted, Table
from ttc.dialects.netlist.buda.form import Pair, Tm

Convert: TypeAlias = Callable[[Node], Any]

INTEGER = re.compile(r"[-+]?(?:0[xX][0-9a-fA-F]{1,16}|0[0-7]{1,22}|[0-9]{1,19})")
FLOAT = re.compile(r"[-+]?(?:[0-9]{1,40}\.?[0-9]{0,40}|\.[0-9]{1,40})(?:[eE][-+]?[0-9]{1,3})?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")
WORDS = {word: value for value, words in ((True, "true yes on y"), (False, "false no off n")) for word in words.split()}
SHOWN = 60
MAX_COUNT = 1 << 31
MAX_DEVICES = 256
"""Limits of what is counted, and of the devices of one queue or graph."""


@lru_cache(1 << 16)
def integer_of(text: str) -> int | None:
    """Return the integer that a text writes in decimal, 0x or, after a leading 0, octal digits; None if it writes none below 2^63."""
    if INTEGER.fullmatch(text) is None:
        return None
    digits = text.lstrip("+-")
    base = 16 if digits[:2] in ("0x", "0X") else 8 if digits[0] == "0" and len(digits) > 1 and digits.strip("01234567") == "" else 10
    value = int(digits, base)
    return None if value >> 63 else -value if text[0] == "-" else value


def boolean_of(text: str) -> bool | None:
    """True, False; also yes, no, on and off, in small or capital letters or with one capital."""
    word = text.lower()
    return WORDS.get(word) if text in (word, word.upper(), word.capitalize()) else None


def float_of(text: str) -> float | None:
    """Return the number that a text writes."""
    if FLOAT.fullmatch(text) is None:
        whole = integer_of(text)
        return None if whole is None else float(whole)
    return float(text.replace(".", "", 1) if text.lstrip("+-")[1:].isalpha() else text)


def shown(node: Node) -> str:
    """Return a node in a message."""
    if isinstance(node, Table):
        return "a map"
    if isinstance(node, Items):
        parts = [shown(x) for x in node.values[:8]]
        return f"[{', '.join(parts)}{', ...' if len(node.values) > len(parts) else ''}]"
    return "nothing" if node is None else f"'{node[:SHOWN]}'"


# ---- scalars -----------------------------------------------------------------------------------------------------------------------


def text(node: Node) -> str:
    """Read a text that is not empty."""
    if isinstance(node, str) and node:
        return str(node)
    raise ValueError(f"takes a text, not {shown(node)}")


def integer(node: Node) -> int:
    """Read an integer of a scalar."""
    value = integer_of(node) if isinstance(node, str) else None
    if value is None:
        raise ValueError(f"takes an integer, not {shown(node)}")
    return value


def at_least(low: int) -> Convert:
    """An integer from `low` on, small enough to count something."""

    def convert(node: Node) -> int:
        value = integer(node)
        if value < low:
            raise ValueError(f"is at least {low}, not {value}")
        if value > MAX_COUNT:
            raise ValueError(f"is at most {MAX_COUNT}, not {value}")
        return value

    return convert


def boolean(node: Node) -> bool:
    """Read a scalar that is true or false."""
    value = boolean_of(node) if isinstance(node, str) else None
    if value is None:
        raise ValueError(f"is true or false, not {shown(node)}")
    return value


def number(node: Node) -> float:
    """Read a number of a scalar."""
    value = float_of(node) if isinstance(node, str) else None
    if value is None:
        raise ValueError(f"takes a number, not {shown(node)}")
    return value


def choice(*words: str) -> Convert:
    """Return a reader of one of some words."""
    known = frozenset(words)

    def convert(node: Node) -> str:
        if not isinstance(node, str) or node not in known:
            close = nearest(node, known) if isinstance(node, str) and len(node) <= SHOWN else None
            raise ValueError(f"cannot be {shown(node)}" + (f"; {close}" if close else f": it is one of {', '.join(words)}"))
        return str(node)

    return convert


def plain(node: Node) -> Plain:
    """Any node: a scalar by what it looks like, a list as a tuple, a map as a tuple of (key, value)."""
    if isinstance(node, Table):
        return tuple((key, plain(value)) for key, value in node.values.items())
    if isinstance(node, Items):
        return tuple(plain(value) for value in node.values)
    return None if node is None else str(node) if isinstance(node, Quoted) else _scalar(node)


@lru_cache(1 << 16)
def _scalar(word: str) -> Plain:
    whole = integer_of(word)
    if whole is not None:
        return whole
    real = float_of(word)
    if real is not None:
        return real
    truth = boolean_of(word) if len(word) > 1 else None
    return word if truth is None else truth


# ---- lists and maps ----------------------------------------------------------------------------------------------------------------


def items(node: Node) -> list[Node]:
    """Return the members of a list."""
    if not isinstance(node, Items):
        raise ValueError(f"takes a list, not {shown(node)}")
    return node.values


def list_of(convert: Convert) -> Convert:
    """Return a list of one kind of value, as a tuple."""
    return lambda node: tuple([convert(value) for value in items(node)])


def pair_of(convert: Convert) -> Convert:
    """Return a list of two values."""

    def both(node: Node) -> Pair:
        if not isinstance(node, Items) or len(node.values) != 2:
            raise ValueError(f"takes two integers [a, b], not {shown(node)}")
        return convert(node.values[0]), convert(node.values[1])

    return both


def one_or_more(convert: Convert) -> Convert:
    """Return a value, or a list of at least one, as a tuple."""

    def all_of(node: Node) -> tuple[Any, ...]:
        if not isinstance(node, Items):
            return (convert(node),)
        if not 0 < len(node.values) <= MAX_DEVICES:
            raise ValueError(f"takes 1 to {MAX_DEVICES} values, not {len(node.values)}")
        return tuple([convert(value) for value in node.values])

    return all_of


def addresses(node: Node) -> tuple[Pair, ...]:
    """Return a list of [channel, address], or of addresses in channel 0."""
    pair = pair_of(integer)
    return tuple([pair(value) if isinstance(value, Items) else (0, integer(value)) for value in items(node)])


def mapping(node: Node) -> Mapping[str, Node]:
    """Return the values of a map by key."""
    if not isinstance(node, Table):
        raise ValueError(f"takes a map, not {shown(node)}")
    return node.values


def attributes(node: Node) -> dict[str, Plain]:
    """Return the attributes of an op."""
    found = {key: plain(value) for key, value in mapping(node).items()}
    if not found:
        raise ValueError("names at least one attribute")
    return found


def forks(node: Node) -> tuple[tuple[str, str], ...]:
    """Return a list of maps {queue: op}."""
    return tuple([(name, text(op)) for value in items(node) for name, op in mapping(value).items()])


def pad(node: Node) -> tuple[int, int, float]:
    """Return a map {rt, ct, pad_value}."""
    values = _known(node, ("rt", "ct", "pad_value"))
    rt, ct = natural(values.get("rt", "0")), natural(values.get("ct", "0"))
    return rt, ct, number(values.get("pad_value", "0"))


def unpad(node: Node) -> Pair:
    """Read a map {rt, ct} of natural numbers."""
    values = _known(node, ("rt", "ct"))
    return natural(values.get("rt", "0")), natural(values.get("ct", "0"))


def _known(node: Node, keys: tuple[str, ...]) -> Mapping[str, Node]:
    values = mapping(node)
    for key in values:
        if key not in keys:
            raise ValueError(f"has no field '{key[:SHOWN]}': known are {', '.join(keys)}")
    return values


# ---- tile manipulations ------------------------------------------------------------------------------------------------------------

FACTORS = ("hslice", "hstack", "vslice", "vstack")
TM_KINDS = (*FACTORS, "broadcast", "tile_broadcast", "pad", "transpose")


def tms(node: Node) -> tuple[Tm, ...]:
    """Return a list of tile manipulations; none where nothing is written."""
    if node is None:
        return ()
    return tuple([tm for value in items(node) for tm in _tms_of(value)])


def _tms_of(node: Node) -> list[Tm]:
    if isinstance(node, str):
        if node != "transpose":
            raise ValueError(f"{shown(node)} is no tile manipulation without arguments: only transpose is")
        return [Tm("transpose")]
    return [_tm(kind, args) for kind, args in mapping(node).items()]


def _tm(kind: str, node: Node) -> Tm:
    if kind in FACTORS:
        return Tm(kind, (positive(node) if kind.endswith("slice") else natural(node),))
    if kind == "broadcast":
        pairs = list(mapping(node).items())
        if len(pairs) != 1 or pairs[0][0] not in ("r", "c", "z"):
            raise ValueError("a broadcast names one dimension, r, c or z, and a factor: {r: 2}")
        return Tm(kind, (pairs[0][0], positive(pairs[0][1])))
    if kind == "tile_broadcast":
        return Tm(kind, (choice("r", "c", "rc")(node),))
    if kind == "pad":
        values = items(node)
        if len(values) != 3:
            raise ValueError(f"a pad takes [rt, ct, value], not {shown(node)}")
        return Tm(kind, (natural(values[0]), natural(values[1]), number(values[2])))
    close = nearest(kind, TM_KINDS) if len(kind) <= SHOWN else None
    raise ValueError(f"there is no tile manipulation '{kind[:SHOWN]}'" + (f"; {close}" if close else ""))


positive, natural = at_least(1), at_least(0)
