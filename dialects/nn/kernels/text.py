"""Numpy semantics of the ops on text."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.errors import Error
from ttc.dialects.core.formats.text import STRING
from ttc.dialects.core.kernels.text import mapped, widened
from ttc.dialects.core.kernels.words import places
from ttc.dialects.nn.kernels import KERNELS
from ttc.dialects.nn.regular import compiled

_MAX_PIECES = 1 << 24


@KERNELS.rule("string_concat")
def string_concat(a: NDArray, b: NDArray) -> NDArray:
    """Return a followed by b, elementwise."""
    return mapped(lambda x, y: x + y, a, b)


@KERNELS.rule("string_split")
def string_split(x: NDArray, *, delimiter: str | None = None, maxsplit: int | None = None) -> tuple[NDArray, NDArray]:
    """Return the pieces of each text, filled up with empty ones, and how many there are."""
    pieces = [text.split(delimiter, -1 if maxsplit is None else maxsplit) for text in widened(x).flat]
    counts = np.array([len(p) for p in pieces], np.int64)
    widest = int(counts.max(initial=0))
    if widest * len(pieces) > _MAX_PIECES:
        raise Error("E0805", f"{len(pieces)} texts of up to {widest} pieces are too many")
    found = np.full((len(pieces), widest), "", STRING)
    for row, items in zip(found, pieces, strict=True):
        row[: len(items)] = items
    return found.reshape(*x.shape, widest), counts.reshape(x.shape)


@KERNELS.rule("string_normalize")
def string_normalize(x: NDArray, *, case: str, stopwords: tuple[str, ...], case_sensitive: bool) -> NDArray:
    """Return the words that are not in the list, in the case asked for."""
    gone = set(stopwords) if case_sensitive else {word.lower() for word in stopwords}
    left = [word for word in widened(x).flat if (word if case_sensitive else word.lower()) not in gone]
    changed = [word.lower() if case == "lower" else word.upper() if case == "upper" else word for word in left] or [""]
    return np.array(changed, STRING).reshape(*x.shape[:-1], -1)


@KERNELS.rule("regex_full_match")
def regex_full_match(x: NDArray, *, pattern: str) -> NDArray:
    """Return whether the pattern describes each text as a whole."""
    return mapped(compiled(pattern).matches, x, dtype=np.bool_)


@KERNELS.rule("string_index")
def string_index(x: NDArray, *, words: tuple[str, ...]) -> NDArray:
    """Return the place of each text among the words; their number for others."""
    return places(x, words)
