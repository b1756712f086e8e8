"""Generators of random data for tests, seeded by names: what a test draws depends neither on its order nor on its process."""

from __future__ import annotations

from zlib import crc32

import numpy as np


def generator(name: str) -> np.random.Generator:
    """Return a generator whose seed is the name's: for data drawn where no test runs yet, as in lists of cases."""
    return np.random.default_rng(crc32(name.encode()))
