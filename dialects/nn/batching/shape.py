"""Ops that keep elements and change shape."""

from __future__ import annotations

from ttc.dialects.core.batch_axis import BatchAxis
from ttc.dialects.nn.batching import BATCHING
from ttc.dialects.nn.batching.op import BatchedOp, Carriage


@BATCHING.rule("reshape")
def reshape(op: BatchedOp) -> Carriage | None:
    """Elements keep their order, and a dimension of the result has to hold all samples."""
    (x,), (_, at) = op.operands, op.first
    if x is None or not x.is_static or not op.result.is_static:
        return None
    found = BatchAxis.behind(at.before(x.shape), op.result.shape, op.size)
    return None if found is None else op.alone(found, scaled=(("shape", found.axis),))


@BATCHING.rule("transpose")
def transpose(op: BatchedOp) -> Carriage | None:
    """A transpose moves the dimension of the batch as any other."""
    _, at = op.first
    return op.alone(BatchAxis(op.attrs["perm"].index(at.axis), at.runs))


@BATCHING.rule("expand")
def expand(op: BatchedOp) -> Carriage | None:
    """A dimension of the batch is no dimension of size 1, so that it stays as it is."""
    _, at = op.first
    return op.alone(BatchAxis(op.result.rank - op.rank() + at.axis, at.runs), scaled=sizes_at(op, op.result.rank - op.rank() + at.axis))


def sizes_at(op: BatchedOp, axis: int) -> tuple[tuple[str, int | None], ...]:
    """Return what grows with the samples in the shape that an op expands to, if the batch is in a dimension of the result."""
    place = axis - op.result.rank + len(op.attrs["shape"])
    return (("shape", place),) if place >= 0 and op.attrs["shape"][place] != 1 else ()


@BATCHING.rule("repeat")
def repeat(op: BatchedOp) -> Carriage | None:
    """Copies of the dimension of the batch are further runs in it."""
    _, at = op.first
    return op.alone(BatchAxis(at.axis, at.runs * op.attrs["repeats"][at.axis]))
