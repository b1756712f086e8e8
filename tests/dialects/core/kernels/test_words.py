"""Places of texts among words: arrays of numpy's own text give what arrays of `str` give."""

from __future__ import annotations

import numpy as np
import pytest

from ttc.dialects.core.kernels import words as module
from ttc.dialects.core.kernels.words import places

LISTS = {
    "short": ("L", "M", "S", "XL", "blue", "green", ""),
    "of eight characters": ("abcdefgh", "abcdefgi", "abcdefg", "bcdefghi"),
    "longer": tuple(f"a rather long category, number {i}" for i in range(50)),
    "wide": ("日本", "日本語", "größe", "Ā", "日", "𝒳"),
    "equal": ("a", "b", "a", "b"),
    "none": (),
    "one": ("yes",),
    "with zeros": ("a\0", "a", "\0a", "a\0b", "\0"),
}


@pytest.mark.parametrize("name", LISTS)
@pytest.mark.parametrize("more", [(), ("elsewhere",), ("ελλάδα", "a", "x" * 40), ("y" * 100,)])
def test_texts_of_numpy_are_found_as_others(name: str, more: tuple[str, ...], rng: np.random.Generator) -> None:
    words = LISTS[name]
    x = rng.choice([*words, *more, "b"], (80, 6))
    assert x.dtype.kind == "U"
    wanted = [[words.index(text) if text in words else len(words) for text in row] for row in x.tolist()]
    for given in (x, x.astype(object), x[:, ::2], x.T, x.astype(x.dtype.newbyteorder(">"))):
        found = places(given, words)
        assert found.dtype == np.int64
        np.testing.assert_array_equal(found, places(given.astype(object), words))
    np.testing.assert_array_equal(places(x, words), wanted)


def test_no_texts_and_texts_of_no_characters() -> None:
    assert places(np.empty((0, 2), "U3"), ("a",)).shape == (0, 2)
    assert places(np.array(["", ""]), ("a", "")).tolist() == [1, 1]
    assert places(np.array("b"), ("a", "b")).tolist() == 1


def test_words_that_no_factors_tell_apart_are_hashed_by_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_hashed", lambda parts, factors: np.zeros(len(parts), np.uint64))
    module._table.cache_clear()
    try:
        assert places(np.array(["b", "a", "c"] * 100), ("a", "b")).tolist() == [1, 0, 2] * 100
    finally:
        module._table.cache_clear()
