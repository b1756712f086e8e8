"""Numbers as integers of 16 bits with a scale for every run of channels: what products of scaled integers are made of.

    x = q s        q: integers of at most 32767;  s: float32, one for each run of `RUN` channels of a row or of a column

A product of two runs is an exact sum of integers in 32 bits, then multiplied by both scales and added in float32.  So that no such sum
leaves 32 bits, the norm of the integers of a run is at most `NORM`: by Cauchy and Schwarz, a product is at most the product of the norms.
A number is off by at most half a step, and a step is 2^-15.5 of the norm of its run, or 2^-15 of its largest number if that is more.

Where the largest number of a run is too large (infinities and NaN among them) or too small for this, its scale is NaN, and so are all
products with it: these are then computed anew in float32 (`scaled_gemm`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from math import isqrt
from typing import TYPE_CHECKING

from ttc.runtime.engines.native.kernels.shares import Count

if TYPE_CHECKING:
    from ttc.runtime.engines.native.ir.values import Value
    from ttc.runtime.engines.native.ir.writer import Writer

RUN = 32
"""Channels that share a scale.  With 16, 32 and 64 of them, BERT is off by 2.9e-4, 4.3e-4 and 5.9e-4 at most (TensorFloat32: 2.4e-3), and a
core of AMD Zen 3 computes 116, 125 and 131 GFLOP/s (float32: 89)."""
WORDS = RUN // 2
"""The words of a run: pairs of channels."""
LARGEST = 32767
NORM = isqrt(2**31) - isqrt(RUN) - 32
"""The bound of a run's norm before its integers are rounded, which adds half the root of `RUN` at most; the rest is for rounding errors."""
_MOST, _LEAST = (127 + 100) << 23, (127 - 100) << 23
"""Magnitudes: patterns of 2^100 and 2^-100 as float32."""


def runs_of(depth: Count) -> Count:
    """Return how many runs hold so many channels."""
    return (depth + (RUN - 1)) // RUN


@dataclass(frozen=True)
class Scale:
    """The scale of a run, or of one run in each lane.

    Args:
        step: what 1 stands for, or NaN.
        factor: what numbers are multiplied by to become integers.
        wild: whether the run cannot be scaled.
    """

    step: Value
    factor: Value
    wild: Value


def top_of(f: Writer, numbers: Sequence[Value]) -> Value:
    """Return the largest magnitudes, lane by lane, as patterns (u32)."""
    return reduce(f.larger, map(f.magnitude, numbers))


def scale_of(f: Writer, top: Value, norm_squared: Value, inverse: Value) -> Scale:
    """Return the scale of a run from its largest magnitude.

    Args:
        top: the largest magnitude, as a pattern (u32).
        norm_squared: of the run's numbers times `inverse`.
        inverse: as `inverse_of` gives it.
    """
    lanes = top.type.lanes
    wild = f.inverted(_is_usable(top)) & top.differs(0)
    grain = f.larger(f.unary("sqrt", norm_squared) * (1.0 / NORM), f.constant(1.0 / LARGEST, "f32", lanes))
    step = f.select(wild, f.constant(float("nan"), "f32", lanes), f.bits(top, "f32") * grain)
    return Scale(step, inverse / grain, wild)


def inverse_of(f: Writer, top: Value) -> Value:
    """Return what makes the largest magnitude 1; 0 where all is zero, or where the run cannot be scaled."""
    usable = _is_usable(top)
    one = f.constant(1.0, "f32", top.type.lanes)
    return f.select(usable, one / f.select(usable, f.bits(top, "f32"), one), 0.0)


def as_integers(f: Writer, x: Value, factor: Value) -> Value:
    """Return the numbers of a run as integers (i32)."""
    return f.truncated(f.unary("rint", x * factor))


def _is_usable(top: Value) -> Value:
    return (top >= _LEAST) & (top <= _MOST)
