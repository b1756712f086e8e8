"""Masks of attention scores: what is added to them, and what takes their place."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from xdsl.ir import Operation, SSAValue

from ttc.dialects.core.ir.leaves import ConstantOp
from ttc.dialects.core.plain.weights import WeightStore
from ttc.dialects.core.records import record
from ttc.dialects.nn.binary import AddOp, WhereOp
from ttc.dialects.nn.shape import ExpandOp
from ttc.passes.base import Rewriter
from ttc.passes.nn.match import MAX_READ, constant_array, constant_scalar, either_way, has_elements, shape_of, spec

ERASES = -1e30
"""A number at or below this absorbs every score it is added to."""

SUPPRESSES = -1e4
"""A number at or below this leaves nothing of a score after softmax, if another score of the row stands."""


@record
class Mask:
    """What is added to the scores: a value, or a number where a condition holds (or does not) and zero elsewhere.

    Args:
        value: what is added, or the condition.
        number: for a condition, what takes the place of scores.
        where_true: whether it takes their place where the condition holds.
    """

    value: SSAValue
    number: float | None = None
    where_true: bool = False


def masked(value: SSAValue, weights: WeightStore) -> Iterator[tuple[SSAValue, Mask | None]]:
    """Yield the ways to read a value as scores with a mask applied; the mask is None if it changes nothing."""
    op = value.owner
    if isinstance(op, AddOp):
        for scores, mask in either_way(op):
            if _keeps_shape(mask, scores):
                lean = _lean(mask)
                yield scores, None if has_elements(lean, 0.0, weights) else Mask(lean)
    elif isinstance(op, WhereOp):
        condition, chosen, other = op.operands
        for scores, number, where_true in ((chosen, other, False), (other, chosen, True)):
            found = constant_scalar(number, weights)
            if found is None or scores.type != value.type or not _keeps_shape(condition, scores):
                continue
            if found <= ERASES or (found <= SUPPRESSES and _rows_stand(condition, shape_of(value)[-1], weights, erased=where_true)):
                yield scores, Mask(_lean(condition), found, where_true)


def added_up(anchor: Operation, masks: Sequence[Mask], rewriter: Rewriter) -> SSAValue | None:
    """Return one value to be added to the scores for all masks, before the anchor; None without masks."""
    total: SSAValue | None = None
    for mask in masks:
        value = mask.value if mask.number is None else _chosen(anchor, mask, mask.number, rewriter)
        total = value if total is None else rewriter.build(anchor, AddOp, total, value).results[0]
    return total


def _chosen(anchor: Operation, mask: Mask, number: float, rewriter: Rewriter) -> SSAValue:
    dtype = spec(anchor.results[0]).dtype
    erased, kept = (_scalar(anchor, np.array(n).astype(dtype), rewriter) for n in (number, 0.0))
    choices = (erased, kept) if mask.where_true else (kept, erased)
    return rewriter.build(anchor, WhereOp, mask.value, *choices).results[0]


def _scalar(anchor: Operation, value: np.ndarray, rewriter: Rewriter) -> SSAValue:
    return rewriter.insert(anchor, ConstantOp.literal(value, rewriter.location((anchor,)))).result


def _keeps_shape(mask: SSAValue, scores: SSAValue) -> bool:
    """Return whether broadcasting the mask keeps the shape of the scores."""
    shape, wanted = shape_of(mask), shape_of(scores)
    return len(shape) <= len(wanted) and all(a in (1, b) for a, b in zip(reversed(shape), reversed(wanted), strict=False))


def _lean(mask: SSAValue) -> SSAValue:
    """Return the mask before it was expanded, which attention does itself."""
    while isinstance(mask.owner, ExpandOp) and len(shape_of(mask.owner.operands[0])) == len(shape_of(mask)):
        mask = mask.owner.operands[0]
    return mask


def _rows_stand(condition: SSAValue, columns: int, weights: WeightStore, *, erased: bool) -> bool:
    """Return whether a constant condition leaves at least one score of every row as it is."""
    array = constant_array(condition, weights, MAX_READ)
    if array is None or array.ndim == 0 or array.shape[-1] not in (1, columns):
        return False
    return bool(np.all(np.any(array.astype(np.bool_) != erased, axis=-1)))
