"""Half precision without instructions for it: all patterns, and numbers around each of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pytest
from numpy.typing import NDArray

from ttc.runtime.engines.native.codegen.code import Code, Signature, compiled
from ttc.runtime.engines.native.codegen.features import host_cpu
from ttc.runtime.engines.native.kernels.kernel import Kernel

if TYPE_CHECKING:
    from ttc.runtime.engines.native.ir.writer import Writer


@dataclass(frozen=True)
class Convert(Kernel):
    """Four halves a task to float32, and four float32 to halves."""

    def emit(self, f: Writer) -> None:
        with f.loop(f.begin, f.end, 4) as i:
            f.write(f.read(f.at(f.pointer(0), i, "f16"), "f16", 4), f.at(f.pointer(1), i, "f32"), "f32")
            f.write(f.read(f.at(f.pointer(2), i, "f32"), "f32", 4), f.at(f.pointer(3), i, "f16"), "f16")


@pytest.fixture(scope="module")
def code() -> Code:
    return compiled([Convert()], host_cpu().limited_to("generic"))


HALVES = np.arange(1 << 16).astype(np.uint16).view(np.float16)


def converted(code: Code, numbers: NDArray) -> tuple[NDArray, NDArray]:
    """float32 of all halves, and halves of as many numbers."""
    wide, narrow = np.empty(len(HALVES), np.float32), np.empty(len(HALVES), np.float16)
    words = np.array([array.ctypes.data for array in (HALVES, wide, numbers, narrow)], np.int64)
    Signature(code.address(Convert()))(words.ctypes.data, 0, len(HALVES), None)
    return wide, narrow


def near(step: int) -> Callable[[], NDArray]:
    return lambda: (np.nan_to_num(HALVES).astype(np.float32).view(np.int32) + (1 << 12) + step).view(np.float32)


def patterns() -> NDArray:
    return np.random.default_rng(0).integers(0, 1 << 32, len(HALVES), dtype=np.uint32).view(np.float32)


@pytest.mark.parametrize("numbers", [patterns, near(-1), near(0), near(1)])
def test_all_halves_and_numbers_around_them(code: Code, numbers: Callable[[], NDArray]) -> None:
    given = numbers()
    wide, narrow = converted(code, given)
    expected = HALVES.astype(np.float32)
    np.testing.assert_array_equal(wide, expected)
    np.testing.assert_array_equal(np.signbit(wide), np.signbit(expected))
    with np.errstate(all="ignore"):
        rounded = given.astype(np.float16)
    nan = np.isnan(rounded)
    np.testing.assert_array_equal(np.isnan(narrow), nan)
    np.testing.assert_array_equal(narrow.view(np.uint16)[~nan], rounded.view(np.uint16)[~nan])
