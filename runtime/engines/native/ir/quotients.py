"""Quotients by a number that is known when code is generated, rounded as divisions are, in two or four multiplications.

Source: P. Markstein, Computation of elementary functions on the IBM RISC System/6000 processor, IBM Journal of Research and Development 34
(1990), theorem on quotients: from a reciprocal that is rounded right and a quotient less than a unit off, one correction by the exact
remainder rounds right.  Does not load llvmlite.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from ttc.runtime.engines.native.codegen.features import Cpu
    from ttc.runtime.engines.native.ir.values import Value
    from ttc.runtime.engines.native.ir.writer import Writer

_LEAST, _MOST = 2.0**-60, 2.0**60
"""Divisors with which neither remainders nor quotients of a quarter to `MOST_QUOTIENT` leave the normal numbers."""
MOST_QUOTIENT = 1 << 22


def divides_fast(f: Writer, divisor: float) -> bool:
    """Return whether `quotient` takes a divisor: where products are added without rounding in between, and it is of an ordinary size."""
    return _fuses(f.cpu) and _LEAST <= divisor <= _MOST


def quotient(f: Writer, x: Value, divisor: float) -> Value:
    """Return x / divisor in float32, as a division rounds it where it is at least a quarter in magnitude; smaller ones stay below a half.

    x: at most MOST_QUOTIENT times the divisor in magnitude, or NaN.
    """
    high, _ = _reciprocal(divisor)
    first = near_quotient(f, x, divisor)
    return f.fma(f.fma(-first, f.constant(divisor, "f32"), x), f.constant(high, "f32"), first)


def near_quotient(f: Writer, x: Value, divisor: float) -> Value:
    """Return x / divisor in float32: the exact quotient, changed by at most 2^-46 of itself, and then rounded.  x: as in `quotient`."""
    high, low = _reciprocal(divisor)
    return f.fma(x, f.constant(high, "f32"), x * low)


def _reciprocal(divisor: float) -> tuple[float, float]:
    """Return two float32 whose sum is 1 / divisor to about 2^-48 of it."""
    exact = 1.0 / float(np.float32(divisor))
    high = float(np.float32(exact))
    return high, float(np.float32(exact - high))


@cache
def rounds_right(divisor: float, most: int) -> bool:
    """Return whether every float32 over a divisor, rounded to float32 and then to an integer of at most `most`, is what becomes of
    `near_quotient`.

    An integer is another one only where a quotient crosses the middle between a half and the float32 beside it: no float32 may lie so near
    to such a middle times the divisor that 2^-46 of it make a difference.
    """
    halves = np.arange(0.5, most + 1, dtype=np.float32)
    for end in (0, np.inf):
        middles = (halves.astype(np.float64) + np.nextafter(halves, np.float32(end))) / 2
        products = middles * float(np.float32(divisor))  # exact: of 25 and 24 bits
        if not np.all(np.abs(products.astype(np.float32) - products) > products * 2.0**-46):
            return False
    return True


def _fuses(cpu: Cpu) -> bool:
    return cpu.arch == "x86-64" and cpu.has("fma")
