"""Quotients by known numbers are those of a division."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import pytest

from ttc.runtime.engines.native.codegen.code import Signature, compiled
from ttc.runtime.engines.native.codegen.features import host_cpu
from ttc.runtime.engines.native.ir.quotients import rounds_right
from ttc.runtime.engines.native.kernels.kernel import Kernel

if TYPE_CHECKING:
    from ttc.runtime.engines.native.ir.writer import Writer

LANES, COUNT = 8, 1 << 16
ERROR = Fraction(1, 2**47)
"""The relative error of `near_quotient` before it is rounded is less than twice as large."""


@dataclass(frozen=True)
class Quotients(Kernel):
    """y = x / divisor.  Words: addresses of x and y, of COUNT float32."""

    divisor: float

    def emit(self, f: Writer) -> None:
        from ttc.runtime.engines.native.ir.quotients import divides_fast, quotient

        assert divides_fast(f, self.divisor)
        with f.loop(0, COUNT, LANES) as i:
            x = f.load(f.at(f.pointer(0), i, "f32"), "f32", LANES)
            f.store(quotient(f, x, self.divisor), f.at(f.pointer(1), i, "f32"))


@pytest.mark.skipif(not host_cpu().has("fma"), reason="the CPU rounds products before it adds")
@pytest.mark.parametrize("seed", range(12))
def test_quotients_are_rounded_as_divisions_are(seed: int) -> None:
    rng = np.random.default_rng(seed)
    fractions = [0x000000, 0x000001, 0x7FFFFF, 0x400000, *rng.integers(0, 1 << 23, 8)]
    exponent = rng.integers(-59, 60)
    divisor = np.array(fractions[seed] | int(exponent + 127) << 23, np.uint32).view(np.float32)
    x = (rng.uniform(0.25, 512, COUNT) * rng.choice([-1, 1], COUNT)).astype(np.float32) * divisor
    kernel, y = Quotients(float(divisor)), np.empty_like(x)
    words = np.array([x.ctypes.data, y.ctypes.data], np.int64)
    code = compiled([kernel], host_cpu())
    Signature(code.address(kernel))(words.ctypes.data, 0, 1, None)
    np.testing.assert_array_equal(y, x / divisor)


@pytest.mark.parametrize("divisor", [0.017, 1.0, 0.0063806246, 1e-6])
def test_two_multiplications_are_enough_where_that_is_proven(divisor: float) -> None:
    """Beside every half, in exact arithmetic: `near_quotient` is a float32 next to the exact quotient, whatever its rounding was."""
    assert rounds_right(divisor, 256)
    step = np.float32(divisor)
    halves = np.arange(-256, 257).astype(np.float32) + np.float32(0.5)
    near = halves * step
    for _ in range(3):
        near = np.concatenate([near, np.nextafter(near, np.float32(np.inf)), np.nextafter(near, np.float32(-np.inf))])
    near = np.unique(near)
    bounds = [np.array([float(Fraction(float(x)) / Fraction(float(step)) * (1 + d)) for x in near]) for d in (-ERROR, ERROR)]
    rounded = [np.rint(bound.astype(np.float32)) for bound in bounds]
    np.testing.assert_array_equal(rounded[0], np.rint(near / step))
    np.testing.assert_array_equal(rounded[1], np.rint(near / step))


def test_a_divisor_that_is_not_proven() -> None:
    assert not rounds_right(1.7343744, 256)
