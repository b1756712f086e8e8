"""Tensors of text: arrays of `str`, what users may give for them, and conversions from and to numbers."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.errors import Error
from ttc.dialects.core.formats.text import STRING

MAX_CHARACTERS = 1 << 28
"""The most characters that all elements of one tensor may have together."""
_WORDS = {"nan": math.nan, "inf": math.inf, "+inf": math.inf, "-inf": -math.inf}


def texts(value: Any, what: str) -> NDArray:
    """Return an array of text from what a user has: arrays of numpy's text types or of `str`, nested lists, one `str`.  Raises E0801."""
    try:
        array = value if isinstance(value, np.ndarray) else np.array(value, object)
        array = array if array.dtype == STRING else _widened(array, what)
    except ValueError as error:
        raise Error("E0801", f"{what} does not make an array of text: {error}") from None
    elements = array.ravel().tolist()  # walked faster than the array
    if not {str}.issuperset(map(type, elements)) and not all(isinstance(x, str) for x in elements):
        raise Error("E0801", f"{what} holds something else than text")
    return bounded(array, "E0801", what)


def given_texts(value: Any, what: str) -> NDArray:
    """Return what a user gives as an array of text: numpy's own stays as it is, anything else becomes what `texts` makes of it.

    Raises E0801.
    """
    if isinstance(value, np.ndarray) and value.dtype.kind == "U" and value.size * value.dtype.itemsize <= 4 * MAX_CHARACTERS:
        return value
    return texts(value, what)


def widened(array: NDArray) -> NDArray:
    """Return an array of text as one of `str`: inputs may have numpy's own dtypes of text."""
    return array.astype(STRING) if array.dtype.kind == "U" else array


def _widened(array: NDArray, what: str) -> NDArray:
    if array.dtype.kind not in "UT":
        raise Error("E0801", f"{what} is of type {array.dtype}, not text")
    return array.astype(object)


def bounded(array: NDArray, code: str = "E0805", what: str = "a tensor of text") -> NDArray:
    """Return the array.  Raises the code if its elements have more than MAX_CHARACTERS together."""
    if sum(map(len, array.ravel().tolist())) > MAX_CHARACTERS:
        raise Error(code, f"{what} has more than {MAX_CHARACTERS} characters")
    return array


def mapped(function: Callable[..., Any], *arrays: NDArray, dtype: Any = STRING) -> NDArray:
    """Make a function of elements a function of arrays, which broadcast as numpy does."""
    arrays = tuple(map(widened, arrays))
    if all(array.dtype == STRING for array in arrays):  # else numbers would come as Python's
        made = np.asarray(np.frompyfunc(function, len(arrays), 1)(*arrays), STRING)
        return bounded(made) if dtype == STRING else made.astype(dtype)
    given = np.broadcast_arrays(*arrays)
    made = np.empty(given[0].shape, dtype)
    for place in np.ndindex(made.shape):
        made[place] = function(*(x[place] for x in given))
    return bounded(made) if made.dtype == STRING else made


def cast(x: NDArray, dtype: np.dtype) -> NDArray:
    """Return numbers as text and text as numbers.  Raises E0802 for text that is none."""
    if x.dtype == dtype:
        return x
    if dtype == STRING:
        return mapped(_text, x)
    return mapped(_integer if dtype.kind in "iu" else _float, x, dtype=np.int64 if dtype.kind in "iu" else np.float64).astype(dtype)


def _text(value: Any) -> str:
    if isinstance(value, np.bool_):
        return "1" if value else "0"
    if isinstance(value, np.integer):
        return str(int(value))
    if not np.isfinite(value):
        return "NaN" if np.isnan(value) else "INF" if value > 0 else "-INF"
    return str(value.item()) if value.dtype == np.float64 else np.format_float_positional(value, unique=True, trim="-")


def _float(text: str) -> float:
    word = text.strip().lower()
    try:
        return _WORDS[word] if word in _WORDS else float(word)
    except ValueError:
        raise Error("E0802", f"'{text[:40]}' is no number") from None


def _integer(text: str) -> int:
    try:
        number = int(text[:40])
    except ValueError:
        raise Error("E0802", f"'{text[:40]}' is no integer") from None
    if len(text) > 40 or not -(1 << 63) <= number < 1 << 63:
        raise Error("E0802", f"'{text[:40]}' is no integer of 64 bits")
    return number
