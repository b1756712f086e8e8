"""The format of tensors of text, which only ops of the host see."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.errors import Error
from ttc.dialects.core.formats.base import Format, Rounding
from ttc.dialects.core.records import record

STRING = np.dtype(object)
"""numpy dtype of tensors of text: every element is a `str`.  They live on the host alone."""
HANDLE_BYTES = 8
"""What an element counts in memory, wherever its text lies."""


@record
class StringFormat(Format):
    """Elements of type `str`.  There are no stored bytes of it: what archives hold of text stands in literals."""

    @property
    def element_bits(self) -> int:
        return 8 * HANDLE_BYTES

    def round(self, values: NDArray, rounding: Rounding = "rne") -> NDArray:
        if values.dtype.kind == "U":  # numpy gives an element alone as a `str`
            return values.astype(STRING)
        if values.dtype != STRING:
            raise Error("E0403", f"text is wanted, not {values.dtype}")
        return values

    def pack(self, values: NDArray, rounding: Rounding = "rne") -> NDArray:
        raise Error("E0403", "text is not stored as a tensor")

    def unpack(self, stored: NDArray, shape: tuple[int, ...] | None = None) -> NDArray:
        return self.round(stored)

    def to_sections(self, rows: NDArray, rounding: Rounding = "rne") -> tuple[NDArray, NDArray]:
        raise Error("E0403", "there are no tiles of text")

    def from_sections(self, exponents: NDArray, data: NDArray, columns: int) -> NDArray:
        raise Error("E0403", "there are no tiles of text")
