"""Rows for TensorFlow's products of matrices."""

from __future__ import annotations

import numpy as np

from ttc.dialects.core.ir.values import SSAValue
from ttc.importers.common.builder import Builder
from ttc.importers.common.einsum import einsum
from ttc.importers.tf.tables import Rows

FLOAT32 = np.dtype(np.float32)


def matmul(
    b: Builder,
    a: SSAValue,
    b_: SSAValue,
    *,
    transpose_a: bool = False,
    transpose_b: bool = False,
    grad_a: bool = False,
    grad_b: bool = False,
) -> SSAValue:
    return b.nn("matmul", a, b_, None, transpose_a=transpose_a, transpose_b=transpose_b)


def batch_matmul(
    b: Builder,
    x: SSAValue,
    y: SSAValue,
    *,
    adj_x: bool = False,
    adj_y: bool = False,
    grad_x: bool = False,
    grad_y: bool = False,
    Tout: np.dtype | None = None,  # noqa: N803 - the attribute's name
) -> SSAValue:
    """Multiply matrices of any rank from 2 on; leading dimensions broadcast.  Tout: what is multiplied and added in, as integers of 8 bits
    are in 32.
    """
    if Tout is not None:
        x, y = b.cast(x, Tout), b.cast(y, Tout)
    return b.nn("matmul", x, y, None, transpose_a=adj_x, transpose_b=adj_y)


def sparse_matmul(
    b: Builder,
    a: SSAValue,
    b_: SSAValue,
    *,
    transpose_a: bool = False,
    transpose_b: bool = False,
    a_is_sparse: bool = False,
    b_is_sparse: bool = False,
) -> SSAValue:
    """Multiply matrices that may have many zeros, in float32."""
    return matmul(b, b.cast(a, FLOAT32), b.cast(b_, FLOAT32), transpose_a=transpose_a, transpose_b=transpose_b)


def einsum_(b: Builder, *inputs: SSAValue, equation: str) -> SSAValue:
    return einsum(b, inputs, equation)


ROWS: Rows = {
    "MatMul": matmul,
    "SparseMatMul": sparse_matmul,
    **dict.fromkeys(["BatchMatMul", "BatchMatMulV2", "BatchMatMulV3"], batch_matmul),
    "Einsum": einsum_,
}
