"""Addresses of a caller's memory among the words of jobs."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from ttc.runtime.engines.native.codegen.code import compiled
from ttc.runtime.engines.native.codegen.features import host_cpu
from ttc.runtime.engines.native.kernels.addresses import PlaceAddresses


@pytest.mark.parametrize("level", ["generic", "avx2", "avx512"])
def test_words_are_filled_in_as_they_are_named(level: str, rng: np.random.Generator):
    kernel = PlaceAddresses()
    code = compiled([kernel], host_cpu().limited_to(level))
    call = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p)(code.addresses[kernel.key])
    words, given = np.full(50, -1), rng.integers(0, 1 << 60, 7)
    positions, numbers, offsets = rng.permutation(50)[:20], rng.integers(0, 7, 20), rng.integers(0, 1 << 20, 20)
    lists = np.array([array.ctypes.data for array in (words, given, positions, numbers, offsets)])
    wanted = words.copy()
    for begin, end in ((0, 12), (12, 20), (20, 20)):
        call(lists.ctypes.data, begin, end, None)
        wanted[positions[begin:end]] = given[numbers[begin:end]] + offsets[begin:end]
        assert words.tolist() == wanted.tolist()
