"""Normalisations, softmax, and the losses' parts that inference has."""

from __future__ import annotations

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.values import SSAValue
from ttc.importers.common.builder import Builder
from ttc.importers.tf.tables import Rows


def fused_batch_norm(
    b: Builder,
    x: SSAValue,
    scale: SSAValue,
    offset: SSAValue,
    mean: SSAValue,
    variance: SSAValue,
    *,
    epsilon: float = 1e-4,
    data_format: str = "NHWC",
    is_training: bool = True,
    exponential_avg_factor: float = 1.0,
) -> SSAValue:
    """Normalize by channel, with given statistics, or in training with the batch's own."""
    rank = b.rank(x)
    if rank not in (4, 5):
        raise Error("E0401", f"needs rank 4 or 5, not {b.spec(x)}")
    axis = rank - 1 if data_format.endswith("C") else 1
    scale, offset = (b.cast(v, b.dtype(x)) for v in (scale, offset))
    if is_training:
        axes = tuple(i for i in range(rank) if i != axis)
        mean = b.nn("reduce_mean", x, axes=axes, keepdims=True)
        centred = b.nn("sub", x, mean)
        variance = b.nn("reduce_mean", b.nn("mul", centred, centred), axes=axes, keepdims=True)
        return _normalized(b, x, scale, offset, mean, variance, epsilon, axis)
    mean, variance = (b.cast(v, b.dtype(x)) for v in (mean, variance))
    if any(b.known(v) is None for v in (scale, offset, mean, variance)):
        return _normalized(b, x, scale, offset, mean, variance, epsilon, axis)
    return b.nn("batch_norm", x, scale, offset, mean, variance, eps=epsilon, axis=axis)


def _normalized(
    b: Builder, x: SSAValue, scale: SSAValue, offset: SSAValue, mean: SSAValue, variance: SSAValue, epsilon: float, axis: int
) -> SSAValue:
    """By statistics that are computed: nn's op is for those of a trained network."""
    column = (b.shape(x)[axis], *(1,) * (b.rank(x) - 1 - axis))
    scale, offset, mean, variance = (b.reshape(v, *column) for v in (scale, offset, mean, variance))
    steepness = b.nn("mul", scale, b.nn("rsqrt", b.nn("add", variance, b.scalar(epsilon, x))))
    return b.nn("add", b.nn("mul", b.nn("sub", x, mean), steepness), offset)


def softmax(b: Builder, logits: SSAValue) -> SSAValue:
    return b.nn("softmax", logits, axis=_last(b, logits))


def log_softmax(b: Builder, logits: SSAValue) -> SSAValue:
    return b.nn("log_softmax", logits, axis=_last(b, logits))


def _last(b: Builder, x: SSAValue) -> int:
    if not b.shape(x):
        raise Error("E0401", "a softmax takes no scalar")
    return b.rank(x) - 1


def l2_loss(b: Builder, t: SSAValue) -> SSAValue:
    """Return half the sum of squares."""
    total = b.nn("reduce_sum", b.nn("mul", t, t), axes=tuple(range(b.rank(t))), keepdims=False)
    return b.nn("mul", total, b.scalar(0.5, t))


ROWS: Rows = {
    **dict.fromkeys(["FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3"], fused_batch_norm),
    "Softmax": softmax,
    "LogSoftmax": log_softmax,
    "L2Loss": l2_loss,
}
