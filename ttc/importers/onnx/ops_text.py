"""Text as numbers: counts of n-grams."""

from __future__ import annotations

import numpy as np

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.values import SSAValue
from ttc.importers.common.builder import Builder
from ttc.importers.common.tracking import MAX_ELEMENTS
from ttc.importers.common.unsupported import Unsupported
from ttc.importers.onnx.tables import MAPPINGS

FLOAT32 = np.dtype(np.float32)


@MAPPINGS.rule("TfIdfVectorizer-9")
def tf_idf_vectorizer_9(
    b: Builder,
    x: SSAValue,
    *,
    max_gram_length: int,
    max_skip_count: int,
    min_gram_length: int,
    mode: str,
    ngram_counts: tuple[int, ...],
    ngram_indexes: tuple[int, ...],
    pool_int64s: tuple[int, ...] = (),
    pool_strings: tuple[str, ...] = (),
    weights: tuple[float, ...] = (),
) -> SSAValue:
    """Count for each n-gram of the pool how often it is in x[n, words] or x[words], its words up to max_skip_count others apart.

    TF: counts;  IDF: the n-gram's weight where it is found;  TFIDF: counts times weights.
    """
    if pool_strings:
        x, pool_int64s = _numbered(b, x, pool_strings)
    if mode not in ("TF", "IDF", "TFIDF") or b.rank(x) not in (1, 2) or not 0 <= max_skip_count < 1 << 10:
        raise Error("E0402", f"mode '{mode[:20]}', {max_skip_count} skips or {b.spec(x)} cannot be used")
    grams = _grams(pool_int64s, ngram_counts)
    if sum(map(len, grams)) != len(ngram_indexes) or min(ngram_indexes, default=-1) < 0 or max(ngram_indexes) > MAX_ELEMENTS:
        raise Error("E0402", f"ngram_indexes are not those of {sum(map(len, grams))} n-grams")
    words = b.cast(x, np.dtype(np.int64))
    found = [
        _counts(b, words, rows, max_skip_count if length > 1 else 0, counted=min_gram_length <= length <= max_gram_length)
        for length, rows in enumerate(grams, 1)
        if len(rows)
    ]
    counts = b.nn("concat", *found, axis=b.rank(x) - 1) if len(found) > 1 else found[0]
    places = np.full(max(ngram_indexes) + 1, len(ngram_indexes))
    places[list(ngram_indexes)] = np.arange(len(ngram_indexes))
    counts = _with_nothing(b, counts)
    y = b.nn("gather", counts, b.constant(places), axis=b.rank(x) - 1)
    if mode == "TF":
        return y
    values = np.ones(len(ngram_indexes) + 1) if not weights else np.append(np.array(weights), 0)
    if len(values) != len(ngram_indexes) + 1:
        raise Error("E0402", f"{len(weights)} weights do not fit {len(ngram_indexes)} n-grams")
    scale = b.constant(values[places].astype(np.float32))
    present = b.cast(b.nn("greater", y, b.scalar(0, y)), FLOAT32) if mode == "IDF" else y
    return b.nn("mul", present, scale)


def _numbered(b: Builder, x: SSAValue, pool: tuple[str, ...]) -> tuple[SSAValue, tuple[int, ...]]:
    """Words as numbers, those of x and those of the pool; words that are not in the pool have one of their own."""
    words = tuple(dict.fromkeys(pool))
    numbers = {word: number for number, word in enumerate(words)}
    return b.nn("string_index", x, words=words), tuple(numbers[word] for word in pool)


def _grams(pool: tuple[int, ...], starts: tuple[int, ...]) -> list[np.ndarray]:
    """[count, length] for each length from 1 on.  Raises E0402."""
    ends = (*starts[1:], len(pool))
    found: list[np.ndarray] = []
    for length, (start, end) in enumerate(zip(starts, ends, strict=True), 1):
        if not 0 <= start <= end <= len(pool) or (end - start) % length:
            raise Error("E0402", f"ngram_counts {list(starts)[:8]} do not divide a pool of {len(pool)}")
        found.append(np.array(pool[start:end], np.int64).reshape(-1, length))
    return found


def _counts(b: Builder, words: SSAValue, grams: np.ndarray, skips: int, *, counted: bool) -> SSAValue:
    """[..., grams]: over all distances of words, where all of them agree."""
    *lead, size = b.shape(words)
    length, axis = grams.shape[1], len(lead)
    if size * (skips + 1) * grams.size > MAX_ELEMENTS:
        raise Unsupported("too many n-grams")
    places = [np.arange(max(size - (length - 1) * step, 0))[:, None] + np.arange(length) * step for step in range(1, skips + 2)]
    windows = np.concatenate(places) if counted else np.zeros((0, length), np.int64)
    if not len(windows):
        return b.nn("expand", b.constant(np.float32(0)), shape=(*lead, len(grams)))
    taken = b.nn("gather", words, b.constant(windows), axis=axis)
    taken = b.reshape(taken, *lead, len(windows), 1, length)
    same = b.cast(b.nn("equal", taken, b.constant(grams)), FLOAT32)
    whole = b.nn("reduce_min", same, axes=(axis + 2,), keepdims=False)
    return b.nn("reduce_sum", whole, axes=(axis,), keepdims=False)


def _with_nothing(b: Builder, counts: SSAValue) -> SSAValue:
    """Return one more column, of 0: for places of the result that no n-gram has."""
    rank = b.rank(counts)
    return b.nn("pad", counts, before=(0,) * rank, after=(*(0,) * (rank - 1), 1), value=0.0, mode="constant")
