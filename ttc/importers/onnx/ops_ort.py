"""Ops that onnxruntime adds to ONNX's own domain, where its graph optimizer writes them."""

from __future__ import annotations

import numpy as np

from ttc.dialects.core.ir.values import SSAValue
from ttc.dialects.core.shapes import axis_in
from ttc.importers.common.builder import Builder
from ttc.importers.onnx.ops_norm import rms_normalization_23
from ttc.importers.onnx.tables import MAPPINGS


@MAPPINGS.rule("SimplifiedLayerNormalization-1")
def simplified_layer_normalization_1(
    b: Builder, x: SSAValue, scale: SSAValue, *, axis: int = -1, epsilon: float = 1e-5, stash_type: int = 1
) -> tuple[SSAValue, ...]:
    """Map RMSNormalization under its earlier name; the inverse root mean square is given if it is asked for."""
    y = rms_normalization_23(b, x, scale, axis=axis, epsilon=epsilon)
    return (y, inverse_root_mean_square(b, x, axis, epsilon)) if any(b.outputs[1:]) else (y,)


def inverse_root_mean_square(b: Builder, x: SSAValue, axis: int, epsilon: float) -> SSAValue:
    """Return 1 / sqrt(mean x^2 + epsilon) over the dimensions from the axis on, in float32."""
    wide = b.cast(x, np.dtype(np.float32))
    rank = b.rank(x)
    mean = b.nn("reduce_mean", b.nn("mul", wide, wide), axes=tuple(range(axis_in(axis, rank), rank)), keepdims=True)
    return b.nn("rsqrt", b.nn("add", mean, b.scalar(epsilon, wide)))
