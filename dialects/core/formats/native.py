"""Formats whose elements numpy and ml_dtypes have: as they are, or as a device's integers of sign and magnitude."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.formats.base import Format, Rounding
from ttc.dialects.core.records import record


@record
class NativeFormat(Format):
    """Elements as numpy stores them, little-endian.

    Floats are rounded to nearest even (out of range: infinite).  Integers take numbers rounded to nearest even and clamped to their range,
    NaN as 0.
    """

    @property
    def element_bits(self) -> int:
        return 8 * self.storage.itemsize

    @property
    def own(self) -> np.dtype | None:
        return self.storage if self.storage == self.compute else None

    def round(self, values: NDArray, rounding: Rounding = "rne") -> NDArray:
        return self.unpack(self._stored(values))

    def pack(self, values: NDArray, rounding: Rounding = "rne") -> NDArray:
        return np.asarray(self._stored(values), order="C")

    def unpack(self, stored: NDArray, shape: tuple[int, ...] | None = None) -> NDArray:
        return stored.astype(self.compute, copy=False)

    def to_sections(self, rows: NDArray, rounding: Rounding = "rne") -> tuple[NDArray, NDArray]:
        words = self._encoded(self.pack(rows, rounding))
        tiles = rows.shape[0]
        return np.empty((tiles, 0), np.uint8), words.reshape(tiles, rows.shape[1] * rows.shape[2]).view(np.uint8)

    def from_sections(self, exponents: NDArray, data: NDArray, columns: int) -> NDArray:
        words = np.ascontiguousarray(data).view(self.storage)
        return self.unpack(self._decoded(words)).reshape(len(data), words.shape[1] // columns, columns)

    def _stored(self, values: NDArray) -> NDArray:
        """Return values in the storage dtype, rounded to nearest."""
        if values.dtype == self.storage:
            return values
        if self.storage.kind in "iu" and values.dtype.kind in "iuf":
            return _clamped(values, self.storage)
        with np.errstate(over="ignore", invalid="ignore"):
            return values.astype(self.storage)

    def _encoded(self, stored: NDArray) -> NDArray:
        """Stored elements as a device has them."""
        return stored

    def _decoded(self, words: NDArray) -> NDArray:
        return words


@record
class SignMagnitudeFormat(NativeFormat):
    """Signed integers: two's complement on the host, sign and magnitude on a device, where the lowest number becomes the one above it."""

    def _encoded(self, stored: NDArray) -> NDArray:
        limits = np.iinfo(self.storage)
        lowest = self.storage.type(limits.min)
        clamped = np.maximum(stored, self.storage.type(-limits.max))
        return np.where(clamped < 0, lowest | -clamped, clamped)

    def _decoded(self, words: NDArray) -> NDArray:
        magnitude = words & self.storage.type(np.iinfo(self.storage).max)
        return np.where(words < 0, -magnitude, magnitude)


@record
class BFloat16Format(NativeFormat):
    """The upper half of a float32.  Truncation may make an infinity of a NaN; rounding to nearest keeps every NaN."""

    def round(self, values: NDArray, rounding: Rounding = "rne") -> NDArray:
        if rounding == "rne":
            return super().round(values)
        bits = np.ascontiguousarray(values, np.float32).view(np.uint32)
        return (bits & np.uint32(0xFFFF0000)).view(np.float32).reshape(values.shape)

    def pack(self, values: NDArray, rounding: Rounding = "rne") -> NDArray:
        return super().pack(values if rounding == "rne" else self.round(values, rounding))


def _clamped(values: NDArray, dtype: np.dtype) -> NDArray:
    """Return numbers as integers of a dtype, the nearest that there are; NaN as 0."""
    limits = np.iinfo(dtype)
    if values.dtype.kind in "iu":
        given = np.iinfo(values.dtype)
        low, high = max(limits.min, given.min), min(limits.max, given.max)
        return np.clip(values, low, high).astype(dtype)
    wide = np.nan_to_num(np.rint(values.astype(np.float64)), posinf=np.inf, neginf=-np.inf)
    with np.errstate(invalid="ignore"):
        found = wide.astype(dtype)
    return np.where(wide >= float(limits.max), limits.max, np.where(wide <= float(limits.min), limits.min, found)).astype(dtype)
