"""What every data format can do."""

from __future__ import annotations

from abc import ABC, abstractmethod
from math import prod
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.records import record

Rounding: TypeAlias = Literal["rne", "truncate"]
"""`rne`: to nearest, ties to even (in block formats away from zero, as the packer has it); `truncate`: toward zero."""

HEADER_BYTES = 16
"""Bytes of the header that stands in front of every tile in memory."""
FACE = 16
"""Side of a tile's faces in elements, and elements of a block."""


@record
class Format(ABC):
    """One data format: how numbers are stored at op borders, and what that does to values.

    Engines hold a tensor of a format in its `compute` dtype.  Archives hold what `pack` gives: the logical, unpadded tensor.  Devices
    hold tiles, whose sections `to_sections` gives (see `ttc.dialects.core.tiling.bits`).

    Args:
        name: the netlist's name for it.
        storage: numpy dtype of one stored item, an element or a block.  It is a structured dtype where numpy has no numbers like these,
            so that no array of values is taken for a packed one.
        compute: numpy dtype in which engines hold it.
        device: whether accelerators have it (the others are legal on `host` alone).
        faces: whether a tile's faces lie one after the other; raw formats keep rows whole.
    """

    name: str
    storage: np.dtype
    compute: np.dtype
    device: bool = True
    faces: bool = True

    @property
    def is_float(self) -> bool:
        """Whether the values of the format are floating-point numbers."""
        return self.compute.kind == "f"

    @property
    def is_block(self) -> bool:
        """Whether the elements of a block share exponents."""
        return False

    @property
    def array_dtype(self) -> np.dtype:
        """The narrowest numpy dtype that holds every value of the format as a number."""
        return self.storage if self.storage.names is None else self.compute

    @property
    def own(self) -> np.dtype | None:
        """The dtype whose arrays `round` returns unchanged; None where it may change arrays of every dtype."""
        return None

    # ---- whole tensors ---------------------------------------------------------------------------------------------------------------

    @abstractmethod
    def round(self, values: NDArray, rounding: Rounding = "rne") -> NDArray:
        """Values as the format holds them, in the compute dtype and the same shape; perhaps `values` itself if nothing changes."""

    @abstractmethod
    def pack(self, values: NDArray, rounding: Rounding = "rne") -> NDArray:
        """Return a contiguous array of the storage dtype and of `stored_shape`; what has the storage dtype already is taken as it is."""

    @abstractmethod
    def unpack(self, stored: NDArray, shape: tuple[int, ...] | None = None) -> NDArray:
        """Return stored items as an array in the compute dtype.  shape: the tensor's; by default that of `stored`, blocks counted whole."""

    def stored_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """Shape of the packed array of a tensor."""
        return shape

    def size_bytes(self, shape: tuple[int, ...]) -> int:
        """Return bytes that a stored tensor of that shape takes."""
        return prod(self.stored_shape(shape)) * self.storage.itemsize

    # ---- tiles -----------------------------------------------------------------------------------------------------------------------

    @property
    @abstractmethod
    def element_bits(self) -> int:
        """Bits of an element in a tile's data section."""

    def exponent_bytes(self, height: int, width: int) -> int:
        """Return bytes of a tile's exponent section."""
        return 0

    def data_bytes(self, height: int, width: int) -> int:
        """Return bytes of a tile's exponents and data, without header and trailer: what it takes untilized."""
        return self.exponent_bytes(height, width) + height * width * self.element_bits // 8

    def tile_bytes(self, height: int, width: int, alignment: int) -> int:
        """Return bytes of one tile in L1 or DRAM: header, exponents and data, rounded up to the NoC alignment."""
        return -(-(HEADER_BYTES + self.data_bytes(height, width)) // alignment) * alignment

    @abstractmethod
    def to_sections(self, rows: NDArray, rounding: Rounding = "rne") -> tuple[NDArray, NDArray]:
        """Return the bytes of tiles with these face rows [tiles, rows, columns]: exponents and data as the device encodes them, each uint8
        [tiles, bytes].
        """

    @abstractmethod
    def from_sections(self, exponents: NDArray, data: NDArray, columns: int) -> NDArray:
        """Return the face rows [tiles, rows, columns], in the compute dtype, that exponents and data of tiles encode."""


def rounded_magnitude(bits: NDArray, dropped: int, rounding: Rounding) -> NDArray:
    """float32 patterns without their last `dropped` mantissa bits; ties to even.  A carry goes into the exponent."""
    if rounding == "rne":
        odd = (bits >> np.uint32(dropped)) & np.uint32(1)
        odd += np.uint32((1 << (dropped - 1)) - 1)
        bits = np.add(bits, odd, out=odd)
    return bits & np.uint32(0xFFFFFFFF << dropped & 0xFFFFFFFF)


def bits_of(values: NDArray) -> NDArray:
    """Return the patterns of values as float32: uint32, contiguous, of the same shape ([1] for a scalar)."""
    with np.errstate(over="ignore"):
        return np.ascontiguousarray(values, np.float32).view(np.uint32)
