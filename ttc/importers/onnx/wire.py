"""A bounded scanner of the protobuf wire format: finds the large weights of an ONNX model without parsing them.

`skeleton` gives the model's bytes without the `raw_data` of its large initializers, small enough for onnx to parse, and where in the file
each of these payloads lies.  Field numbers are those of onnx.proto: ModelProto.graph = 7, GraphProto.initializer = 5,
TensorProto.raw_data = 9.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from mmap import mmap
from typing import NamedTuple, TypeAlias

from ttc.dialects.core.errors import Error

Buffer: TypeAlias = bytes | mmap

GRAPH, INITIALIZER, RAW_DATA = 7, 5, 9
LARGE_BYTES = 1024
"""Payloads up to this size stay in the skeleton."""
MAX_SKELETON_BYTES = 512 << 20
MAX_FIELDS = 50_000_000
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5


class Field(NamedTuple):
    """One field of a message: its number, wire type, and the offsets of its tag, its content and its end."""

    number: int
    wire: int
    start: int
    content: int
    end: int


class Payload(NamedTuple):
    """Where a weight lies in the file, in bytes."""

    offset: int
    size: int


@dataclass
class Skeleton:
    """data: a ModelProto; payloads: one entry an initializer of the graph, in order, None where the skeleton still has the data."""

    data: bytes
    payloads: list[Payload | None]


def read_varint(data: Buffer, at: int, end: int) -> tuple[int, int]:
    """A base-128 number of at most 10 bytes, and the offset after it.  Raises E0201."""
    value = 0
    for index in range(10):
        if at + index >= end:
            break
        byte = data[at + index]
        value |= (byte & 0x7F) << (7 * index)
        if byte < 0x80:
            return value, at + index + 1
    raise Error("E0201", f"not an ONNX model, or a damaged one: a number at byte {at} does not end")


def write_varint(value: int) -> bytes:
    """The base-128 form of a number that is not negative."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def fields(data: Buffer, start: int, end: int) -> Iterator[Field]:
    """The fields of the message in data[start:end].  Raises E0201 where one is malformed or runs past the end."""
    at = start
    while at < end:
        tag, content = read_varint(data, at, end)
        number, wire = tag >> 3, tag & 7
        if wire == _BYTES:
            size, content = read_varint(data, content, end)
            after = content + size
        elif wire == _VARINT:
            _, after = read_varint(data, content, end)
        elif wire in (_FIXED32, _FIXED64):
            after = content + (4 if wire == _FIXED32 else 8)
        else:
            raise Error("E0201", f"not an ONNX model, or a damaged one: unknown wire type {wire} at byte {at}")
        if after > end or number == 0:
            raise Error("E0201", f"not an ONNX model, or a truncated one: the field at byte {at} runs past the end")
        yield Field(number, wire, at, content, after)
        at = after


def skeleton(data: Buffer) -> Skeleton:
    """The model without its large weights, and where these are.  Raises E0201."""
    scanner = _Scanner(data)
    scanner.message(0, len(data), GRAPH, scanner.graph)
    return Skeleton(b"".join(scanner.parts), scanner.payloads)


class _Scanner:
    """Copies a model piece by piece, leaving large payloads out."""

    def __init__(self, data: Buffer) -> None:
        self.data = data
        self.parts: list[bytes] = []
        self.payloads: list[Payload | None] = []
        self.copied_bytes = 0
        self.seen_fields = 0

    def message(self, start: int, end: int, number: int, inner: Callable[[int, int], None]) -> None:
        """Copy data[start:end], giving each sub-message of that field number to `inner(content, end)`, which writes its own copy."""
        pending = start
        for field in fields(self.data, start, end):
            self.seen_fields += 1
            if self.seen_fields > MAX_FIELDS:
                raise Error("E0201", f"the model has more than {MAX_FIELDS} fields")
            if field.number != number or field.wire != _BYTES:
                continue
            self.copy(pending, field.start)
            pending = field.end
            outer, self.parts = self.parts, []
            inner(field.content, field.end)
            body, self.parts = self.parts, outer
            self.parts.append(write_varint(number << 3 | _BYTES) + write_varint(sum(map(len, body))))
            self.parts.extend(body)
        self.copy(pending, end)

    def graph(self, start: int, end: int) -> None:
        self.message(start, end, INITIALIZER, self.tensor)

    def tensor(self, start: int, end: int) -> None:
        """Copy a tensor without its payload if that is large; the last `raw_data` counts, as in protobuf."""
        payload: Payload | None = None
        for field in fields(self.data, start, end):
            if field.number == RAW_DATA and field.wire == _BYTES:
                size = field.end - field.content
                payload = Payload(field.content, size) if size > LARGE_BYTES else None
            if payload is None or field.number != RAW_DATA:
                self.copy(field.start, field.end)
        self.payloads.append(payload)

    def copy(self, start: int, end: int) -> None:
        self.copied_bytes += end - start
        if self.copied_bytes > MAX_SKELETON_BYTES:
            raise Error("E0201", f"the model has more than {MAX_SKELETON_BYTES >> 20} MB beside the raw data of its weights")
        if end > start:
            self.parts.append(self.data[start:end])
