"""Values of a program while its text is written: where each lies, and by which names."""

from __future__ import annotations

from dataclasses import field
from math import prod
from typing import cast

import numpy as np

from ttc.dialects.core.plain.functions import Work
from ttc.dialects.core.records import record

HOST, FULL, FLAT, ROWS, TURNED = "host", "full", "flat", "rows", "turned"
"""Forms of a value: a tensor of torch; on the device in its own shape; images as one row of pixels, [1, 1, n * h * w, c]; without tiles;
with dimensions 1 and 2 of four exchanged."""
TILE = 32
COMPUTED = ("float32", "float64", "float16", "bfloat16")
"""Dtypes of dialect nn that the device computes with, in a format of its own; narrower ones are stored and cast alone."""


@record(frozen=False, eq=False)
class PlacedValue:
    """A value of the program.

    Args:
        shape, dtype: of it in dialect nn.
        leaf: the work of a constant, which is placed when it is read.
        forms: names in the text, by form.
        counts: whether it was computed from whole numbers, such as positions, which 16 bits do not tell apart from 256 on.
        is_state: whether it is a variable, as it was before the run.
        whole: the value of all chips, as the host holds it, with the same forms; None where each chip has all of it.
    """

    shape: tuple[int, ...]
    dtype: np.dtype
    leaf: Work | None = None
    forms: dict[str, str] = field(default_factory=dict)
    counts: bool = False
    is_state: bool = False
    whole: PlacedValue | None = None

    @property
    def on_host(self) -> PlacedValue:
        """The value as the host holds it."""
        return self.whole or self

    @property
    def parts(self) -> int | None:
        """The dimension of a constant along which it is stored in parts for chips; None where it is stored as it is."""
        return None if self.leaf is None else cast("int | None", self.leaf.attrs.get("parts"))

    @property
    def is_float(self) -> bool:
        """Whether the device computes with the value in its own format."""
        return str(self.dtype) in COMPUTED

    @property
    def on_device(self) -> bool:
        """Whether the device holds the value already."""
        return any(form in self.forms for form in (FULL, FLAT, ROWS, TURNED))

    @property
    def is_flat(self) -> bool:
        """Whether the device holds the value as one row of pixels alone."""
        return FLAT in self.forms and FULL not in self.forms


def rows_dimension(value: PlacedValue, form: str) -> int | None:
    """Return the dimension of a device's tensor along which chips divide a value; None where each chip has all of it."""
    if value.whole is None:
        return None
    parts, sizes = lifted(value.shape), lifted(value.whole.shape)
    found = next(dim for dim, (part, size) in enumerate(zip(parts, sizes, strict=True)) if part != size)
    return found if form != FLAT else 3 if found == len(sizes) - 1 else 2


def lifted(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape that a tensor has on the device, where it has two dimensions at least."""
    return (1,) * (2 - len(shape)) + tuple(shape)


def flattened(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape of an image as one row of pixels."""
    return (1, 1, prod(shape[:-1]), shape[-1])


def in_tiles(size: int) -> int:
    """Return a size that is filled up to whole tiles."""
    return -(-size // TILE) * TILE


def tiled_bytes(shape: tuple[int, ...], element_bytes: float = 2) -> int:
    """Return the bytes of a tensor in tiles of 32 x 32."""
    *lead, rows, columns = lifted(shape)
    return int(prod(lead) * in_tiles(rows) * in_tiles(columns) * element_bytes)
