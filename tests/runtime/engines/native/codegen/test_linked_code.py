"""Linked code as bytes, and bytes that are none."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ttc.dialects.core.errors import Error
from ttc.runtime.engines.native.codegen.linked_code import MAX_NAME, LinkedCode

CODE = LinkedCode(bytes(range(64)), {"k": 0, "other": 63}, ((0, "", -4), (56, "outside", 1 << 40)))


def test_there_and_back() -> None:
    assert LinkedCode.unpack(CODE.pack()) == CODE
    assert LinkedCode.unpack(LinkedCode(b"", {}).pack()) == LinkedCode(b"", {})


@pytest.mark.parametrize(
    "code",
    [
        LinkedCode(bytes(8), {"k": 8}),
        LinkedCode(bytes(8), {"k": 0}, ((1, "", 0),)),
        LinkedCode(b"", {"k": 0}),
        LinkedCode(bytes(8), {"k" * (MAX_NAME + 1): 0}),
    ],
)
def test_places_outside_the_code(code: LinkedCode) -> None:
    with pytest.raises(Error) as failure:
        LinkedCode.unpack(code.pack())
    assert failure.value.code == "E0901"


@given(st.data())
def test_changed_bytes_are_refused_or_stay_inside(data: st.DataObject) -> None:
    packed = bytearray(CODE.pack())
    for _ in range(data.draw(st.integers(1, 4))):
        packed[data.draw(st.integers(0, len(packed) - 1))] = data.draw(st.integers(0, 255))
    cut = packed[: data.draw(st.integers(0, len(packed)))] if data.draw(st.booleans()) else packed
    try:
        found = LinkedCode.unpack(bytes(cut))
    except Error:
        return
    assert all(0 <= place < len(found.code) for place in found.symbols.values())
    assert all(0 <= place <= len(found.code) - 8 for place, _, _ in found.slots)
