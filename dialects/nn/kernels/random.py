"""Numpy semantics of random numbers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.nn.kernels import KERNELS

KERNELS.add("random_uniform", lambda seed, *, shape, dtype: np.asarray(_source(seed).random_sample(shape)))
KERNELS.add("random_normal", lambda seed, *, shape, dtype: np.asarray(_source(seed).standard_normal(shape)))


def _source(seed: NDArray) -> np.random.RandomState:
    return np.random.RandomState(int(seed) & 0xFFFFFFFF)


@KERNELS.rule("dropout")
def dropout(x: NDArray, seed: NDArray, offset: NDArray, *, p: float, stream: int) -> NDArray:
    """x / (1 - p) where a random number is at least p, else 0."""
    if p == 1:
        return np.zeros_like(x)
    kept = philox_words(int(seed), int(offset), stream, x.size) >= np.uint64(int(p * 2.0**32))
    return np.where(kept.reshape(x.shape), x / x.dtype.type(1 - p), x.dtype.type(0))


def philox_words(seed: int, offset: int, stream: int, count: int) -> NDArray[np.uint64]:
    """The first `count` numbers of 32 bits that Philox4x32-10 gives for a key (seed) and counters (block, offset, stream)."""
    low = np.uint64(0xFFFFFFFF)
    half = np.uint64(32)
    block = np.arange((count + 3) // 4, dtype=np.uint64)
    words = [block, *(np.full_like(block, word & 0xFFFFFFFF) for word in (offset, stream, offset >> 32))]
    keys = seed & 0xFFFFFFFF, (seed >> 32) & 0xFFFFFFFF
    for number in range(10):
        first, second = ((key + number * step) & 0xFFFFFFFF for key, step in zip(keys, (0x9E3779B9, 0xBB67AE85), strict=True))
        left, right = words[0] * np.uint64(0xD2511F53), words[2] * np.uint64(0xCD9E8D57)
        words = [
            (right >> half) ^ words[1] ^ np.uint64(first),
            right & low,
            (left >> half) ^ words[3] ^ np.uint64(second),
            left & low,
        ]
    return np.stack(words, axis=1).reshape(-1)[:count]
