"""The subset of the zip format that archives use: stored members, each with its data at an aligned offset, nothing between them.

One way to write each record, so that a reader can rebuild it from what it states and compare bytes.  Source: PKWARE APPNOTE 6.3.10,
sections 4.3 (records) and 4.5.3 (zip64); field 0xD935 is zipalign's padding field.
"""

from __future__ import annotations

import re
import stat
import struct
from typing import NamedTuple

from ttc.dialects.core.errors import Error
from ttc.dialects.core.records import record

ALIGNMENT = 64
"""The alignment, in bytes, of the data of every member in the file."""
LIMIT = 0xFFFFFFFF
"""The least size or offset that takes zip64 fields."""
NAME = re.compile(
    r"manifest\.json|netlist\.json|stages\.json|tensors/[0-9]{4,8}\.bin|parts/[0-9]{4,8}\.tti|debug/[A-Za-z0-9][A-Za-z0-9_.-]{0,63}"
)
"""Names that members can have."""

_DATE_1980_01_01 = (1 << 5) | 1
_ATTRIBUTES = (stat.S_IFREG | 0o644) << 16
_UNIX = 3 << 8
_LOCAL = struct.Struct("<4s5H3L2H")
_CENTRAL = struct.Struct("<4s6H3L5H2L")
_END = struct.Struct("<4s4H2LH")
_END64 = struct.Struct("<4sQ2H2L4Q")
_LOCATOR = struct.Struct("<4sLQL")
_MAX_DIRECTORY_BYTES = 1 << 26


