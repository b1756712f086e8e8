"""A bounded reader of the protobuf wire format: fields of a message and where they lie, nothing parsed before it is asked for.

Source: protobuf.dev, "Encoding".
"""

from __future__ import annotations

from collections.abc import Iterator
from mmap import mmap
from typing import NamedTuple, TypeAlias

from ttc.dialects.core.errors import Error

Buffer: TypeAlias = bytes | mmap
VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
"""Wire types of protocol buffers, by their numbers."""


class Field(NamedTuple):
    """One field of a message: its number, wire type, and the offsets of its tag, its content and its end."""

    number: int
    wire: int
    start: int
    content: int
    end: int


def read_varint(data: Buffer, at: int, end: int, kind: str) -> tuple[int, int]:
    """Return a base-128 number of at most 10 bytes, and the offset after it.  kind: of model, for messages.  Raises E0201."""
    value = 0
    for index in range(10):
        if at + index >= end:
            break
        byte = data[at + index]
        value |= (byte & 0x7F) << (7 * index)
        if byte < 0x80:
            return value, at + index + 1
    raise Error("E0201", f"not {kind}, or a damaged one: a number at byte {at} does not end")


def write_varint(value: int) -> bytes:
    """Return the base-128 form of a number that is not negative."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def fields(data: Buffer, start: int, end: int, kind: str) -> Iterator[Field]:
    """Yield the fields of the message in data[start:end].  kind: of model, for messages.

    Raises E0201 where one is malformed or runs past the end.
    """
    at = start
    while at < end:
        tag, content = read_varint(data, at, end, kind)
        number, wire = tag >> 3, tag & 7
        if wire == BYTES:
            size, content = read_varint(data, content, end, kind)
            after = content + size
        elif wire == VARINT:
            _, after = read_varint(data, content, end, kind)
        elif wire in (FIXED32, FIXED64):
            after = content + (4 if wire == FIXED32 else 8)
        else:
            raise Error("E0201", f"not {kind}, or a damaged one: unknown wire type {wire} at byte {at}")
        if after > end or number == 0:
            raise Error("E0201", f"not {kind}, or a truncated one: the field at byte {at} runs past the end")
        yield Field(number, wire, at, content, after)
        at = after
