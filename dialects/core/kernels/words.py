"""Places of texts in a list of words: by hashing `str`, or by the characters of numpy's arrays of text as integers of 64 bits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import repeat

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.records import record

_WIDEST = 64
"""Characters of the longest texts that are taken as integers: others are hashed one by one."""
_FEW = 200
"""Texts that are worth what there is to do for any number of them."""
_ATTEMPTS = 16


def places(x: NDArray, words: tuple[str, ...]) -> NDArray[np.int64]:
    """Return the place of each text of an array of `str`, or of numpy's own text, among the words; their number for others."""
    if x.size >= _FEW and x.dtype.kind == "U" and x.dtype.isnative and 0 < x.dtype.itemsize <= 4 * _WIDEST:
        found = _of_integers(np.ascontiguousarray(x), words)
        if found is not None:
            return found.reshape(x.shape)
    return np.fromiter(map(_places(words).get, x.ravel().tolist(), repeat(len(words))), np.int64, x.size).reshape(x.shape)


@lru_cache(maxsize=256)
def _places(words: tuple[str, ...]) -> Mapping[str, int]:
    """Return the first place of each word."""
    return {word: place for place, word in reversed(list(enumerate(words)))}


def _of_integers(x: NDArray, words: tuple[str, ...]) -> NDArray[np.int64] | None:
    """Return places of texts whose characters are compared eight bytes at a time; None if the hashes of two words are the same."""
    characters = np.ndarray((x.size, x.dtype.itemsize // 4), np.uint32, x)
    narrow = bool(characters.max() < 256)  # one byte a character will do
    parts = _parts(characters, narrow)
    table = _table(words, parts.shape[1], narrow)
    if table is None:
        return None
    near = table.hashes.searchsorted(_hashed(parts, table.factors))
    same = table.parts[0].take(near) == parts[:, 0]
    for number in range(1, len(table.parts)):
        same &= table.parts[number].take(near) == parts[:, number]
    return np.where(same, table.places.take(near), len(words))


def _parts(characters: NDArray[np.uint32], narrow: bool) -> NDArray[np.uint64]:
    """Return texts, a row of characters each, as rows of integers."""
    count, width = characters.shape
    each = 8 if narrow else 2
    padded = np.zeros((count, -(-width // each) * each), np.uint8 if narrow else np.uint32)
    padded[:, :width] = characters
    return padded.view(np.uint64)


@record(eq=False)
class _Table:
    """Words as rows of integers, in the order of their hashes; one more at the end, which no hash finds, equals the last.

    Args:
        hashes: of the words, without the one more.
        factors: of the integers of a word, whose products add up to its hash.
        parts: the integers of all words, the first of each, and so on.
        places: of the words in their list.
    """

    hashes: NDArray[np.uint64]
    factors: NDArray[np.uint64]
    parts: Sequence[NDArray[np.uint64]]
    places: NDArray[np.int64]


@lru_cache(maxsize=256)
def _table(words: tuple[str, ...], count: int, narrow: bool) -> _Table | None:
    """Return the words that `count` integers can hold as a table; None if no factors are found that tell them apart."""
    width = count * (8 if narrow else 2)
    known = {word: place for word, place in _places(words).items() if _fits(word, width, narrow)} or {"": len(words)}
    array = np.array(list(known), f"U{width}")
    parts = _parts(np.ndarray((len(known), width), np.uint32, array), narrow)
    numbers = np.fromiter(known.values(), np.int64, len(known))
    rng = np.random.default_rng(0)
    for _ in range(_ATTEMPTS):
        factors = rng.integers(1, 1 << 63, count, np.uint64) * np.uint64(2) + np.uint64(1)
        hashes = _hashed(parts, factors)
        order = np.argsort(hashes)
        if np.all(np.diff(hashes[order])):
            last = [*order, order[-1]]
            return _Table(hashes[order], factors, [np.ascontiguousarray(part) for part in parts[last].T], numbers[last])
    return None


def _fits(word: str, width: int, narrow: bool) -> bool:
    """Return whether an array of so many characters may hold a word: numpy's texts end before a last character that is 0."""
    return len(word) <= width and not word.endswith("\0") and (not narrow or all(ord(c) < 256 for c in word))


def _hashed(parts: NDArray[np.uint64], factors: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return a number of each row; one integer stands for itself."""
    if len(factors) == 1:
        return parts[:, 0]
    hashes = parts[:, 0] * factors[0]
    for number in range(1, len(factors)):
        hashes += parts[:, number] * factors[number]
    return hashes
