"""Rows for ONNX ops that write elements at computed places."""

from __future__ import annotations

from ttc.dialects.core.ir.values import SSAValue
from ttc.dialects.core.shapes import axis_in
from ttc.importers.common.builder import Builder
from ttc.importers.onnx.tables import MAPPINGS


@MAPPINGS.rule("Scatter-9")
def scatter_9(b: Builder, x: SSAValue, indices: SSAValue, updates: SSAValue, *, axis: int = 0) -> SSAValue:
    """Map Scatter, which is an earlier name of ScatterElements."""
    return scatter_elements_11(b, x, indices, updates, axis=axis)


@MAPPINGS.rule("ScatterElements-11")
def scatter_elements_11(
    b: Builder, x: SSAValue, indices: SSAValue, updates: SSAValue, *, axis: int = 0, reduction: str = "none"
) -> SSAValue:
    return b.nn("scatter_elements", x, indices, updates, axis=axis_in(axis, b.rank(x)), reduction=reduction)


@MAPPINGS.rule("ScatterND-11")
def scatter_nd_11(b: Builder, x: SSAValue, indices: SSAValue, updates: SSAValue, *, reduction: str = "none") -> SSAValue:
    return b.nn("scatter_nd", x, indices, updates, reduction=reduction)
