"""Diagonals taken out of matrices, and matrices made of them."""

from __future__ import annotations

from math import prod

import numpy as np

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.values import SSAValue
from ttc.importers.common.builder import Builder
from ttc.importers.tf.diagonals import places, spread, taken
from ttc.importers.tf.tables import Rows

MIXED = "RIGHT_LEFT"
"""The alignment of rows of several diagonals unless something else is asked for."""


def _offsets(b: Builder, k: SSAValue | None) -> tuple[int, int]:
    """Return the lowest and the highest diagonal.  Raises E0402."""
    found = (0,) if k is None else b.ints(k, "k")
    if len(found) not in (1, 2):
        raise Error("E0402", f"k {list(found)[:8]} is no diagonal, nor a lowest and a highest one")
    return found[0], found[-1]


def matrix_diag(
    b: Builder,
    diagonal: SSAValue,
    k: SSAValue | None = None,
    num_rows: SSAValue | None = None,
    num_cols: SSAValue | None = None,
    padding_value: SSAValue | None = None,
    *,
    align: str = MIXED,
) -> SSAValue:
    """Make matrices with these diagonals; sizes of -1 are as small as the diagonals allow."""
    lowest, highest = _offsets(b, k)
    shape, count = b.shape(diagonal), highest - lowest + 1
    if not shape or (count > 1 and (len(shape) < 2 or shape[-2] != count)):
        raise Error("E0401", f"{b.spec(diagonal)} are not diagonals {lowest} to {highest}")
    rows, columns = (-1 if v is None else int(b.number(v, "size")) for v in (num_rows, num_cols))
    least = shape[-1] - min(highest, 0), shape[-1] + max(lowest, 0)
    if rows < 0 and columns < 0:
        rows = columns = max(least)
    rows, columns = (size if given < 0 else given for given, size in zip((rows, columns), least, strict=True))
    table = places((rows, columns), lowest, highest, align)
    if table.shape != (count, shape[-1]):
        raise Error("E0401", f"{b.spec(diagonal)} are not diagonals {lowest} to {highest} of {rows} x {columns}")
    background = b.scalar(0, diagonal) if padding_value is None else b.reshape(padding_value)
    lead = shape[: -1 if count == 1 else -2]
    return spread(b, b.reshape(diagonal, *lead, count, shape[-1]), table, (rows, columns), background)


def matrix_diag_part(
    b: Builder, input: SSAValue, k: SSAValue | None = None, padding_value: SSAValue | None = None, *, align: str = MIXED
) -> SSAValue:
    shape = b.shape(input)
    if len(shape) < 2:
        raise Error("E0401", f"takes matrices, not {b.spec(input)}")
    lowest, highest = _offsets(b, k)
    table = places(shape[-2:], lowest, highest, align)
    return taken(b, input, table[0] if lowest == highest else table, b.scalar(0, input) if padding_value is None else padding_value)


def matrix_set_diag(b: Builder, input: SSAValue, diagonal: SSAValue, k: SSAValue | None = None, *, align: str = MIXED) -> SSAValue:
    """Return matrices with their diagonals replaced."""
    shape = b.shape(input)
    if len(shape) < 2:
        raise Error("E0401", f"takes matrices, not {b.spec(input)}")
    lowest, highest = _offsets(b, k)
    table = places(shape[-2:], lowest, highest, align)
    stored = table.shape[1:] if lowest == highest else table.shape
    if b.shape(diagonal) != (*shape[:-2], *stored):
        raise Error("E0401", f"{b.spec(diagonal)} are not diagonals {lowest} to {highest} of {b.spec(input)}")
    return spread(b, b.reshape(diagonal, *shape[:-2], *table.shape), table, shape[-2:], input)


def tensor_diag(b: Builder, diagonal: SSAValue) -> SSAValue:
    """Return [d.., d..]: the elements where both halves of the indices are equal, 0 elsewhere."""
    shape, count = b.shape(diagonal), b.spec(diagonal).elements
    table = places((count, count), 0, 0, MIXED)
    matrix = spread(b, b.reshape(diagonal, 1, count), table, (count, count), b.scalar(0, diagonal))
    return b.reshape(matrix, *shape, *shape)


def tensor_diag_part(b: Builder, input: SSAValue) -> SSAValue:
    """Return the diagonal of a tensor that has each dimension twice, as `tensor_diag` makes them."""
    shape = b.shape(input)
    half = shape[: len(shape) // 2]
    if not half or shape != half + half:
        raise Error("E0401", f"{b.spec(input)} does not have each dimension twice")
    count = prod(half)
    found = b.nn("gather", b.reshape(input, count * count), b.constant(np.arange(count) * (count + 1)), axis=0)
    return b.reshape(found, *half)


ROWS: Rows = {
    **dict.fromkeys(["MatrixDiag", "MatrixDiagV2", "MatrixDiagV3"], matrix_diag),
    **dict.fromkeys(["MatrixDiagPart", "MatrixDiagPartV2", "MatrixDiagPartV3"], matrix_diag_part),
    **dict.fromkeys(["MatrixSetDiag", "MatrixSetDiagV2", "MatrixSetDiagV3"], matrix_set_diag),
    "Diag": tensor_diag,
    "DiagPart": tensor_diag_part,
}
