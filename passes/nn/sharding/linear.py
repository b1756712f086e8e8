"""Products of matrices: columns of a weight, then rows of the next one, whose sums are added over all chips."""

from __future__ import annotations

from math import prod

from ttc.passes.nn.sharding import SHARDING
from ttc.passes.nn.sharding.op import DividedOp, Division


@SHARDING.rule("matmul")
def matmul(step: DividedOp) -> Division | None:
    """Divide the columns of a constant matrix where every chip has the rows, and its rows where chips divide what they meet."""
    left, right, rank = step.shapes[0], step.shapes[1], len(step.shape)
    if step.work.attrs["transpose_a"] or len(left) < 2:
        return None
    if step.constants[1] and prod(right[:-2]) == 1 and len(right) <= max(2, rank):
        return _with_weight(step, left, right)
    return _of_two(step)


def _with_weight(step: DividedOp, left: tuple[int, ...], right: tuple[int, ...]) -> Division | None:
    columns = len(right) - (2 if step.work.attrs["transpose_b"] else 1)
    rows = 2 * len(right) - 3 - columns
    rank, split = len(step.shape), step.splits[0]
    if split == len(left) - 1:
        return (
            None
            if step.work.attrs.get("activation") or not step.are_equal(left[-1])
            else Division((split, rows, None), (None,), partial=True)
        )
    if split is not None:
        return Division((split, None, None), (split + rank - len(left),)) if not step.has(2) or len(step.shapes[2]) == 1 else None
    if step.by_rows:
        return step.rows() if step.may_start and (not step.has(2) or len(step.shapes[2]) == 1) else None
    filled = step.can_fill(step.shape[-1]) and not step.are_equal(step.shape[-1])
    if not step.may_start or not (step.divides(step.shape[-1]) or filled) or (step.has(2) and not step.constants[2]):
        return None
    bias = step.alongside(2, -1) if step.has(2) else None
    return Division((None, columns, bias), (rank - 1,), starts=True, filled=filled)


def _of_two(step: DividedOp) -> Division | None:
    """Divide both operands along one dimension in front of the matrices, or the rows of the first; a matrix that serves all of it is
    every chip's.
    """
    splits = [split - len(shape) for split, shape in zip(step.splits[:2], step.shapes[:2], strict=True) if split is not None]
    if not step.has(2) and splits == [-2] and step.splits[0] is not None:
        return Division((step.splits[0], None, None)[: len(step.shapes)], (len(step.shape) - 2,))
    splits = [split for split in splits if split <= -3]
    if step.has(2) or not splits:
        return None
    wanted = tuple(step.alongside(index, splits[0]) for index in (0, 1))
    return Division((*wanted, None)[: len(step.shapes)], (len(step.shape) + splits[0],))
