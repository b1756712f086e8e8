"""Ops on images, and ensembles: samples stand in the first dimension, or where an image is not looked at together."""

from __future__ import annotations

from ttc.dialects.nn.batching import BATCHING
from ttc.dialects.nn.batching.op import BatchedOp, Carriage


@BATCHING.rule("conv2d", "conv_transpose2d", "max_pool2d", "avg_pool2d", "tree_ensemble", "couple_probabilities")
def first_dimension(op: BatchedOp) -> Carriage | None:
    """Each index of the first dimension is treated apart; all other operands are the same for all samples."""
    _, at = op.first
    return op.alone(at) if at.axis == 0 else None


@BATCHING.rule("grid_sample")
def grid_sample(op: BatchedOp) -> Carriage | None:
    """Each image has a grid of its own."""
    _, at = op.first
    return Carriage((at, at), (at,)) if at.axis == 0 else None


@BATCHING.rule("deform_conv")
def deform_conv(op: BatchedOp) -> Carriage | None:
    """Each image has offsets of its own; weights are the same for all."""
    _, at = op.first
    found = tuple(None if x is None or index == 1 else at for index, x in enumerate(op.operands))
    return Carriage(found, (at,)) if at.axis == 0 else None


@BATCHING.rule("resize")
def resize(op: BatchedOp) -> Carriage | None:
    """A dimension that keeps its size, and is read as a whole, is not looked at together."""
    _, at = op.first
    attrs, size = op.attrs, op.size_of(0, at.axis)
    kept = (attrs["sizes"][at.axis], attrs["scales"][at.axis], attrs["window"][at.axis], attrs["window"][op.rank() + at.axis])
    return op.alone(at, scaled=(("sizes", at.axis),)) if kept == (size, 1.0, 0.0, 1.0) else None
