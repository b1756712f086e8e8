"""Normalizations."""

from __future__ import annotations

from xdsl.ir import SSAValue

from ttc.importers.torch.builder import TorchBuilder
from ttc.importers.torch.tables import Rows


def batch_norm_inference(
    b: TorchBuilder,
    x: SSAValue,
    weight: SSAValue | None,
    bias: SSAValue | None,
    mean: SSAValue,
    var: SSAValue,
    momentum: float,
    eps: float,
) -> tuple[SSAValue | None, ...]:
    """Per channel, the dimension 1, by running statistics; what it saves for training is empty."""
    channels = b.shape(mean)
    ones = b.nn("expand", b.scalar(1, x), shape=channels) if weight is None else weight
    zeros = b.nn("expand", b.scalar(0, x), shape=channels) if bias is None else bias
    return b.nn("batch_norm", x, ones, zeros, mean, var, eps=eps, axis=1), None, None


ROWS: Rows = {"aten._native_batch_norm_legit_no_training.default": batch_norm_inference}
