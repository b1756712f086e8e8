"""Random weights that are the same whenever they are asked for."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from functools import partial

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.ir.spec import Spec
from ttc.dialects.core.plain.weights import Weight, WeightStore


def seeded_weights(specs: Mapping[str, Spec], seed: int) -> WeightStore:
    """Return a store of random weights: a value depends on its key, its spec and the seed alone."""
    store = WeightStore()
    for key, spec in specs.items():
        store.add(key, Weight(spec.shape, spec.dtype, partial(seeded_value, key, spec, seed)))
    return store


def seeded_value(key: str, spec: Spec, seed: int) -> NDArray:
    """Return a random value for a weight.

    Integers are 0 or 1; vectors lie in [0.5, 1.5), as variances must be positive; sums over a matrix's rows keep their size.
    """
    generator = np.random.default_rng((seed, zlib.crc32(f"{key}{spec}".encode())))
    if spec.dtype.kind in "iub":
        return generator.integers(0, 2, spec.shape).astype(spec.dtype)
    if spec.rank < 2:
        return np.asarray(generator.random(spec.shape) + 0.5).astype(spec.dtype)
    terms = max(spec.elements // max(spec.shape[-1], 1), 1)
    return (generator.standard_normal(spec.shape, np.float32) / np.sqrt(terms)).astype(spec.dtype)