@record(slots=True)
class ZipEntry:
    """A member of a zip file.  size: of its data, in bytes; crc: CRC-32 of it; offset: of its local header in the file."""

    name: str
    size: int
    crc: int
    offset: int

    @property
    def data_offset(self) -> int:
        """The offset of the member's data: the first aligned place after the header and the shortest padding field."""
        shortest = self.offset + _LOCAL.size + len(self.name) + (20 if self.size >= LIMIT else 0) + 6
        return -(-shortest // ALIGNMENT) * ALIGNMENT

    @property
    def end(self) -> int:
        return self.data_offset + self.size


def local_header(entry: ZipEntry) -> bytes:
    """Return the bytes from the entry's offset to its data."""
    large = entry.size >= LIMIT
    size = LIMIT if large else entry.size
    name = entry.name.encode("ascii")
    sizes = struct.pack("<2H2Q", 1, 16, entry.size, entry.size) if large else b""
    extra_bytes = entry.data_offset - entry.offset - _LOCAL.size - len(name)
    padding = extra_bytes - len(sizes) - 6
    extra = sizes + struct.pack("<3H", 0xD935, 2 + padding, ALIGNMENT) + bytes(padding)
    version = 45 if large else 20
    return _LOCAL.pack(b"PK\3\4", version, 0, 0, 0, _DATE_1980_01_01, entry.crc, size, size, len(name), extra_bytes) + name + extra


def central_header(entry: ZipEntry) -> bytes:
    """Return the entry's record in the central directory."""
    large = entry.size >= LIMIT or entry.offset >= LIMIT
    size, offset, version = (LIMIT, LIMIT, 45) if large else (entry.size, entry.offset, 20)
    name = entry.name.encode("ascii")
    extra = struct.pack("<2H3Q", 1, 24, entry.size, entry.size, entry.offset) if large else b""
    fields = (version | _UNIX, version, 0, 0, 0, _DATE_1980_01_01, entry.crc, size, size)
    return _CENTRAL.pack(b"PK\1\2", *fields, len(name), len(extra), 0, 0, 0, _ATTRIBUTES, offset) + name + extra


def end_records(count: int, directory_offset: int, directory_bytes: int, comment: bytes) -> bytes:
    """Return what follows the central directory, to the end of the file."""
    large = count >= 0xFFFF or directory_offset >= LIMIT
    head = b""
    short_count, offset = count, directory_offset
    if large:
        end64 = directory_offset + directory_bytes
        head = _END64.pack(b"PK\6\6", _END64.size - 12, 45 | _UNIX, 45, 0, 0, count, count, directory_bytes, directory_offset)
        head += _LOCATOR.pack(b"PK\6\7", 0, end64, 1)
        short_count, offset = 0xFFFF, LIMIT
    return head + _END.pack(b"PK\5\6", 0, 0, short_count, short_count, directory_bytes, offset, len(comment)) + comment


class Directory(NamedTuple):
    """The central directory of a zip file.  raw: its bytes; offset: of it in the file; comment: of the zip."""

    entries: dict[str, ZipEntry]
    raw: bytes
    offset: int
    comment: bytes


def read_directory(data: memoryview) -> Directory:
    """Parse the directory of a zip file; where members lie is for `check_layout` to judge.

    Args:    data: the whole file.
    Raises:  E0701 if it is no zip file, or damaged; E0703 for members that are compressed, encrypted, unsafely named, or not plain files.
    """
    offset, size, count, comment = _find_directory(data)
    raw = bytes(data[offset : offset + size])
    entries: dict[str, ZipEntry] = {}
    position = 0
    while position < size:
        entry, position = _read_entry(raw, position)
        if entry.name in entries:
            raise Error("E0703", f"the archive holds '{entry.name}' twice")
        entries[entry.name] = entry
    if len(entries) != count:
        raise Error("E0701", f"the archive's directory lists {len(entries)} members where {count} were announced")
    return Directory(entries, raw, offset, comment)


def check_layout(data: memoryview, directory: Directory) -> None:
    """Raises E0703 unless the members follow each other without gap or overlap, with exactly the headers that we write."""
    position = 0
    for entry in sorted(directory.entries.values(), key=lambda e: e.offset):
        header = local_header(entry)
        if entry.offset != position or bytes(data[entry.offset : entry.data_offset]) != header:
            raise _repackaged(f"the header of '{entry.name}' is not where or what it should be")
        position = entry.end
    central = b"".join(central_header(e) for e in directory.entries.values())
    end = end_records(len(directory.entries), position, len(central), directory.comment)
    if directory.raw != central or bytes(data[position:]) != central + end:
        raise _repackaged("its directory is not where or what it should be")


def _repackaged(message: str) -> Error:
    return Error("E0703", f"the archive is not laid out as ttc does: {message}", hint="was it repackaged or changed? compile it again")


def _find_directory(data: memoryview) -> tuple[int, int, int, bytes]:
    """(offset, size, members, comment) of the central directory."""
    tail_bytes = min(len(data), _END.size + 0xFFFF)
    place = bytes(data[len(data) - tail_bytes :]).rfind(b"PK\5\6")
    if place < 0:
        raise Error("E0701", "this is not a ttc archive, or its end is missing", hint="an archive is what `ttc compile` writes")
    place += len(data) - tail_bytes
    _, disk, first, _, count, size, offset, comment_bytes = _unpack(_END, data, place)
    if disk or first or place + _END.size + comment_bytes != len(data):
        raise Error("E0701", "the end of the archive is damaged")
    if count == 0xFFFF or offset == LIMIT:
        _, disk, place64, _ = _unpack(_LOCATOR, data, place - _LOCATOR.size)
        magic, _, _, _, _, _, _, count, size, offset = _unpack(_END64, data, place64)
        if magic != b"PK\6\6":
            raise Error("E0701", "the end of the archive is damaged")
    if size > _MAX_DIRECTORY_BYTES or offset + size > place:
        raise Error("E0701", "the archive's directory lies outside the file")
    return offset, size, count, bytes(data[place + _END.size :])


def _read_entry(raw: bytes, position: int) -> tuple[ZipEntry, int]:
    """Return the entry at a position of the central directory, and the position after it."""
    magic, _, _, flags, method, _, _, crc, stored, size, *rest = _unpack(_CENTRAL, memoryview(raw), position)
    name_bytes, extra_bytes, comment_bytes, _, _, attributes, offset = rest
    start = position + _CENTRAL.size
    end = start + name_bytes + extra_bytes + comment_bytes
    if magic != b"PK\1\2" or end > len(raw):
        raise Error("E0701", "the archive's directory is damaged")
    name = _safe_name(raw[start : start + name_bytes])
    if method != 0 or flags & ~0x0800:
        raise Error("E0703", f"member '{name}' is compressed, encrypted or streamed: archives hold plain members only")
    kind = stat.S_IFMT(attributes >> 16)
    if kind not in (0, stat.S_IFREG):
        raise Error("E0703", f"member '{name}' is not a plain file")
    if LIMIT in (stored, size, offset):
        stored, size, offset = _large_sizes(raw[start + name_bytes : start + name_bytes + extra_bytes], name)
    if stored != size:
        raise Error("E0703", f"member '{name}' states two sizes: {stored} and {size} bytes")
    return ZipEntry(name, size, crc, offset), end


def _large_sizes(extra: bytes, name: str) -> tuple[int, int, int]:
    """(stored size, size, offset) from a zip64 field as `central_header` writes it."""
    if len(extra) != 28 or extra[:4] != b"\1\0\x18\0":
        raise Error("E0701", f"the zip64 sizes of '{name}' are damaged")
    size, stored, offset = struct.unpack_from("<3Q", extra, 4)
    return stored, size, offset


def _safe_name(raw: bytes) -> str:
    name = raw.decode("ascii", "backslashreplace")
    if NAME.fullmatch(name) is None:
        raise Error("E0703", f"a member is named {name[:80]!r}, which no archive holds")
    return name


def _unpack(record: struct.Struct, data: memoryview, offset: int) -> tuple:
    if offset < 0 or offset + record.size > len(data):
        raise Error("E0701", "the archive is truncated or damaged")
    return record.unpack_from(data, offset)
