"""Diagonals of matrices as TensorFlow stores them: a row each, from the highest to the lowest, shorter ones with padding."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.values import SSAValue
from ttc.importers.common.builder import Builder
from ttc.importers.common.tracking import MAX_ELEMENTS
from ttc.importers.common.unsupported import Unsupported

ALIGNMENTS = ("LEFT_LEFT", "LEFT_RIGHT", "RIGHT_LEFT", "RIGHT_RIGHT")
"""Where rows of diagonals above, then of those below the main one begin or end; the main one does what either side does to the left."""


def places(shape: tuple[int, ...], lowest: int, highest: int, align: str) -> NDArray:
    """Return [diagonals, longest]: where in the flattened matrix each stored element lies, -1 in the padding. Raises E0402, Unsupported."""
    rows, columns = shape
    if align not in ALIGNMENTS or not -rows < lowest <= highest < max(columns, 1):
        raise Error("E0402", f"{rows} x {columns} matrices have no diagonals {lowest} to {highest}, aligned '{align[:20]}'")
    above, below = (side == "LEFT" for side in align.split("_"))
    longest = min(rows + min(highest, 0), columns - max(lowest, 0))
    if max((highest - lowest + 1) * longest, rows * columns) > MAX_ELEMENTS:
        raise Unsupported(f"diagonals of {rows} x {columns}")
    found = np.full((highest - lowest + 1, longest), -1, np.int64)
    for row, offset in enumerate(range(highest, lowest - 1, -1)):
        length = min(rows + min(offset, 0), columns - max(offset, 0))
        to_the_left = (offset >= 0 and above) or (offset <= 0 and below)
        start = 0 if to_the_left else longest - length
        found[row, start : start + length] = np.arange(length) * (columns + 1) + (offset if offset > 0 else -offset * columns)
    return found


def taken(b: Builder, x: SSAValue, table: NDArray, padding: SSAValue) -> SSAValue:
    """Return each matrix's elements at these places, in the table's shape; the padding where they are -1."""
    shape = b.shape(x)
    flat = b.reshape(x, *shape[:-2], shape[-2] * shape[-1])
    found = b.nn("gather", flat, b.constant(np.maximum(table, 0)), axis=len(shape) - 2)
    return b.nn("where", b.constant(table >= 0), found, b.reshape(padding)) if (table < 0).any() else found


def spread(b: Builder, diagonals: SSAValue, table: NDArray, shape: tuple[int, ...], background: SSAValue) -> SSAValue:
    """Return matrices with the diagonals, [..., diagonals, longest], at these places, and the background, which broadcasts, elsewhere."""
    (rows, columns), inside = shape, table >= 0
    reverse = np.full(rows * columns, -1, np.int64)
    reverse[table[inside]] = np.arange(table.size).reshape(table.shape)[inside]
    found = taken(b, diagonals, reverse.reshape(rows, columns), b.scalar(0, diagonals))
    return b.nn("where", b.constant(reverse.reshape(rows, columns) >= 0), found, background)


def diagonal(b: Builder, x: SSAValue, offset: int) -> SSAValue:
    """Return one diagonal of each matrix, as a last dimension.  Raises E0401, E0402, Unsupported."""
    shape = b.shape(x)
    if len(shape) < 2:
        raise Error("E0401", f"takes matrices, not {b.spec(x)}")
    return taken(b, x, places(shape[-2:], offset, offset, "LEFT_LEFT")[0], b.scalar(0, x))
