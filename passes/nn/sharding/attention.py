"""Attention: chips divide its heads, or dimensions in front of them, or the rows of its queries."""

from __future__ import annotations

from ttc.passes.nn.sharding import SHARDING
from ttc.passes.nn.sharding.op import DividedOp, Division


@SHARDING.rule("attention")
def attention(step: DividedOp) -> Division | None:
    """Divide keys, values and masks as the queries, along a dimension in front of the rows; keys and values of one head serve all.

    Rows of queries meet all keys and values; the rows of a mask are divided with them.
    """
    split = step.splits[0]
    if split is None or split > len(step.shape) - 2:
        return None
    place = split - len(step.shape)
    if place == -2:
        return Division((split, None, None, step.alongside(3, place) if step.has(3) else None)[: len(step.shapes)], (split,))
    wanted = [step.alongside(index, place) for index in range(len(step.shapes))]
    if wanted[0] is None or any(want is not None and not step.divides(step.shapes[i][want]) for i, want in enumerate(wanted)):
        return None
    if len(wanted) > 3 and wanted[3] is not None and step.constants[3] and len(step.shapes[3]) != 4:
        return None
    return Division(tuple(wanted), (len(step.shape) + place,))
