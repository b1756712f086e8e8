"""Rows for ONNX ops on matrices: products and determinants."""

from __future__ import annotations

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.values import SSAValue
from ttc.importers.common.builder import Builder
from ttc.importers.common.products import matmul
from ttc.importers.onnx.tables import MAPPINGS


@MAPPINGS.rule("MatMul-1")
def mat_mul_1(b: Builder, a: SSAValue, c: SSAValue) -> SSAValue:
    """Multiply as numpy.matmul does: operands of rank 1 are a row and a column whose dimension the result lacks."""
    return matmul(b, a, c)


@MAPPINGS.rule("Gemm-7")
def gemm_7(
    b: Builder,
    a: SSAValue,
    c: SSAValue,
    bias: SSAValue | None = None,
    *,
    alpha: float = 1.0,
    beta: float = 1.0,
    transA: int = 0,
    transB: int = 0,
) -> SSAValue:
    """Return alpha a' b' + beta bias, where a' and b' are a and b, or their transposes."""
    if b.rank(a) != 2 or b.rank(c) != 2:
        raise Error("E0401", f"Gemm takes matrices, not {b.spec(a)} and {b.spec(c)}")
    transposes = {"transpose_a": bool(transA), "transpose_b": bool(transB)}
    if bias is not None and beta != 1.0:
        bias = b.nn("mul", bias, b.scalar(beta, bias)) if beta else None
    if alpha == 1.0:
        return b.nn("matmul", a, c, bias, **transposes)
    product = b.nn("matmul", a, c, None, **transposes)
    scaled = b.nn("mul", product, b.scalar(alpha, product))
    return scaled if bias is None else b.nn("add", scaled, bias)


@MAPPINGS.rule("Det-11")
def det_11(b: Builder, x: SSAValue) -> SSAValue:
    return b.nn("det", x)
