"""The reader of the protobuf wire format."""

from __future__ import annotations

import pytest

from ttc.dialects.core.errors import Error
from ttc.importers.common.protobuf import BYTES, FIXED32, VARINT, Field, fields, read_varint, write_varint


@pytest.mark.parametrize("value", [0, 1, 127, 128, 300, 2**35 + 7, 2**63 - 1])
def test_varints_round_trip(value: int) -> None:
    data = write_varint(value)
    assert read_varint(data, 0, len(data), "a model") == (value, len(data))


@pytest.mark.parametrize("data", [b"", b"\x80", b"\xff" * 11])
def test_varints_that_do_not_end(data: bytes) -> None:
    with pytest.raises(Error) as caught:
        read_varint(data, 0, len(data), "a model")
    assert caught.value.code == "E0201"


def test_fields_of_each_wire_type() -> None:
    data = (
        write_varint(1 << 3 | VARINT) + b"\x96\x01" + write_varint(2 << 3 | BYTES) + b"\x03abc" + write_varint(3 << 3 | FIXED32) + b"\0" * 4
    )
    assert list(fields(data, 0, len(data), "a model")) == [
        Field(1, VARINT, 0, 1, 3),
        Field(2, BYTES, 3, 5, 8),
        Field(3, FIXED32, 8, 9, 13),
    ]


@pytest.mark.parametrize("data", [b"\x0b", b"\x00\x00", b"\x0a\x05abc", b"\x0d\x00\x00"])
def test_fields_that_are_malformed_or_run_past_the_end(data: bytes) -> None:
    with pytest.raises(Error, match="not a model") as caught:
        list(fields(data, 0, len(data), "a model"))
    assert caught.value.code == "E0201"
