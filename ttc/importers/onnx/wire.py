"""A bounded scanner of the protobuf wire format: finds the large weights of an ONNX model without parsing them.

`skeleton` gives the model's bytes without the `raw_data` of its large initializers, small enough for onnx to parse, and where in the file
each of these payloads lies.  Field numbers are those of onnx.proto: ModelProto.graph = 7, GraphProto.initializer = 5,
TensorProto.raw_data = 9.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from ttc.dialects.core.errors import Error
from ttc.dialects.core.records import record
from ttc.importers.common.protobuf import BYTES, Buffer, fields, write_varint

KIND = "an ONNX model"
GRAPH, INITIALIZER, RAW_DATA = 7, 5, 9
LARGE_BYTES = 1024
"""The largest payload that stays in the skeleton, in bytes."""
MAX_SKELETON_BYTES = 512 << 20
MAX_FIELDS = 50_000_000


class Payload(NamedTuple):
    """The place of a weight in the file, in bytes."""

    offset: int
    size: int


@record(frozen=False)
class Skeleton:
    """A model without its large weights.  data: a ModelProto; payloads: one entry an initializer of the graph, in order, None where data
    still has it.
    """

    data: bytes
    payloads: list[Payload | None]


def skeleton(data: Buffer) -> Skeleton:
    """Return the model without its large weights, and where these are.  Raises E0201."""
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
        for field in fields(self.data, start, end, KIND):
            self.seen_fields += 1
            if self.seen_fields > MAX_FIELDS:
                raise Error("E0201", f"the model has more than {MAX_FIELDS} fields")
            if field.number != number or field.wire != BYTES:
                continue
            self.copy(pending, field.start)
            pending = field.end
            outer, self.parts = self.parts, []
            inner(field.content, field.end)
            body, self.parts = self.parts, outer
            self.parts.append(write_varint(number << 3 | BYTES) + write_varint(sum(map(len, body))))
            self.parts.extend(body)
        self.copy(pending, end)

    def graph(self, start: int, end: int) -> None:
        self.message(start, end, INITIALIZER, self.tensor)

    def tensor(self, start: int, end: int) -> None:
        """Copy a tensor without its payload if that is large; the last `raw_data` counts, as in protobuf."""
        payload: Payload | None = None
        for field in fields(self.data, start, end, KIND):
            if field.number == RAW_DATA and field.wire == BYTES:
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
