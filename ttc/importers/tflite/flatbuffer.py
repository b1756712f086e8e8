"""A bounded reader of flatbuffers: no offset leads out of the file, and no file makes it read more than it holds.

A table is named by its place; it points back to its vtable, which says where in the table each field lies.  Scalars lie in the table;
tables, vectors and texts are offsets forward to where they lie.
"""

from __future__ import annotations

import struct
from mmap import mmap
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.errors import Error

Buffer: TypeAlias = bytes | mmap

MAX_TABLES = 300_000
"""The most tables that are looked at: vectors may name one table many times."""
MAX_TEXT_BYTES = 1 << 16
MAX_SHARED_BYTES = 1 << 25
"""The most bytes of texts and lists of numbers that are read beyond those of the file: tables may share one list."""
_U2, _I4, _U4 = struct.Struct("<H"), struct.Struct("<i"), struct.Struct("<I")
_SCALARS = {code: struct.Struct("<" + char) for code, char in zip("b1 i1 u1 i2 u2 i4 u4 i8 u8 f4".split(), "BbBhHiIqQf", strict=True)}
"""By numpy's names of types; b1 is a truth value."""


class Span(NamedTuple):
    """The place of bytes in the file."""

    offset: int
    size: int


class FlatReader:
    """Reads a flatbuffer.  data: the whole file, a flatbuffer from its first byte on."""

    def __init__(self, data: Buffer) -> None:
        self.data = data
        self.size = len(data)
        self._tables = 0
        self._left = self.size + MAX_SHARED_BYTES

    def root(self) -> FlatTable:
        """Return the table at the root of the buffer.  Raises E0201."""
        return self.table(0)

    def table(self, at: int) -> FlatTable:
        """Return the table that the offset at this place names.  Raises E0201."""
        self._tables += 1
        if self._tables > MAX_TABLES:
            raise Error("E0201", f"a TFLite model with more than {MAX_TABLES} tables")
        return FlatTable(self, self.follow(at))

    def scalar(self, kind: struct.Struct, at: int) -> int | float:
        self.require(at, kind.size)
        return kind.unpack_from(self.data, at)[0]

    def whole(self, kind: struct.Struct, at: int) -> int:
        return int(self.scalar(kind, at))

    def follow(self, at: int) -> int:
        """Return the place that the offset at this place leads to."""
        return at + self.whole(_U4, at)

    def require(self, at: int, size: int) -> None:
        """Raises E0201 unless so many bytes lie there."""
        if at < 0 or size < 0 or at + size > self.size:
            raise Error("E0201", f"not a TFLite model, or a damaged one: {size} bytes at {at} lie outside its {self.size} bytes")

    def spend(self, size: int) -> None:
        """Count bytes of a text or a list of numbers that is read. Raises E0201 where tables share more than MAX_SHARED_BYTES."""
        self._left -= size
        if self._left < 0:
            raise Error("E0201", f"a TFLite model of {self.size} bytes whose tables share lists and names of over {MAX_SHARED_BYTES} bytes")

    def vector(self, at: int, item_bytes: int) -> Span:
        """Return where the items of the vector lie that the offset at this place names."""
        start = self.follow(at)
        found = Span(start + 4, self.whole(_U4, start) * item_bytes)
        self.require(*found)
        return found


class FlatTable:
    """A table of the file; fields are counted from 0.  Every method raises E0201 where what it reads lies outside the file."""

    def __init__(self, reader: FlatReader, at: int) -> None:
        self._reader = reader
        self._at = at
        self._vtable = at - reader.whole(_I4, at)
        self._vtable_bytes = reader.whole(_U2, self._vtable)
        self._bytes = reader.whole(_U2, self._vtable + 2)
        reader.require(self._vtable, self._vtable_bytes)
        reader.require(at, self._bytes)

    def _place(self, field: int, size: int) -> int | None:
        """Return where the field lies, or None if the table lacks it."""
        entry = 4 + 2 * field
        if entry + 2 > self._vtable_bytes:
            return None
        offset = self._reader.whole(_U2, self._vtable + entry)
        if offset == 0:
            return None
        if offset < 4 or offset + size > self._bytes:
            raise Error("E0201", f"not a TFLite model, or a damaged one: a field lies outside its table at {self._at}")
        return self._at + offset

    def scalar(self, field: int, kind: str, default: float = 0) -> int | float | bool:
        """Return a number, or a truth value for kind b1."""
        at = self._place(field, _SCALARS[kind].size)
        found = default if at is None else self._reader.scalar(_SCALARS[kind], at)
        return bool(found) if kind == "b1" else found

    def whole(self, field: int, kind: str = "i4", default: int = 0) -> int:
        """Return an integer field of the table, or its default."""
        return int(self.scalar(field, kind, default))

    def table(self, field: int) -> FlatTable | None:
        at = self._place(field, 4)
        return None if at is None else self._reader.table(at)

    def tables(self, field: int) -> list[FlatTable]:
        """Return a vector of tables, empty if it is absent."""
        at = self._place(field, 4)
        if at is None:
            return []
        span = self._reader.vector(at, 4)
        return [self._reader.table(place) for place in range(span.offset, span.offset + span.size, 4)]

    def numbers(self, field: int, kind: str) -> NDArray | None:
        """Return a vector of numbers, as a view of the file; None if it is absent."""
        at = self._place(field, 4)
        if at is None:
            return None
        dtype = np.dtype(bool if kind == "b1" else f"<{kind}")
        span = self._reader.vector(at, dtype.itemsize)
        self._reader.spend(span.size)
        return np.frombuffer(self._reader.data, dtype, span.size // dtype.itemsize, span.offset) if span.size else np.empty(0, dtype)

    def ints(self, field: int, kind: str = "i4", most: int = 1 << 16) -> tuple[int, ...] | None:
        """Return a vector of integers; None if it is absent.  Raises E0201 for more than `most`."""
        found = self.numbers(field, kind)
        if found is not None and found.size > most:
            raise Error("E0201", f"not a TFLite model, or a damaged one: a list of {found.size} numbers")
        return None if found is None else tuple(found.tolist())

    def span(self, field: int) -> Span | None:
        """Return where the bytes of a vector of bytes lie."""
        at = self._place(field, 4)
        return None if at is None else self._reader.vector(at, 1)

    def text(self, field: int) -> str:
        """Return a text, empty if it is absent; what is not UTF-8 is escaped."""
        found = self.span(field)
        if found is None:
            return ""
        if found.size > MAX_TEXT_BYTES:
            raise Error("E0201", f"not a TFLite model, or a damaged one: a name of {found.size} bytes")
        self._reader.spend(found.size)
        return bytes(self._reader.data[found.offset : found.offset + found.size]).decode("utf-8", "backslashreplace")
