"""Block floating point: 16 consecutive elements share an exponent."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.formats.base import FACE, Format, Rounding, bits_of
from ttc.dialects.core.records import record

_MAGNITUDE = np.uint32(0x7FFFFFFF)
_MANTISSA = np.uint32(0x007FFFFF)
_HIDDEN = np.uint32(0x00800000)
_CHUNK_BLOCKS = 1 << 12
"""Blocks that are worked on together: their temporaries stay in a core's cache."""


@record
class BlockFormat(Format):
    """Sign and magnitude of 7, 3 or 1 bits, the first of them explicit, behind the largest exponent of 16 elements.

    A block is 16 elements of the last axis, which is padded with zeros to whole blocks.  Stored: an exponent byte, then the elements
    from the lowest bits on, block after block.

    The exponent is that of float32 (suffix `_b`), or one of 5 bits: there, numbers below 2^-15 but for zeros become 2^-15, larger ones
    than it holds, infinities and NaN the largest.  Magnitudes are rounded half up, then clamped; a zero has no sign.  With an exponent of
    8 bits infinities erase what is finite in their block and stay, a NaN stays or becomes an infinity, and numbers of exponent 0 count as
    having the leading bit that they lack.

    Args:
        magnitude_bits: 7, 3 or 1.
        wide: whether exponents have 8 bits.
    """

    magnitude_bits: int = 7
    wide: bool = True

    @property
    def is_block(self) -> bool:
        return True

    @property
    def element_bits(self) -> int:
        return self.magnitude_bits + 1

    @property
    def most(self) -> int:
        """The largest magnitude that an element can have, as an integer."""
        return (1 << self.magnitude_bits) - 1

    def stored_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """Return the tensor's shape with blocks in place of elements in the last dimension; [1] for a scalar."""
        return (*shape[:-1], -(-shape[-1] // FACE)) if shape else (1,)

    def exponent_bytes(self, height: int, width: int) -> int:
        """Return bytes of a tile's exponents: one for each row of a face, and 16 for tiles of fewer than 16 rows."""
        return FACE if height < FACE else -(-height // FACE) * FACE * -(-width // FACE)

    # ---- whole tensors ---------------------------------------------------------------------------------------------------------------

    def round(self, values: NDArray, rounding: Rounding = "rne") -> NDArray:
        blocks, width = _blocks(values)
        rounded = np.empty(blocks.shape, np.float32)
        for part in _chunks(blocks):
            magnitudes, exponents = self._quantized(blocks[part], rounding)
            rounded[part] = self._values(magnitudes, exponents)
        return _joined(rounded, values.shape, width)

    def pack(self, values: NDArray, rounding: Rounding = "rne") -> NDArray:
        if values.dtype == self.storage:
            return np.asarray(values, order="C")
        blocks, _ = _blocks(values)
        stored = np.zeros(len(blocks), self.storage)
        for part in _chunks(blocks):
            magnitudes, stored["exponent"][part] = self._quantized(blocks[part], rounding)
            stored["elements"][part] = self._elements(magnitudes)
        return stored.reshape(self.stored_shape(values.shape))

    def unpack(self, stored: NDArray, shape: tuple[int, ...] | None = None) -> NDArray:
        items = stored.reshape(-1)
        whole = np.empty((items.size, FACE), np.float32)
        for part in _chunks(whole):
            whole[part] = self._values(self._magnitudes(items["elements"][part]), items["exponent"][part])
        if shape is None:
            return whole.reshape(*stored.shape[:-1], stored.shape[-1] * FACE)
        return _joined(whole, shape, FACE)

    # ---- tiles -----------------------------------------------------------------------------------------------------------------------

    def to_sections(self, rows: NDArray, rounding: Rounding = "rne") -> tuple[NDArray, NDArray]:
        tiles, count, _ = rows.shape
        stored = self.pack(rows, rounding)
        exponents = np.zeros((tiles, max(count, FACE)), np.uint8)
        exponents[:, :count] = stored["exponent"].reshape(tiles, count)
        return exponents, np.ascontiguousarray(stored["elements"]).reshape(tiles, count * 2 * self.element_bits)

    def from_sections(self, exponents: NDArray, data: NDArray, columns: int) -> NDArray:
        elements = data.reshape(len(data), data.shape[1] // (2 * self.element_bits), 2 * self.element_bits)
        stored = np.empty(elements.shape[:2], self.storage)
        stored["exponent"] = exponents[:, : elements.shape[1]]
        stored["elements"] = elements
        return self.unpack(stored[..., None], (*stored.shape, columns))

    # ---- blocks ----------------------------------------------------------------------------------------------------------------------

    def _quantized(self, blocks: NDArray, rounding: Rounding) -> tuple[NDArray, NDArray]:
        """Signed magnitudes (int16) and exponents as stored (uint8) of float32 blocks [n, elements]."""
        if not self.wide:
            blocks = _in_five_bits(blocks)
        largest = _largest(blocks)
        exponents = largest >> np.uint32(23)
        doubled = self._doubled(blocks, exponents)
        odd = np.flatnonzero((exponents < 8) & (largest != 0) | (exponents == 255))
        if odd.size:
            doubled[odd] = self._doubled_exactly(blocks[odd], exponents[odd])
        limit = 2 * self.most
        np.clip(doubled, -limit, limit, out=doubled)
        if rounding == "rne":
            doubled += doubled > 0
        else:
            doubled += doubled < 0
        doubled >>= 1
        if not self.wide:
            exponents = np.maximum(exponents, np.uint32(112)) - np.uint32(112)
        return doubled, exponents.astype(np.uint8)

    def _doubled(self, blocks: NDArray, exponents: NDArray) -> NDArray:
        """Twice the magnitudes, cut off toward zero, int16: the last bit says how to round.  Of ordinary blocks."""
        scale = (np.uint32(254 + self.magnitude_bits) - np.clip(exponents, 8, 254)) << np.uint32(23)
        with np.errstate(all="ignore"):
            return (blocks * scale.view(np.float32)[:, None]).astype(np.int16)

    def _doubled_exactly(self, blocks: NDArray, exponents: NDArray) -> NDArray:
        """Return the doubled magnitudes of any blocks, computed with integers: every number but zero has a leading 1."""
        bits = bits_of(blocks)
        magnitude = bits & _MAGNITUDE
        shift = exponents[:, None] - (magnitude >> np.uint32(23)) + np.uint32(23 - self.magnitude_bits)
        doubled = (((magnitude & _MANTISSA) | _HIDDEN) >> np.minimum(shift, np.uint32(31))) * (magnitude != 0)
        return np.where(bits > _MAGNITUDE, -doubled.astype(np.int16), doubled.astype(np.int16))

    def _values(self, magnitudes: NDArray, exponents: NDArray) -> NDArray:
        """float32 of signed magnitudes, the exponent field of each put where float32 has it."""
        values = magnitudes.astype(np.float32)
        fields = exponents.astype(np.int32) if self.wide else (exponents & np.uint8(31)).astype(np.int32) + 112
        lead = self.magnitude_bits - 1
        odd = np.flatnonzero((fields < 8) | (fields == 255))
        odd = odd[magnitudes[odd].any(axis=1)]
        scale = ((np.clip(fields, 8, 254) - lead) << 23).view(np.float32)
        exact = _scaled_exactly(values[odd], fields[odd] - 127 - lead) if odd.size else None
        values *= scale[:, None]
        if exact is not None:
            values[odd] = exact
        return values

    def _elements(self, magnitudes: NDArray) -> NDArray:
        """Return bytes [n, bytes] of signed magnitudes [n, elements]: sign above magnitude, the first element lowest."""
        codes = np.zeros((len(magnitudes), FACE), np.uint8)
        np.abs(magnitudes, out=codes[:, : magnitudes.shape[1]], casting="unsafe")
        codes[:, : magnitudes.shape[1]] |= (magnitudes < 0).view(np.uint8) << np.uint8(self.magnitude_bits)
        bits = self.element_bits
        while bits < 8:
            codes = codes[:, 0::2] | codes[:, 1::2] << np.uint8(bits)
            bits *= 2
        return codes

    def _magnitudes(self, elements: NDArray) -> NDArray:
        """Signed magnitudes (int16) of the bytes of blocks; a negative zero is a zero."""
        codes = elements
        bits = 8
        while bits > self.element_bits:
            bits //= 2
            mask = np.uint8((1 << bits) - 1)
            codes = np.stack([codes & mask, codes >> np.uint8(bits)], axis=-1).reshape(len(codes), -1)
        magnitudes = (codes & np.uint8(self.most)).astype(np.int16)
        return np.where(codes > self.most, -magnitudes, magnitudes)


def _blocks(values: NDArray) -> tuple[NDArray, int]:
    """float32 blocks [n, width] of a tensor and their width: 16, or the whole of a shorter last axis."""
    last = values.shape[-1] if values.ndim else 1
    with np.errstate(over="ignore"):
        flat = np.ascontiguousarray(values, np.float32).reshape(prod(values.shape[:-1]), last)
    if 0 < last < FACE:
        return flat, last
    if last % FACE == 0:
        return flat.reshape(-1, FACE), FACE
    padded = np.zeros((len(flat), -(-last // FACE) * FACE), np.float32)
    padded[:, :last] = flat
    return padded.reshape(-1, FACE), FACE


def _joined(blocks: NDArray, shape: tuple[int, ...], width: int) -> NDArray:
    """Return a tensor of its blocks, padding cut off."""
    last = shape[-1] if shape else 1
    if last == 0 or last % width == 0:
        return blocks.reshape(shape)
    rows = blocks.reshape(prod(shape[:-1]), -(-last // width) * width)
    return np.ascontiguousarray(rows[:, :last]).reshape(shape)


def _chunks(blocks: NDArray) -> Iterator[slice]:
    return (slice(start, start + _CHUNK_BLOCKS) for start in range(0, len(blocks), _CHUNK_BLOCKS))


def _largest(blocks: NDArray) -> NDArray:
    """Pattern of the largest magnitude of each block, uint32 [n]; infinities and NaN are larger than all numbers."""
    magnitude = blocks.view(np.uint32) & _MAGNITUDE
    largest = magnitude[:, 0].copy()
    for column in range(1, magnitude.shape[1]):
        np.maximum(largest, magnitude[:, column], out=largest)
    return largest


def _in_five_bits(blocks: NDArray) -> NDArray:
    """Magnitudes brought into the range of an exponent of 5 bits, which has no zero of its own; zeros stay."""
    bits = bits_of(blocks)
    magnitude = bits & _MAGNITUDE
    clamped = np.clip(magnitude, np.uint32(112 << 23), np.uint32((144 << 23) - 1))
    clamped[(magnitude > 0) & (magnitude < np.uint32(112 << 23))] = np.uint32(112 << 23)
    clamped *= magnitude != 0
    return (clamped | (bits & ~_MAGNITUDE)).view(np.float32)


def _scaled_exactly(magnitudes: NDArray, shifts: NDArray) -> NDArray:
    """Signed magnitudes times a power of two, by adding to the exponent field: 0 below its range."""
    bits = magnitudes.view(np.uint32)
    field = ((bits >> np.uint32(23)) & np.uint32(255)).astype(np.int32) + shifts[:, None]
    kept = (magnitudes != 0) & (field >= 0)
    pattern = (bits & ~np.uint32(0x7F800000)) | (np.clip(field, 0, 255).astype(np.uint32) << np.uint32(23))
    return np.where(kept, pattern, np.uint32(0)).view(np.float32)
