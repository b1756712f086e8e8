"""Numpy semantics of random numbers."""

from __future__ import annotations

import numpy as np
from numpy.typing import DTypeLike, NDArray


def random_uniform(seed: NDArray, *, shape: tuple[int, ...], dtype: DTypeLike) -> NDArray:
    """Return random numbers, uniform in [0, 1)."""
    return np.asarray(_source(seed).random_sample(shape))


def random_normal(seed: NDArray, *, shape: tuple[int, ...], dtype: DTypeLike) -> NDArray:
    """Numbers of mean 0 and standard deviation 1."""
    return np.asarray(_source(seed).standard_normal(shape))


def _source(seed: NDArray) -> np.random.RandomState:
    return np.random.RandomState(int(seed) & 0xFFFFFFFF)
