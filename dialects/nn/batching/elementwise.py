"""Ops whose elements depend on the elements at the same place alone."""

from __future__ import annotations

from ttc.dialects.core.batch_axis import BatchAxis
from ttc.dialects.nn.base import ops
from ttc.dialects.nn.batching import BATCHING
from ttc.dialects.nn.batching.op import BatchedOp, Carriage
from ttc.dialects.nn.elementwise import ElementwiseOp


@BATCHING.rule(*(name for name, kind in ops().items() if issubclass(kind, ElementwiseOp)), "stop_gradient", "probe")
def elementwise(op: BatchedOp) -> Carriage | None:
    """Operands that broadcast have, for each sample, either their own elements or the same ones for all."""
    index, at = op.first
    return op.all_beside(BatchAxis(op.result.rank - op.rank(index) + at.axis, at.runs))


@BATCHING.rule("rotary_embedding")
def rotary_embedding(op: BatchedOp) -> Carriage | None:
    """Features, in the last dimension, are rotated together."""
    found = elementwise(op)
    return found if found is not None and op.carried[0] is not None and op.carried[0].axis < op.rank() - 1 else None
