"""The row for ONNX Einsum, an expression of sums of products."""

from __future__ import annotations

from ttc.dialects.core.ir.values import SSAValue
from ttc.importers.common.builder import Builder
from ttc.importers.common.einsum import einsum
from ttc.importers.onnx.tables import MAPPINGS


@MAPPINGS.rule("Einsum-12")
def einsum_12(b: Builder, *operands: SSAValue, equation: str) -> SSAValue:
    return einsum(b, operands, equation)
