"""Products of matrices."""

from __future__ import annotations

from xdsl.ir import SSAValue

from ttc.importers.common.builder import Builder
from ttc.importers.common.einsum import einsum
from ttc.importers.tf.tables import Rows


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
    b: Builder, x: SSAValue, y: SSAValue, *, adj_x: bool = False, adj_y: bool = False, grad_x: bool = False, grad_y: bool = False
) -> SSAValue:
    """Of any rank from 2 on; leading dimensions broadcast."""
    return b.nn("matmul", x, y, None, transpose_a=adj_x, transpose_b=adj_y)


def einsum_(b: Builder, *inputs: SSAValue, equation: str) -> SSAValue:
    return einsum(b, inputs, equation)


ROWS: Rows = {
    "MatMul": matmul,
    **dict.fromkeys(["BatchMatMul", "BatchMatMulV2", "BatchMatMulV3"], batch_matmul),
    "Einsum": einsum_,
}
