"""Data formats: how numbers are stored at op borders, and what that does to values.

Engines hold a tensor of a format in its `compute` dtype (numpy); `round` snaps values to what the format can hold, `pack` and `unpack`
convert to and from the stored little-endian bytes.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.errors import Error, nearest


@dataclass(frozen=True)
class Format:
    """One data format.

    Args:
        name: the netlist's name for it.
        storage: numpy (or ml_dtypes) dtype of one stored element.
        compute: numpy dtype in which engines hold it.
        device: whether accelerators have it (the others are legal on `host` alone).
    """

    name: str
    storage: np.dtype
    compute: np.dtype
    device: bool

    @property
    def is_float(self) -> bool:
        return self.compute.kind == "f"

    @cached_property
    def bits(self) -> int:
        """Bits an element occupies in storage."""
        return 8 * self.storage.itemsize

    def size_bytes(self, elements: int) -> int:
        """Bytes that `elements` stored elements take, unpadded."""
        return elements * self.storage.itemsize

    def tile_bytes(self, height: int, width: int, alignment: int) -> int:
        """Bytes of one tile in L1 or DRAM: 16-byte header and data, rounded up to the NoC alignment."""
        raw = height * width * self.storage.itemsize + 16
        return -(-raw // alignment) * alignment

    def round(self, values: NDArray) -> NDArray:
        """Values as the format holds them, in the compute dtype; no copy when nothing changes."""
        if self.storage == self.compute:
            return values if values.dtype == self.compute else values.astype(self.compute)
        if self.name == "Float16_b" and values.dtype == np.float32:
            return round_to_bfloat16(values)
        with np.errstate(over="ignore"):
            return values.astype(self.storage).astype(self.compute)

    def pack(self, values: NDArray) -> NDArray:
        """A contiguous array of the storage dtype; rounding to nearest even."""
        with np.errstate(over="ignore"):
            return np.asarray(values.astype(self.storage, copy=False), order="C")

    def unpack(self, stored: NDArray) -> NDArray:
        """Stored elements in the compute dtype."""
        return stored if self.storage == self.compute else stored.astype(self.compute)


def round_to_bfloat16(values: NDArray) -> NDArray:
    """float32 values rounded to bfloat16, nearest even, as float32; NaN stays NaN."""
    bits = np.ascontiguousarray(values).view(np.uint32)
    rounded = bits + (((bits >> np.uint32(16)) & np.uint32(1)) + np.uint32(0x7FFF))
    rounded &= np.uint32(0xFFFF0000)
    result = rounded.view(np.float32)
    nan = np.isnan(values)
    if nan.any():
        result[nan] = values[nan]
    return result.reshape(values.shape)


def _format(name: str, storage: object, compute: object | None = None, *, device: bool = True) -> Format:
    stored = np.dtype(storage)  # pyright: ignore[reportArgumentType, reportCallIssue]
    return Format(name, stored, stored if compute is None else np.dtype(compute), device)  # pyright: ignore[reportArgumentType, reportCallIssue]


FORMATS: dict[str, Format] = {
    f.name: f
    for f in (
        _format("Float32", np.float32),
        _format("Float16", np.float16, np.float32),
        _format("Float16_b", ml_dtypes.bfloat16, np.float32),
        _format("Int32", np.int32),
        _format("Int8", np.int8),
        _format("UInt8", np.uint8),
        _format("UInt16", np.uint16),
        _format("RawUInt32", np.uint32),
        _format("Float64", np.float64, device=False),
        _format("Int64", np.int64, device=False),
        _format("Int16", np.int16, device=False),
        _format("UInt64", np.uint64, device=False),
        _format("Bool", np.bool_, device=False),
    )
}

_BY_DTYPE: dict[np.dtype, Format] = {f.storage: f for f in reversed(FORMATS.values())}


def format_named(name: str) -> Format:
    """The format of that name.  Raises E0607."""
    found = FORMATS.get(name)
    if found is None:
        raise Error("E0607", f"there is no data format '{name}'", hint=nearest(name, FORMATS))
    return found


def format_of(dtype: np.dtype) -> Format:
    """The format that stores a source dtype unchanged.  Raises E0403."""
    found = _BY_DTYPE.get(np.dtype(dtype))
    if found is None:
        raise Error("E0403", f"no data format holds elements of type {dtype}")
    return found
