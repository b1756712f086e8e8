"""Ops that read or write elements at computed places."""

from __future__ import annotations

from ttc.dialects.core.batch_axis import BatchAxis
from ttc.dialects.nn.batching import BATCHING
from ttc.dialects.nn.batching.op import BatchedOp, Carriage


@BATCHING.rule("gather")
def gather(op: BatchedOp) -> Carriage | None:
    """Samples are indices, for one table, or stand in a dimension of x that is not indexed, where all take the same."""
    index, at = op.first
    axis = op.axis()
    if index == 1:
        return Carriage((None, at), (BatchAxis(axis + at.axis, at.runs),))
    if at.axis == axis:
        return None
    return op.alone(BatchAxis(at.axis if at.axis < axis else at.axis - 1 + op.rank(1), at.runs))


@BATCHING.rule("gather_elements", "scatter_elements")
def elements(op: BatchedOp) -> Carriage | None:
    """A dimension other than the axis, of the same size in all operands, is treated apart."""
    _, at = op.first
    sizes = {op.size_of(index, at.axis) for index in range(len(op.operands))}
    return Carriage((at,) * len(op.operands), (at,)) if at.axis != op.axis() and len(sizes) == 1 else None


@BATCHING.rule("gather_nd")
def gather_nd(op: BatchedOp) -> Carriage | None:
    """Samples stand in a dimension that x and indices share, are tuples of indices, or stand in a dimension of what is taken."""
    index, at = op.first
    shared, last = op.attrs["batch_dims"], op.rank(1) - 1
    if at.axis < shared:
        return Carriage((at, at), (at,))
    if index == 1:
        return Carriage((None, at), (at,)) if at.axis < last else None
    taken = at.axis - shared - op.size_of(1, last)
    return op.alone(BatchAxis(last + taken, at.runs)) if taken >= 0 else None


@BATCHING.rule("scatter_nd")
def scatter_nd(op: BatchedOp) -> Carriage | None:
    """Samples stand in a dimension of the slices that are replaced, at places that are the same for all."""
    index, at = op.first
    last = op.rank(1) - 1
    places = op.size_of(1, last)
    taken = at.axis - (places if index == 0 else last)
    if index == 1 or taken < 0:
        return None
    whole = BatchAxis(places + taken, at.runs)
    return Carriage((whole, None, BatchAxis(last + taken, at.runs)), (whole,))
