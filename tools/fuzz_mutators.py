"""Mutations for `tools/fuzz.py` of valid files: bytes, tokens of texts, values of JSON, fields of protobuf messages, members of
containers.
"""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Callable, Sequence
from random import Random
from typing import Any, TypeAlias

from ttc.dialects.core.errors import Error
from ttc.importers.common.protobuf import BYTES, VARINT, fields, read_varint, write_varint

Mutator: TypeAlias = "Callable[[Random, bytes, Sequence[bytes]], bytes]"
"""Makes damaged bytes from valid or already damaged ones, and those of files of the same kind."""

NUMBERS = (
    *(0, 1, 2, 3, 4, 7, 8, 16, 31, 32, 33, 64, 100, 127, 128, 255, 256, 999, 1000, 4096, 32767, 32768, 65535, 65536, 1 << 20),
    *(-1, -2, -3, -128, -129, -32769, (1 << 31) - 1, 1 << 31, -(1 << 31), (1 << 32) - 1, 1 << 32, 1 << 40, 1 << 62),
    *((1 << 63) - 1, -(1 << 63), (1 << 64) - 1),
)
"""Numbers at which sizes, counts and indices go wrong."""
WORDS = (
    "",
    "0",
    "-1",
    "..",
    "../x",
    "/",
    "/etc/passwd",
    "\0",
    "nan",
    "inf",
    "-inf",
    "1e400",
    "null",
    "x" * 300,
    "é",
    "{",
    "[[[[",
    "0x",
    "~",
)
MAX_BYTES = 1 << 20
"""The most bytes of a mutated file: doubling stops there."""
_TOKEN = re.compile(rb"-?\d+(?:\.\d+)?|[A-Za-z_][\w.-]*|\s+|.", re.DOTALL)
_NUMBER = re.compile(rb"-?\d")
_MAX_DEPTH = 40


# ---- any bytes -------------------------------------------------------------------------------------------------------------------


def flip_bits(rng: Random, data: bytes, _: Sequence[bytes]) -> bytes:
    out = bytearray(data)
    for _i in range(rng.choice((1, 1, 2, 8))):
        out[rng.randrange(len(out))] ^= 1 << rng.randrange(8)
    return bytes(out)


def set_byte(rng: Random, data: bytes, _: Sequence[bytes]) -> bytes:
    at = rng.randrange(len(data))
    return data[:at] + bytes([rng.choice((0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)))]) + data[at + 1 :]


def set_number(rng: Random, data: bytes, _: Sequence[bytes]) -> bytes:
    """Return a little-endian integer of 1 to 8 bytes, mostly where one of that size would lie."""
    size = rng.choice((1, 2, 4, 4, 8))
    at = rng.randrange(len(data))
    at -= at % size if rng.random() < 0.8 else 0
    return data[:at] + (rng.choice(NUMBERS) & ((1 << 8 * size) - 1)).to_bytes(size, "little") + data[at + size :]


