"""Kernels that round float32 to the formats of devices, bit by bit as `dialects.core.formats` has them.

All is done on patterns: magnitudes without their sign compare like numbers, and a carry out of the mantissa goes into the exponent.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ttc.dialects.core.formats import format_named
from ttc.dialects.core.formats.base import FACE
from ttc.dialects.core.formats.block import BlockFormat
from ttc.dialects.core.formats.words import NarrowFloatFormat, Tf32Format
from ttc.runtime.engines.native.kernels.kernel import JobKernel
from ttc.runtime.engines.native.kernels.words import Words

if TYPE_CHECKING:
    from ttc.runtime.engines.native.ir.values import Value
    from ttc.runtime.engines.native.ir.writer import Writer

_SIGN, _MAGNITUDE, _MANTISSA, _HIDDEN, _INFINITY, _NAN = 0x80000000, 0x7FFFFFFF, 0x007FFFFF, 0x00800000, 0x7F800000, 0x7FC00000
_FIVE_BITS = (112 << 23, (144 << 23) - 1)
"""Patterns of the smallest and the largest number behind an exponent of 5 bits."""


@dataclass(frozen=True)
class Rounding(JobKernel):
    """Rounds rows in place, in vectors of 16: a block, where elements share exponents.

    Args:
        truncate: toward zero; else to the nearest.

    Tasks: (row, part of it).  Words: `names`; the elements of a row lie one after the other, and so do rows, `line` elements apart.
    """

    truncate: bool

    @property
    def names(self) -> tuple[str, ...]:
        return ("data", "columns", "line", "parts")

    def emit_job(self, f: Writer, words: Words) -> None:
        """Emit the rounding of blocks, row by row; see `JobKernel.emit_job`."""
        columns, parts = words["columns"], words["parts"]
        blocks = (columns + (FACE - 1)) // FACE
        with f.loop(f.begin, f.end) as task:
            row, part = f.at(words.pointer("data"), task // parts * words["line"], "f32"), task % parts
            with f.loop(part * blocks // parts, (part + 1) * blocks // parts) as block:
                place, left = f.at(row, block * FACE, "u32"), columns - block * FACE
                with f.choice(left >= FACE) as (whole, rest):
                    with whole:
                        f.store(self.rounded(f, f.load(place, "u32", FACE)), place)
                    with rest:
                        mask = f.mask(left, FACE)
                        f.store(self.rounded(f, f.load(place, "u32", FACE, mask)), place, mask)

    @abstractmethod
    def rounded(self, f: Writer, bits: Value) -> Value:
        """Return the patterns of a vector, rounded; lanes without an element are zero."""

    def cut(self, bits: Value, dropped: int) -> Value:
        """Return patterns without their last bits; ties to even."""
        if not self.truncate:
            bits = bits + (((bits >> dropped) & 1) + ((1 << (dropped - 1)) - 1))
        return bits & (0xFFFFFFFF << dropped & 0xFFFFFFFF)


@dataclass(frozen=True)
class RoundNarrow(Rounding):
    """Rounds to floats with a narrow exponent, without infinities, NaN and denormals: see `NarrowFloatFormat`."""

    exponent_bits: int
    mantissa_bits: int

    def rounded(self, f: Writer, bits: Value) -> Value:
        bias = (1 << (self.exponent_bits - 1)) - 1
        mantissa = ((1 << self.mantissa_bits) - 1) << (23 - self.mantissa_bits)
        largest = ((1 << self.exponent_bits) - 1 - bias + 127) << 23 | mantissa
        magnitude = f.smaller(self.cut(bits & _MAGNITUDE, 23 - self.mantissa_bits), largest)
        kept = f.select(magnitude >= (128 - bias) << 23, magnitude, f.constant(0, "u32", FACE))
        return kept | (bits & _SIGN)


@dataclass(frozen=True)
class RoundTf32(Rounding):
    """Rounds to float32 with 10 bits of mantissa."""

    def rounded(self, f: Writer, bits: Value) -> Value:
        cut = self.cut(bits, 13)
        return cut if self.truncate else f.select((bits & _MAGNITUDE) > _INFINITY, (bits & _SIGN) | _NAN, cut)


@dataclass(frozen=True)
class RoundBlocks(Rounding):
    """Rounds to magnitudes of few bits behind the exponent that 16 elements share: see `BlockFormat`."""

    magnitude_bits: int
    wide: bool

    def rounded(self, f: Writer, bits: Value) -> Value:
        none = f.constant(0, "u32", FACE)
        magnitude = bits & _MAGNITUDE
        if not self.wide:
            least, most = _FIVE_BITS
            magnitude = f.select(magnitude.equals(0), none, f.smaller(f.larger(magnitude, least), most))
        exponent = f.spread(f.folded("larger", magnitude) >> 23, FACE)
        shift = exponent - (magnitude >> 23) + (23 - self.magnitude_bits)
        doubled = ((magnitude & _MANTISSA) | _HIDDEN) >> f.smaller(shift, 31)
        doubled = f.smaller(doubled, 2 * ((1 << self.magnitude_bits) - 1))
        units = (doubled if self.truncate else doubled + 1) >> 1
        units = f.select(magnitude.equals(0), none, units)
        number = f.bits(f.converted(f.bits(units, "i32"), "f32"), "u32")
        field = f.bits((number >> 23) + exponent, "i32") - (127 + self.magnitude_bits - 1)
        found = (number & _MANTISSA) | (f.bits(field, "u32") << 23) | (bits & _SIGN)
        return f.select((field < 0) | units.equals(0), none, found)


def rounding_to(format: str, truncate: bool = False) -> Rounding | None:
    """Return the kernel for a format; None if there is none."""
    match format_named(format):
        case NarrowFloatFormat(exponent_bits=exponent_bits, mantissa_bits=mantissa_bits):
            return RoundNarrow(truncate, exponent_bits, mantissa_bits)
        case Tf32Format():
            return RoundTf32(truncate)
        case BlockFormat(magnitude_bits=magnitude_bits, wide=wide):
            return RoundBlocks(truncate, magnitude_bits, wide)
        case _:
            return None
