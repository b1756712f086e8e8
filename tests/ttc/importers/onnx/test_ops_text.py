"""Counts of n-grams against a loop over positions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.ttc.importers.onnx.cases import check, node_model
from tests.ttc.importers.onnx.test_walk import failure, save

WORDS = np.array([[1, 1, 3, 3, 3, 7], [8, 6, 7, 5, 6, 8]], np.int32)
POOL = {"ngram_counts": [0, 3], "ngram_indexes": [0, 1, 4, 2, 5], "pool_int64s": [3, 5, 8, 3, 3, 6, 8]}
GRAMS = [(3,), (5,), (8,), (3, 3), (6, 8)]


def counts(words: np.ndarray, skips: int, lengths: range) -> np.ndarray:
    found = np.zeros(6, np.float32)
    for gram, place in zip(GRAMS, POOL["ngram_indexes"], strict=True):
        for step in range(1, skips + 2 if len(gram) > 1 else 2):
            for start in range(len(words) - (len(gram) - 1) * step):
                picked = tuple(words[start + k * step] for k in range(len(gram)))
                found[place] += picked == gram and len(gram) in lengths
    return found


@pytest.mark.parametrize("skips", [0, 2, 9])
@pytest.mark.parametrize("shortest", [1, 2])
@pytest.mark.parametrize("words", [WORDS, WORDS[0]])
def test_counts(words: np.ndarray, shortest: int, skips: int, tmp_path: Path) -> None:
    options: dict[str, Any] = {"mode": "TF", "min_gram_length": shortest, "max_gram_length": 2, "max_skip_count": skips, **POOL}
    model, feeds = node_model("TfIdfVectorizer", words, **options)
    wanted = np.apply_along_axis(counts, -1, words, skips, range(shortest, 3))
    check(model, feeds, tmp_path, wanted=[wanted])


@pytest.mark.parametrize("mode", ["IDF", "TFIDF"])
def test_weights(mode: str, tmp_path: Path) -> None:
    weights = [0.5, 2.0, 3.0, 4.0, 5.0]
    options: dict[str, Any] = {"mode": mode, "min_gram_length": 1, "max_gram_length": 2, "max_skip_count": 0, "weights": weights, **POOL}
    model, feeds = node_model("TfIdfVectorizer", WORDS, **options)
    scale = np.zeros(6, np.float32)
    scale[POOL["ngram_indexes"]] = weights
    found = np.apply_along_axis(counts, -1, WORDS, 0, range(1, 3))
    check(model, feeds, tmp_path, wanted=[(found > 0) * scale if mode == "IDF" else found * scale])


@pytest.mark.parametrize(
    "changes", [{"ngram_counts": [0, 2]}, {"ngram_indexes": [0, 1]}, {"mode": "MOST"}, {"weights": [1.0], "mode": "IDF"}]
)
def test_what_does_not_fit(changes: dict[str, Any], tmp_path: Path) -> None:
    options = {"mode": "TF", "min_gram_length": 1, "max_gram_length": 2, "max_skip_count": 0, **POOL, **changes}
    assert failure(save(node_model("TfIdfVectorizer", WORDS, **options)[0], tmp_path)).code == "E0402"
