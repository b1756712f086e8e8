"""Arithmetic of nn ops, counted: what shares of a model run where."""

from __future__ import annotations

from ttc.dialects.core.ir.spec import spec_of
from ttc.dialects.nn.base import NNOp
from ttc.dialects.nn.counts import COUNTS, one_each


def flops_of(op: NNOp) -> int:
    """Return the operations of floating-point or integer arithmetic of an op, as `ttc.dialects.nn.counts` counts them.

    Ops that only move values count none; those that are not counted by a rule of their own, one for each element of the largest tensor
    that they read or write.  Ops with regions count what stands in these, once each: which branch is taken and how often a loop
    runs is not known.
    """
    if op.regions:
        return sum(flops_of(inner) for region in op.regions for block in region.blocks for inner in block.ops if isinstance(inner, NNOp))
    count = COUNTS.get(op.name.removeprefix("nn.")) or one_each
    operands, results = ([spec_of(value.type).shape for value in values] for values in (op.operands, op.results))
    return count(operands, results, op.plain_attrs())
