"""Formats of numpy's own elements."""

from __future__ import annotations

import numpy as np
import pytest

from ttc.dialects.core.errors import Error
from ttc.dialects.core.formats import FORMATS, format_named, format_of


@pytest.mark.parametrize(
    ("name", "given", "expected"),
    [
        ("Int8", [0.5, 1.5, -2.5, 300.0, -300.0, np.nan, np.inf, -np.inf], [0, 2, -2, 127, -128, 0, 127, -128]),
        ("UInt8", [-1.0, 254.6, 300.0], [0, 255, 255]),
        ("UInt16", [-1.0, 65534.6, 1e9], [0, 65535, 65535]),
        ("Int32", [2.0**31, -(2.0**40), 7.4], [2**31 - 1, -(2**31), 7]),
        ("Int64", [2.0**63, -(2.0**70), 3.0], [2**63 - 1, -(2**63), 3]),
    ],
)
def test_numbers_become_the_nearest_integer(name: str, given: list[float], expected: list[int]) -> None:
    assert FORMATS[name].round(np.array(given)).tolist() == expected


def test_wider_integers_are_clamped() -> None:
    assert FORMATS["Int32"].round(np.array([2**63 - 1, -(2**63), 5])).tolist() == [2**31 - 1, -(2**31), 5]
    assert FORMATS["UInt8"].round(np.array([-5, 256], np.int16)).tolist() == [0, 255]
    assert FORMATS["Int64"].round(np.array([2**64 - 1], np.uint64)).tolist() == [2**63 - 1]


def test_half_is_ieee() -> None:
    found = FORMATS["Half"].round(np.array([65504, 65520, 2.0**-24, np.nan], np.float32))
    assert found.dtype == np.float32
    assert found.tolist()[:3] == [65504, np.inf, 2.0**-24]
    assert np.isnan(found[3])


@pytest.mark.parametrize(
    "dtype", ["float32", "float16", "bfloat16", "float64", "int8", "uint8", "uint16", "uint32", "int32", "int64", "bool"]
)
def test_source_dtypes_are_stored_unchanged(dtype: str) -> None:
    found = format_of(np.dtype(dtype))
    assert found.storage == found.array_dtype == np.dtype(dtype)
    assert found.size_bytes((3, 5)) == 15 * np.dtype(dtype).itemsize


def test_unknown_names_and_dtypes() -> None:
    with pytest.raises(Error) as failure:
        format_named("Bfp8_c")
    assert failure.value.code == "E0607"
    assert failure.value.hint is not None
    with pytest.raises(Error) as failure:
        format_of(np.dtype("complex64"))
    assert failure.value.code == "E0403"
