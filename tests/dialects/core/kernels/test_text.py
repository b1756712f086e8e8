"""Tensors of text: what users may give, conversions, bounds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ttc.dialects.core.errors import Error
from ttc.dialects.core.formats import FORMATS, format_of
from ttc.dialects.core.formats.text import STRING
from ttc.dialects.core.kernels import text


@pytest.mark.parametrize(
    "value", [[["a", "bc"]], np.array([["a", "bc"]]), np.array([["a", "bc"]], object), np.array([["a", "bc"]], np.dtypes.StringDType())]
)
def test_arrays_of_text(value: Any) -> None:
    found = text.texts(value, "x")
    assert found.dtype == STRING
    assert found.tolist() == [["a", "bc"]]
    assert all(type(x) is str for x in found.flat)


@pytest.mark.parametrize("value", [[1], np.array([1]), np.array([b"a"]), np.array([["a", None]], object), [["a"], "b"], None])
def test_what_is_no_text(value: Any) -> None:
    with pytest.raises(Error) as caught:
        text.texts(value, "input 'x'")
    assert caught.value.code == "E0801"
    assert "input 'x'" in caught.value.message


def test_characters_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text, "MAX_CHARACTERS", 10)
    with pytest.raises(Error) as caught:
        text.mapped(lambda x: x * 4, np.array(["abc"], object))
    assert caught.value.code == "E0805"


def test_numbers_as_text_and_back() -> None:
    numbers = np.array([0.1, 1e-7, -np.inf, np.nan, 16777216], np.float32)
    words = text.cast(numbers, STRING)
    assert words.tolist() == ["0.1", "0.0000001", "-INF", "NaN", "16777216"]
    np.testing.assert_array_equal(text.cast(words, np.dtype(np.float32)), numbers)
    assert text.cast(np.array([True, False]), STRING).tolist() == ["1", "0"]
    assert text.cast(np.array([-3], np.int8), STRING).tolist() == ["-3"]
    assert text.cast(np.array(["12", " -7"], object), np.dtype(np.int32)).tolist() == [12, -7]


@pytest.mark.parametrize(
    ("word", "dtype"), [("x", "float32"), ("1.5", "int64"), ("1" * 50, "int64"), (str(1 << 63), "int64"), ("", "float64")]
)
def test_text_that_is_no_number(word: str, dtype: str) -> None:
    with pytest.raises(Error) as caught:
        text.cast(np.array([word], object), np.dtype(dtype))
    assert caught.value.code == "E0802"


def test_text_is_not_stored() -> None:
    format_ = format_of(STRING)
    assert format_ is FORMATS["String"]
    words = np.array(["a"], object)
    assert format_.round(words) is words
    for call in (format_.pack, format_.to_sections):
        with pytest.raises(Error) as caught:
            call(words)
        assert caught.value.code == "E0403"
    with pytest.raises(Error):
        format_.round(np.array([1.0]))