def add_number(rng: Random, data: bytes, _: Sequence[bytes]) -> bytes:
    """Return a little more or less in an aligned 32-bit integer: offsets and counts of flatbuffers."""
    if len(data) < 4:
        return data
    at = 4 * rng.randrange(len(data) // 4)
    (value,) = struct.unpack_from("<I", data, at)
    return data[:at] + struct.pack("<I", (value + rng.choice((-64, -8, -4, -2, -1, 1, 2, 4, 8, 64))) & 0xFFFFFFFF) + data[at + 4 :]


def insert(rng: Random, data: bytes, _: Sequence[bytes]) -> bytes:
    at = rng.randrange(len(data) + 1)
    return data[:at] + rng.choice((rng.randbytes(rng.randrange(1, 17)), bytes(rng.randrange(1, 65)))) + data[at:]


def repeat(rng: Random, data: bytes, _: Sequence[bytes]) -> bytes:
    start, end = _range(rng, data)
    return data[:end] + data[start:end] * rng.choice((1, 1, 2, 30)) + data[end:]


def delete(rng: Random, data: bytes, _: Sequence[bytes]) -> bytes:
    start, end = _range(rng, data)
    return data[:start] + data[end:]


def truncate(rng: Random, data: bytes, _: Sequence[bytes]) -> bytes:
    return data[: rng.randrange(len(data))]


def splice(rng: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """Return the start of one file and the end of another."""
    other = rng.choice(others) if others else data
    return data[: rng.randrange(len(data) + 1)] + other[rng.randrange(len(other) + 1) :]


def transplant(rng: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """Return a piece of another file in place of one of this."""
    other = rng.choice(others) if others else data
    (start, end), (first, last) = _range(rng, data), _range(rng, other)
    return data[:start] + other[first:last] + data[end:]


def _range(rng: Random, data: bytes) -> tuple[int, int]:
    start = rng.randrange(len(data) + 1)
    return start, min(len(data), start + rng.choice((1, 2, 4, 8, 16, 64, rng.randrange(1, 512))))


ANY: Sequence[Mutator] = (flip_bits, set_byte, set_number, set_number, add_number, insert, repeat, delete, truncate, splice, transplant)


# ---- texts -----------------------------------------------------------------------------------------------------------------------


def change_token(rng: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """Return a number for a number, a name for a name: of this text, of another, or one that is likely to be wrong."""
    tokens = _TOKEN.findall(data)
    places = [i for i, token in enumerate(tokens) if not token.isspace()]
    if not places:
        return data
    at = rng.choice(places)
    number = _NUMBER.match(tokens[at]) is not None
    if rng.random() < 0.5:
        pool = [t for t in (tokens if not others or rng.random() < 0.6 else _TOKEN.findall(rng.choice(others))) if not t.isspace()]
        alike = [t for t in pool if (_NUMBER.match(t) is not None) == number] or pool
        tokens[at] = rng.choice(alike or [b"x"])
    else:
        tokens[at] = str(rng.choice(NUMBERS)).encode() if number and rng.random() < 0.9 else rng.choice(WORDS).encode()
    return b"".join(tokens)


def change_number(rng: Random, data: bytes, _: Sequence[bytes]) -> bytes:
    places = list(re.finditer(rb"-?\d+", data))
    if not places:
        return data
    found = rng.choice(places)
    value = rng.choice(NUMBERS) if rng.random() < 0.7 else int(found[0][:18]) + rng.choice((-2, -1, 1, 2))
    return data[: found.start()] + str(value).encode() + data[found.end() :]


def change_lines(rng: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """Return a line deleted, doubled, moved, indented, or taken from another text."""
    lines = data.splitlines(keepends=True)
    if not lines:
        return data
    at, to = rng.randrange(len(lines)), rng.randrange(len(lines))
    match rng.randrange(5):
        case 0:
            del lines[at]
        case 1:
            lines.insert(to, lines[at])
        case 2:
            lines.insert(to, lines.pop(at))
        case 3:
            lines[at] = rng.choice((b" ", b"  ", b"\t", b"- ")) + lines[at]
        case _:
            lines.insert(at, rng.choice((rng.choice(others) if others else data).splitlines(keepends=True) or [b""]))
    return b"".join(lines)


TEXT: Sequence[Mutator] = (change_token, change_token, change_token, change_number, change_number, change_lines, change_lines)


# ---- JSON ------------------------------------------------------------------------------------------------------------------------


def change_json(rng: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """Return one value replaced, deleted, doubled, or taken from another place or file; bytes that are no JSON are changed as text."""
    try:
        root, other = json.loads(data), json.loads(rng.choice(others)) if others and rng.random() < 0.3 else None
    except (ValueError, RecursionError):
        return change_token(rng, data, others)
    places = _places(root)
    if not places:
        return json.dumps(_other_value(rng, root)).encode()
    holder, key = rng.choice(places)
    donors = _places(other) if other is not None else places
    action = rng.randrange(8)
    if action == 0:
        del holder[key]
    elif action == 1 and isinstance(holder, list):
        holder.insert(key, holder[key])
    elif action == 2 and donors:
        donor, name = rng.choice(donors)
        holder[key] = json.loads(json.dumps(donor[name]))
    elif action == 3 and isinstance(holder, dict):
        holder[rng.choice(WORDS) or str(key) * 2] = holder.pop(key)
    else:
        holder[key] = _other_value(rng, holder[key])
    return json.dumps(root).encode()


def _places(root: Any) -> list[tuple[Any, Any]]:
    """Holders and keys of all values."""
    found: list[tuple[Any, Any]] = []
    stack = [root]
    while stack:
        item = stack.pop()
        keys = range(len(item)) if isinstance(item, list) else list(item) if isinstance(item, dict) else ()
        for key in keys:
            found.append((item, key))
            stack.append(item[key])
    return found


def _other_value(rng: Random, value: Any) -> Any:
    """Mostly of the same type."""
    if rng.random() < 0.25:
        deep: Any = 0
        for _ in range(200):
            deep = [deep]
        return rng.choice((None, True, 0, -1, 1.5, float("nan"), "", "x", [], {}, [0], {"x": 0}, deep))
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return rng.choice(NUMBERS) if rng.random() < 0.8 else float(rng.choice((0.5, -0.0, 1e308, float("inf"), float("nan"))))
    if isinstance(value, str):
        return change_token(rng, value.encode(), ()).decode(errors="replace") if value and rng.random() < 0.5 else rng.choice(WORDS)
    if isinstance(value, list):
        return rng.choice((value * 2, value[1:], value[:-1], value[::-1], [*value, 0], value * 50 if len(value) < 100 else []))
    return {}


# ---- protobuf --------------------------------------------------------------------------------------------------------------------


def change_protobuf(rng: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """Return one field at any depth changed, deleted, doubled, moved, renumbered, or taken from another message; lengths stay right."""
    donor = rng.choice(others) if others and rng.random() < 0.5 else data
    return _in_message(rng, data, donor, 0)


def _in_message(rng: Random, data: bytes, donor: bytes, depth: int) -> bytes:
    pieces = _fields_of(data)
    if not pieces:
        return rng.choice(ANY)(rng, data, (donor,)) if data else rng.choice((b"", b"\x00", rng.randbytes(4)))
    at = rng.randrange(len(pieces))
    tag, wire, content = pieces[at]
    if wire == BYTES and depth < _MAX_DEPTH and content and rng.random() < 0.85:
        pieces[at] = tag, wire, _in_bytes(rng, content, donor, depth)
        return _joined(pieces)
    match rng.randrange(7):
        case 0:
            del pieces[at]
        case 1:
            pieces[at:at] = [pieces[at]] * rng.choice((1, 1, 3, 100))
        case 2:
            pieces.insert(rng.randrange(len(pieces)), pieces.pop(at))
        case 3:
            pieces[at] = (tag & 7) | rng.choice((1, 2, 3, 5, 7, 16, 20)) << 3, wire, content
        case 4:
            pieces.insert(at, rng.choice(_fields_of(donor) or pieces))
        case _:
            pieces[at] = tag, wire, _other_content(rng, wire, content)
    return _joined(pieces)


def _in_bytes(rng: Random, content: bytes, donor: bytes, depth: int) -> bytes:
    """Return a message inside, a name, or packed numbers."""
    if _fields_of(content) and rng.random() < 0.9:
        inner = [c for _, wire, c in _fields_of(donor) if wire == BYTES]
        return _in_message(rng, content, rng.choice(inner) if inner else donor, depth + 1)
    if content.isascii() and rng.random() < 0.8:
        return rng.choice((change_token, flip_bits, truncate))(rng, content, (donor,))
    return rng.choice(ANY)(rng, content, (donor,))


def _other_content(rng: Random, wire: int, content: bytes) -> bytes:
    if wire == VARINT:
        near = read_varint(content, 0, len(content), "a number")[0] + rng.choice((-1, 1))
        return write_varint((rng.choice(NUMBERS) if rng.random() < 0.8 else near) & ((1 << 64) - 1))
    if wire == BYTES:
        return rng.choice((b"", rng.choice(WORDS).encode(), content * 2, rng.randbytes(len(content))))
    return rng.choice((bytes(len(content)), b"\xff" * len(content), rng.randbytes(len(content))))


def _fields_of(data: bytes) -> list[tuple[int, int, bytes]]:
    """Tag, wire type and content of each field; none if it is no message."""
    try:
        return [
            (field.number << 3 | field.wire, field.wire, data[field.content : field.end]) for field in fields(data, 0, len(data), "one")
        ]
    except Error:
        return []


def _joined(pieces: Sequence[tuple[int, int, bytes]]) -> bytes:
    return b"".join(write_varint(tag) + (write_varint(len(content)) if wire == BYTES else b"") + content for tag, wire, content in pieces)


# ---- by kind ---------------------------------------------------------------------------------------------------------------------

STRUCTURED: dict[str, Sequence[Mutator]] = {
    ".json": (change_json,),
    ".onnx": (change_protobuf,),
    ".pb": (change_protobuf,),
    **dict.fromkeys((".mlir", ".yaml", ".toml"), TEXT),
}
"""Mutators that know what a file means, by suffix."""


def mutated(rng: Random, name: str, data: bytes, others: Sequence[bytes]) -> bytes:
    """Return a file, changed once to four times: mostly by what knows its kind, if anything does."""
    known = STRUCTURED.get("." + name.rpartition(".")[2], ())
    for _ in range(rng.choice((1, 1, 1, 2, 2, 3, 4))):
        if not data:
            break
        data = rng.choice(known if known and rng.random() < 0.75 else ANY)(rng, data, others)[:MAX_BYTES]
    return data


def changed_members(rng: Random, members: dict[str, bytes]) -> None:
    """Return members of a container, one of them removed, renamed, copied or emptied."""
    name = rng.choice(sorted(members))
    match rng.randrange(4):
        case 0:
            del members[name]
        case 1:
            members[rng.choice(("../x", "/x", name + "x", name.upper(), "x/../../y", "a\\b", "x" * 2000))] = members.pop(name)
        case 2:
            members[rng.choice((*sorted(members), "data.pkl", "extra.bin"))] = members[name]
        case _:
            members[name] = b""
