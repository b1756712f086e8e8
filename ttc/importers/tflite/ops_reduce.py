"""Reductions, places of extremes, cumulative sums, softmax and other normalizations, products of matrices."""

from __future__ import annotations

from collections.abc import Callable

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.values import SSAValue
from ttc.dialects.core.shapes import axis_in
from ttc.importers.common.builder import Builder
from ttc.importers.tflite.building import TfliteBuilder
from ttc.importers.tflite.fused import fused
from ttc.importers.tflite.tables import CODES, Rows


def reduction(op: str) -> Callable[..., SSAValue]:
    """Return the nn op of that name over axes that are an operand; one named twice counts once."""

    def apply(b: Builder, x: SSAValue, axes: SSAValue, *, keep_dims: bool) -> SSAValue:
        rank = b.rank(x)
        along = sorted({axis_in(a, rank) for a in b.ints(axes, "axes")})
        return b.nn(op, x, axes=tuple(along), keepdims=keep_dims)

    return apply


def extreme(op: str) -> Callable[..., SSAValue]:
    """Return the place of the first extreme along an axis."""

    def apply(b: TfliteBuilder, x: SSAValue, axis: SSAValue, *, output_type: str) -> SSAValue:
        return b.nn(op, x, axis=b.whole(axis, "axis"), keepdims=False, select_last=False)

    return apply


def cumsum(b: TfliteBuilder, x: SSAValue, axis: SSAValue, *, exclusive: bool, reverse: bool) -> SSAValue:
    return b.nn("cumsum", x, axis=b.whole(axis, "axis"), exclusive=exclusive, reverse=reverse)


def softmax(b: Builder, x: SSAValue, *, beta: float) -> SSAValue:
    """Return the softmax of beta * x along the last axis."""
    scaled = x if beta == 1 else b.nn("mul", x, b.scalar(beta, x))
    return b.nn("softmax", scaled, axis=b.rank(x) - 1)


def log_softmax(b: Builder, x: SSAValue) -> SSAValue:
    return b.nn("log_softmax", x, axis=b.rank(x) - 1)


def l2_normalization(b: Builder, x: SSAValue) -> SSAValue:
    """Return x over its norm along the last axis, which is at least 1e-6."""
    total = b.nn("reduce_sum", b.nn("mul", x, x), axes=(b.rank(x) - 1,), keepdims=True)
    return b.nn("div", x, b.nn("maximum", b.nn("sqrt", total), b.scalar(1e-6, x)))


def batch_matmul(b: Builder, x: SSAValue, y: SSAValue, *, adj_x: bool, adj_y: bool) -> SSAValue:
    if min(b.rank(x), b.rank(y)) < 2:
        raise Error("E0401", f"takes matrices, not {b.spec(x)} and {b.spec(y)}")
    return b.nn("matmul", x, y, None, transpose_a=adj_x, transpose_b=adj_y)


ROWS: Rows = {
    "MEAN": reduction("reduce_mean"),
    "SUM": reduction("reduce_sum"),
    "REDUCE_PROD": reduction("reduce_prod"),
    "REDUCE_MAX": reduction("reduce_max"),
    "REDUCE_MIN": reduction("reduce_min"),
    "REDUCE_ANY": reduction("reduce_max"),
    "REDUCE_ALL": reduction("reduce_min"),
    "ARG_MAX": extreme("argmax"),
    "ARG_MIN": extreme("argmin"),
    "CUMSUM": cumsum,
    "SOFTMAX": softmax,
    "LOG_SOFTMAX": log_softmax,
    "L2_NORMALIZATION": fused(l2_normalization),
    "BATCH_MATMUL": batch_matmul,
}
CODES.update({"REDUCE_MAX", "REDUCE_MIN", "ARG_MAX", "ARG_MIN"})
