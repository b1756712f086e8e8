"""Arithmetic of works, counted: what a profile divides by time."""

from __future__ import annotations

from collections.abc import Sequence

from ttc.dialects.core.plain.functions import Function, TensorType, Work
from ttc.dialects.nn.counts import one_each
from ttc.dialects.tile.facts import fact_of, is_fact, moves


def flops_of(function: Function) -> int:
    """Return the operations of arithmetic of a work; a multiplication and the addition of its product are two.

    Tile ops are counted by their facts, other ops with one for each element of the largest tensor that they read or write, and regions
    once.  Sizes that depend on data count as one, and so do repetitions that data decides.
    """
    types = function.value_types
    return sum(_work_flops(work, [types[number] for number in work.operands if number is not None]) for work in function.works)


def _work_flops(work: Work, operands: Sequence[TensorType]) -> int:
    if work.body is not None or work.bodies:
        inner = work.bodies if work.body is None else (work.body, *work.bodies)
        return sum(map(flops_of, inner))
    if work.op.startswith("ttc."):
        return 0
    shapes = [type_.shape for type_ in operands], [type_.shape for type_ in work.results]
    found = fact_of(work.op) if is_fact(work.op) else None
    combines = found is not None and found.moves and not moves(work)  # a scatter that adds
    return (one_each if found is None or combines else found.flops)(*shapes, work.attrs)
