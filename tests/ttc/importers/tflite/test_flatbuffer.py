"""The bounded reader of flatbuffers."""

from __future__ import annotations

import struct
from collections.abc import Callable

import numpy as np
import pytest

from tests.ttc.importers.tflite.writer import Scalar, Vector, flatbuffer, numbers
from ttc.dialects.core.errors import Error
from ttc.importers.tflite import flatbuffer as module
from ttc.importers.tflite.flatbuffer import FlatReader, FlatTable, Span

CONTENT = {
    0: Scalar("i4", -7),
    1: Scalar("b1", True),
    2: "näme",
    3: numbers("i4", 5, -6),
    4: {0: Scalar("u8", 1 << 40)},
    5: [{0: Scalar("f4", 0.5)}, {}],
    7: Vector("u1", np.arange(9, dtype=np.uint8), 16),
}


def test_what_is_written_is_read() -> None:
    data = bytes(flatbuffer(CONTENT))
    root = FlatReader(data).root()
    assert root.whole(0) == -7
    assert root.scalar(1, "b1") is True
    assert root.text(2) == "näme"
    assert root.ints(3) == (5, -6)
    inner = root.table(4)
    assert inner is not None
    assert inner.whole(0, "u8") == 1 << 40
    assert [t.scalar(0, "f4", 2.0) for t in root.tables(5)] == [0.5, 2.0]
    span = root.span(7)
    assert span is not None
    assert data[span.offset : span.offset + span.size] == bytes(range(9))
    assert span.offset % 16 == 0


def test_absent_fields() -> None:
    root = FlatReader(bytes(flatbuffer(CONTENT))).root()
    assert root.whole(6, "i4", 3) == 3
    assert root.whole(99, "u8", 4) == 4
    assert (root.table(6), root.tables(6), root.numbers(6, "f4"), root.ints(99), root.span(6), root.text(6)) == (
        None,
        [],
        None,
        None,
        None,
        "",
    )


def test_text_that_is_not_utf8_is_escaped() -> None:
    data = flatbuffer({0: "abc"})
    data[data.index(b"abc")] = 0xFF
    assert FlatReader(bytes(data)).root().text(0) == "\\xffbc"


def root_at(at: int) -> bytes:
    data = flatbuffer(CONTENT)
    struct.pack_into("<I", data, 0, at)
    return bytes(data)


@pytest.mark.parametrize("data", [b"", b"\0" * 3, root_at(0xFFFFFFF0), root_at(1 << 20), bytes(flatbuffer(CONTENT)[:30])])
def test_roots_outside_the_file(data: bytes) -> None:
    with pytest.raises(Error) as caught:
        FlatReader(data).root()
    assert caught.value.code == "E0201"


@pytest.mark.parametrize(
    "read",
    [
        lambda t: t.table(0),
        lambda t: t.tables(0),
        lambda t: t.numbers(0, "f4"),
        lambda t: t.text(0),
        lambda t: t.ints(1, most=1),
    ],
)
def test_what_leads_outside(read: Callable[[FlatTable], object]) -> None:
    """A number of four bytes, taken for a wider one and for an offset; more numbers than expected."""
    root = FlatReader(bytes(flatbuffer({0: Scalar("u4", 0x7FFFFFF0), 1: numbers("i4", 1, 2)}))).root()
    with pytest.raises(Error) as caught:
        read(root)
    assert caught.value.code == "E0201"


def test_one_table_named_many_times(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_TABLES", 100)
    data = bytes(flatbuffer({0: [{}] * 200}))
    with pytest.raises(Error, match="more than 100 tables"):
        FlatReader(data).root().tables(0)


def test_spans_are_checked_against_the_file() -> None:
    reader = FlatReader(b"12345678")
    reader.require(*Span(0, 8))
    for span in (Span(1, 8), Span(-1, 2), Span(0, -1), Span(1 << 70, 1)):
        with pytest.raises(Error):
            reader.require(*span)


def test_one_list_that_many_tables_share(monkeypatch: pytest.MonkeyPatch) -> None:
    data = bytes(flatbuffer({0: numbers("i4", *range(100)), 1: "n" * 400}))
    monkeypatch.setattr(module, "MAX_SHARED_BYTES", 4000)
    for read in (lambda table: table.ints(0), lambda table: table.text(1)):
        reader = FlatReader(data)
        times = (len(data) + 4000) // 400
        assert [len(read(reader.root())) for _ in range(times)] == [len(read(FlatReader(data).root()))] * times
        with pytest.raises(Error, match="tables share lists and names of over 4000 bytes") as caught:
            read(reader.root())
        assert caught.value.code == "E0201"
