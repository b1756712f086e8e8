"""The subset of zip: alignment, zip64, layouts that are refused."""

from __future__ import annotations

import zlib

import pytest

from ttc.dialects.core.errors import Error
from ttc.runtime import zip_format
from ttc.runtime.zip_format import ZipEntry, central_header, check_layout, end_records, local_header, read_directory


def build(contents: dict[str, bytes], comment: bytes = b"seal") -> bytes:
    data, entries = b"", []
    for name, member in contents.items():
        entries.append(ZipEntry(name, len(member), zlib.crc32(member), len(data)))
        data += local_header(entries[-1]) + member
    directory = b"".join(map(central_header, entries))
    return data + directory + end_records(len(entries), len(data), len(directory), comment)


CONTENTS = {"tensors/0001.bin": b"x" * 1001, "tensors/0002.bin": b"", "netlist.json": b"{}", "manifest.json": b"z" * 64}


@pytest.mark.parametrize("limit", [0xFFFFFFFF, 1000, 900, 60])
def test_members_are_found_where_they_were_put(limit: int, monkeypatch: pytest.MonkeyPatch):
    """Below the real limit, so that zip64 fields are written for small members."""
    monkeypatch.setattr(zip_format, "LIMIT", limit)
    data = memoryview(build(CONTENTS))
    directory = read_directory(data)
    check_layout(data, directory)
    assert {n: bytes(data[e.data_offset : e.end]) for n, e in directory.entries.items()} == CONTENTS
    assert all(e.data_offset % 64 == 0 for e in directory.entries.values())
    assert directory.comment == b"seal"


def test_headers_of_huge_members_are_aligned():
    entry = ZipEntry("tensors/0001.bin", 5 << 30, 1, (9 << 30) + 7)
    assert entry.data_offset % 64 == 0
    assert len(local_header(entry)) == entry.data_offset - entry.offset
    assert len(central_header(entry)) == 46 + len(entry.name) + 28


def test_gaps_and_overlaps_are_refused():
    data = build(CONTENTS)
    entries = list(read_directory(memoryview(data)).entries.values())
    first, second = entries[0], entries[1]
    for moved in (
        ZipEntry(second.name, second.size, second.crc, first.offset),
        ZipEntry(second.name, second.size, second.crc, second.offset + 64),
    ):
        directory = b"".join(map(central_header, [first, moved, *entries[2:]]))
        forged = memoryview(data[: entries[-1].end] + directory + end_records(4, entries[-1].end, len(directory), b""))
        with pytest.raises(Error) as failure:
            check_layout(forged, read_directory(forged))
        assert failure.value.code == "E0703"


@pytest.mark.parametrize(
    ("offset", "value", "code"), [(8, 1, "E0703"), (8, 8, "E0703"), (10, 8, "E0703"), (20, 9, "E0703"), (0, 0, "E0701")]
)
def test_directory_entries_that_are_refused(offset: int, value: int, code: str):
    """Encrypted, streamed and compressed members, two sizes, no signature."""
    data = bytearray(build(CONTENTS))
    data[data.index(b"PK\1\2") + offset] = value
    with pytest.raises(Error) as failure:
        read_directory(memoryview(bytes(data)))
    assert failure.value.code == code


def test_counts_that_lie():
    data = bytearray(build(CONTENTS, b""))
    data[-12] = 3
    with pytest.raises(Error, match="4 members where 3") as failure:
        read_directory(memoryview(bytes(data)))
    assert failure.value.code == "E0701"
