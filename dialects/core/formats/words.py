"""Floating-point formats that numpy lacks: narrow exponents without infinities, NaN or denormals, and a float32 cut short."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.formats.base import Format, Rounding, bits_of, rounded_magnitude
from ttc.dialects.core.records import record

_SIGN = np.uint32(0x80000000)
_MAGNITUDE = np.uint32(0x7FFFFFFF)
_NAN = np.uint32(0x7FC00000)


@record
class NarrowFloatFormat(Format):
    """Sign, exponent, mantissa; the largest exponent is that of ordinary numbers, the smallest that of zero.

    What is too small becomes zero and keeps its sign; what is too large, infinities and NaN become the largest number.

    Args:
        exponent_bits, mantissa_bits: of a word; the bias is half of the exponents.
    """

    exponent_bits: int = 5
    mantissa_bits: int = 10

    @property
    def element_bits(self) -> int:
        return 8 * self.storage.itemsize

    @property
    def bias(self) -> int:
        """What is added to an exponent to store it."""
        return (1 << (self.exponent_bits - 1)) - 1

    def round(self, values: NDArray, rounding: Rounding = "rne") -> NDArray:
        bits = bits_of(values)
        magnitude = rounded_magnitude(bits & _MAGNITUDE, 23 - self.mantissa_bits, rounding)
        smallest = np.uint32((128 - self.bias) << 23)
        np.minimum(magnitude, self._largest, out=magnitude)
        magnitude *= magnitude >= smallest
        magnitude |= bits & _SIGN
        return magnitude.view(np.float32).reshape(values.shape)

    def pack(self, values: NDArray, rounding: Rounding = "rne") -> NDArray:
        if values.dtype == self.storage:
            return np.asarray(values, order="C")
        bits = bits_of(self.round(values, rounding))
        magnitude = bits & _MAGNITUDE
        words = (magnitude >> np.uint32(23 - self.mantissa_bits)) - (magnitude != 0) * self._rebias
        words |= (bits & _SIGN) >> np.uint32(32 - self.element_bits)
        return words.astype(self._word).view(self.storage).reshape(values.shape)

    def unpack(self, stored: NDArray, shape: tuple[int, ...] | None = None) -> NDArray:
        """Words of exponent 0 keep their mantissa, behind the exponent 0 of float32."""
        words = np.ascontiguousarray(stored).view(self._word).astype(np.uint32)
        magnitude = words & np.uint32((1 << (self.element_bits - 1)) - 1)
        sign = (words ^ magnitude) << np.uint32(32 - self.element_bits)
        magnitude += (magnitude >> np.uint32(self.mantissa_bits) != 0) * self._rebias
        return ((magnitude << np.uint32(23 - self.mantissa_bits)) | sign).view(np.float32).reshape(stored.shape)

    def to_sections(self, rows: NDArray, rounding: Rounding = "rne") -> tuple[NDArray, NDArray]:
        tiles = rows.shape[0]
        return np.empty((tiles, 0), np.uint8), self.pack(rows, rounding).reshape(tiles, rows.shape[1] * rows.shape[2]).view(np.uint8)

    def from_sections(self, exponents: NDArray, data: NDArray, columns: int) -> NDArray:
        words = np.ascontiguousarray(data).view(self._word).view(self.storage)
        return self.unpack(words).reshape(len(data), words.shape[1] // columns, columns)

    @property
    def _word(self) -> np.dtype:
        return np.dtype(f"<u{self.storage.itemsize}")

    @property
    def _largest(self) -> np.uint32:
        """The pattern in float32 of the largest number."""
        exponent = (1 << self.exponent_bits) - 1 - self.bias + 127
        mantissa = (1 << self.mantissa_bits) - 1
        return np.uint32(exponent << 23 | mantissa << (23 - self.mantissa_bits))

    @property
    def _rebias(self) -> np.uint32:
        """The difference of exponents between float32 and a word, at the place of a word's exponent."""
        return np.uint32((127 - self.bias) << self.mantissa_bits)


@record
class Tf32Format(Format):
    """float32 with 10 mantissa bits, in 32 bits: what a multiplier takes of a Float32.  Truncation may make an infinity of a NaN."""

    @property
    def element_bits(self) -> int:
        return 32

    def round(self, values: NDArray, rounding: Rounding = "rne") -> NDArray:
        bits = bits_of(values)
        rounded = rounded_magnitude(bits, 13, rounding)
        if rounding == "rne":
            nan = np.isnan(bits.view(np.float32))
            rounded[nan] = (bits[nan] & _SIGN) | _NAN
        return rounded.view(np.float32).reshape(values.shape)

    def pack(self, values: NDArray, rounding: Rounding = "rne") -> NDArray:
        if values.dtype == self.storage:
            return np.asarray(values, order="C")
        return self.round(values, rounding).view(self.storage)

    def unpack(self, stored: NDArray, shape: tuple[int, ...] | None = None) -> NDArray:
        return np.ascontiguousarray(stored).view(np.float32).reshape(stored.shape)

    def to_sections(self, rows: NDArray, rounding: Rounding = "rne") -> tuple[NDArray, NDArray]:
        tiles = rows.shape[0]
        return np.empty((tiles, 0), np.uint8), self.round(rows, rounding).reshape(tiles, rows.shape[1] * rows.shape[2]).view(np.uint8)

    def from_sections(self, exponents: NDArray, data: NDArray, columns: int) -> NDArray:
        values = np.ascontiguousarray(data).view(np.float32)
        return values.reshape(len(data), values.shape[1] // columns, columns)
