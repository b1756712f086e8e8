"""Products of matrices, and what else is done to matrices one by one."""

from __future__ import annotations

from ttc.dialects.core.batch_axis import BatchAxis
from ttc.dialects.nn.batching import BATCHING
from ttc.dialects.nn.batching.op import Axes, BatchedOp, Carriage


@BATCHING.rule("matmul")
def matmul(op: BatchedOp) -> Carriage | None:
    """Samples are rows of a, columns of b, or whole matrices."""
    rank, (index, at) = op.result.rank, op.first
    lines = _lines(op)
    if index == 2:
        place = rank - op.rank(2) + at.axis
    elif at.axis < op.rank(index) - 2:
        place = rank - op.rank(index) + at.axis
    elif at.axis == lines[index]:
        place = rank - 2 + index
    else:
        return None
    whole = BatchAxis(place, at.runs)
    if place < rank - 2:
        return op.all_beside(whole)
    factors: Axes = tuple(BatchAxis(lines[i], at.runs) if place == rank - 2 + i else None for i in (0, 1))
    return Carriage((*factors, *(op.beside(i, whole) for i in range(2, len(op.operands)))), (whole,))


def _lines(op: BatchedOp) -> tuple[int, int]:
    """Return the dimensions of a that are rows of the result, and those of b that are its columns."""
    return op.rank(0) - (1 if op.attrs["transpose_a"] else 2), op.rank(1) - (2 if op.attrs["transpose_b"] else 1)


@BATCHING.rule("attention")
def attention(op: BatchedOp) -> Carriage | None:
    """Each matrix of queries looks at its own keys and values."""
    rank, (index, at) = op.result.rank, op.first
    place = rank - op.rank(index) + at.axis
    return op.all_beside(BatchAxis(place, at.runs)) if place < rank - 2 else None


@BATCHING.rule("attention_training", "attention_gradient")
def attention_in_training(op: BatchedOp) -> Carriage | None:
    """Samples are whole matrices; sums of rows have the same dimensions in front, but one less behind."""
    rank, (index, at) = op.result.rank, op.first
    ranks = [op.rank(i) + (i == _SUMS and len(op.results) > 2) for i in range(len(op.operands))]
    place = rank - ranks[index] + at.axis
    if place >= rank - 2:
        return None
    found = [BatchAxis(place - rank + have, at.runs) for have in ranks]
    kept = (x if op.size_of(i, x.axis) != 1 else None for i, x in enumerate(found))
    return Carriage(tuple(kept), (BatchAxis(place, at.runs),) * len(op.results))


_SUMS = 4
"""The number of the operand of attention's gradient that holds a number for each row."""


@BATCHING.rule("det", "cholesky", "qr", "lu", "svd", "eigh")
def one_matrix(op: BatchedOp) -> Carriage | None:
    """Samples are whole matrices; all results have the dimensions in front of these."""
    _, at = op.first
    return op.alone(at) if at.axis < op.rank() - 2 else None


@BATCHING.rule("solve")
def solve(op: BatchedOp) -> Carriage | None:
    """Samples are whole systems of equations; both operands have the same dimensions in front."""
    _, at = op.first
    return Carriage((at, at), (at,)) if at.axis < op.result.rank - 2 and op.rank(0) == op.rank(1) else None
