"""Quotients by a number that is known when code is generated, rounded as divisions are, in four multiplications.

Source: P. Markstein, Computation of elementary functions on the IBM RISC System/6000 processor, IBM Journal of Research and Development 34
(1990), theorem on quotients: from a reciprocal that is rounded right and a quotient less than a unit off, one correction by the exact
remainder rounds right.  Does not load llvmlite.
"""

from __future__ import annotations

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
    exact = 1.0 / float(np.float32(divisor))
    high = float(np.float32(exact))
    low = float(np.float32(exact - high))
    first = f.fma(x, f.constant(high, "f32"), x * low)
    return f.fma(f.fma(-first, f.constant(divisor, "f32"), x), f.constant(high, "f32"), first)


def _fuses(cpu: Cpu) -> bool:
    return cpu.arch == "x86-64" and cpu.has("fma")
