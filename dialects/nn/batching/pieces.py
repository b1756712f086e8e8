"""Ops that cut tensors and join them: along the dimension of the batch they may take and join whole runs of samples."""

from __future__ import annotations

from ttc.dialects.core.batch_axis import BatchAxis
from ttc.dialects.nn.batching import BATCHING
from ttc.dialects.nn.batching.op import Axes, BatchedOp, Carriage


@BATCHING.rule("slice")
def slice_(op: BatchedOp) -> Carriage | None:
    """Let a slice take whole runs of samples, one after another."""
    _, at = op.first
    run = op.size_of(0, at.axis) // at.runs
    start, size, step = (op.attrs[name][at.axis] for name in ("starts", "sizes", "steps"))
    if step != 1 or start % run or size % run:
        return None
    return op.alone(BatchAxis(at.axis, size // run), scaled=(("starts", at.axis), ("sizes", at.axis)))


@BATCHING.rule("split")
def split(op: BatchedOp) -> Carriage | None:
    """Let each piece be whole runs of samples."""
    _, at = op.first
    if at.axis != op.axis():
        return op.alone(at)
    run = op.size_of(0, at.axis) // at.runs
    if any(size % run for size in op.attrs["sizes"]):
        return None
    return op.alone(*(BatchAxis(at.axis, size // run) for size in op.attrs["sizes"]), scaled=(("sizes", None),))


@BATCHING.rule("concat")
def concat(op: BatchedOp) -> Carriage | None:
    """Join operands that are whole runs of the same samples."""
    index, at = op.first
    if at.axis != op.axis():
        return Carriage((at,) * len(op.operands), (at,))
    run = op.size_of(index, at.axis) // at.runs
    sizes = [op.size_of(i, at.axis) for i in range(len(op.operands))]
    wanted: Axes = tuple(BatchAxis(at.axis, size // run) if size else None for size in sizes)
    return None if any(size % run for size in sizes) else Carriage(wanted, (BatchAxis(at.axis, sum(sizes) // run),))


@BATCHING.rule("pad")
def pad(op: BatchedOp) -> Carriage | None:
    """The dimension of the batch gets no margins."""
    _, at = op.first
    return op.alone(at) if op.attrs["before"][at.axis] == op.attrs["after"][at.axis] == 0 else None
