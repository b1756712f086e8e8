"""Ops of ONNX's domain for classical machine learning, as far as they are on numbers."""

from __future__ import annotations

from xdsl.ir import SSAValue

from ttc.importers.onnx.builder import Builder

DOMAIN = "ai.onnx.ml"


def array_feature_extractor_1(b: Builder, x: SSAValue, columns: SSAValue) -> SSAValue:
    """Columns of the last dimension; a row of one dimension becomes a matrix."""
    shape = b.shape(x)
    x = b.reshape(x, 1, *shape) if len(shape) == 1 else x
    return b.nn("gather", x, b.reshape(columns, b.spec(columns).elements), axis=len(b.shape(x)) - 1)


def binarizer_1(b: Builder, x: SSAValue, *, threshold: float = 0.0) -> SSAValue:
    """1 above the threshold, else 0."""
    return b.cast(b.nn("greater", x, b.scalar(threshold, x)), b.dtype(x))
