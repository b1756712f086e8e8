"""Products of operands of any rank."""

from __future__ import annotations

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.values import SSAValue
from ttc.importers.common.builder import Builder


def matmul(b: Builder, a: SSAValue, c: SSAValue) -> SSAValue:
    """Return a product as numpy.matmul does: operands of rank 1 are a row and a column whose dimension the result lacks. Raises E0401."""
    if min(b.rank(a), b.rank(c)) > 1:
        return b.nn("matmul", a, c, None, transpose_a=False, transpose_b=False)
    left, right = b.shape(a), b.shape(c)
    if not left or not right:
        raise Error("E0401", "a product of matrices takes no scalars")
    row = b.reshape(a, 1, *left) if len(left) == 1 else a
    column = b.reshape(c, *right, 1) if len(right) == 1 else c
    product = b.nn("matmul", row, column, None, transpose_a=False, transpose_b=False)
    shape = b.shape(product)
    kept = shape[: -1 if len(right) == 1 else None]
    if len(left) == 1:
        kept = (*shape[:-2], *kept[len(shape) - 1 :])
    return b.reshape(product, *kept)
