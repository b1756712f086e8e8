"""Rounding to device formats against the formats themselves, bit by bit."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.draws import rng_of_test
from tests.runtime.engines.native.jobs.test_copies import LEVELS, Recorder, execute, view_of
from ttc.dialects.core.formats import format_named
from ttc.runtime.engines.native.codegen.features import host_cpu
from ttc.runtime.engines.native.jobs.copies import round_in_place
from ttc.runtime.engines.native.jobs.lowering import Lowering

BLOCKS = ("Bfp8_b", "Bfp4_b", "Bfp2_b", "Bfp8", "Bfp4", "Bfp2")
WORDS = ("Float16", "Lf8", "Fp8_e4m3", "Tf32")


def patterns(count: int) -> NDArray:
    """All kinds of float32: infinities, NaN and denormals among them."""
    return rng_of_test().integers(0, 1 << 32, count, dtype=np.uint32).view(np.float32)


def near(count: int, exponent: int) -> NDArray:
    """Numbers of few exponents, so that blocks are of one magnitude."""
    rng = rng_of_test()
    bits = (rng.integers(0, 5, count) + exponent) << 23 | rng.integers(0, 1 << 23, count) | rng.integers(0, 2, count) << 31
    return bits.astype(np.uint32).view(np.float32)


def check(values: NDArray, format: str, level: str = "amx", *, truncate: bool = False) -> None:
    expected = format_named(format).round(values, "truncate" if truncate else "rne")
    memory = np.full(values.size + 64, 77, np.float32)
    memory[32:-32] = values.reshape(-1)
    array = memory[32:-32].reshape(values.shape)
    recorder = Recorder(host_cpu().limited_to(level))
    round_in_place(cast("Lowering", recorder), view_of(array, "f32"), format, truncate=truncate)
    execute(recorder)
    np.testing.assert_array_equal(array.view(np.uint32), np.ascontiguousarray(expected).view(np.uint32))
    assert (memory[:32] == 77).all()
    assert (memory[-32:] == 77).all()


SHAPES: tuple[Any, ...] = ((4, 4096), (37, 1), (53, 15), (5, 7, 33), (16,), ())


@pytest.mark.parametrize("truncate", [False, True])
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("format", [*BLOCKS, *WORDS])
def test_every_pattern(format: str, level: str, truncate: bool) -> None:
    for shape in SHAPES:
        count = int(np.prod(shape))
        check(patterns(count).reshape(shape), format, level, truncate=truncate)
        for exponent in (0, 3, 8, 110, 113, 125, 141, 251):
            check(near(count, exponent).reshape(shape), format, level, truncate=truncate)


@pytest.mark.parametrize("format", [*BLOCKS, *WORDS])
def test_ties_and_zeros(format: str, rng: np.random.Generator) -> None:
    halves = np.arange(-512, 512, dtype=np.float32).reshape(-1, 16) / 4
    check(halves, format)
    check(np.zeros((3, 20), np.float32) * np.float32(-1), format)
    check(np.where(rng.random((64, 16)) < 0.5, np.float32(-0.0), halves), format)
