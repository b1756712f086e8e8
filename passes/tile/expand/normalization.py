"""Expansion of ops that compute on rows, softmax and normalizations: the steps of their facts, one after the other."""

from __future__ import annotations

from math import prod

from xdsl.ir import SSAValue

from ttc.dialects.core.shapes import axis_in
from ttc.dialects.tile.base import TileOp, tile_of
from ttc.dialects.tile.facts import fact_of
from ttc.dialects.tile.facts.steps import taken
from ttc.passes.declined import Declined
from ttc.passes.tile.expand.expansion import Expansion
from ttc.passes.tile.expand.reduce import reduced


def expand_rows(op: TileOp, to: Expansion) -> SSAValue:
    """Expand an op on rows into the steps of its fact, each in primitives: a statistic, or a function of tiles and numbers."""
    fact, attrs = fact_of(op.name), op.plain_attrs()
    given = dict(zip(fact.operands, op.named_operands(), strict=True))
    x = op.operands[0]
    axis = axis_in(attrs["axis"], len(tile_of(x).shape))
    if fact.trailing:
        x = _rows(x, axis, to)
    along = len(tile_of(x).shape) - 1 if fact.trailing else axis
    values: dict[str, SSAValue] = {fact.operands[0]: x}

    def value(name: str) -> SSAValue | float:
        if name in values:
            return values[name]
        weights = given.get(name)
        return float(attrs[name]) if weights is None else _weights(op, weights, to)

    *steps, last = taken(fact.steps, [name for name, operand in given.items() if operand is None])
    for step in steps:
        operands = [value(name) for name in step.values]
        values[step.result] = reduced(values[step.values[0]], step.fn, (along,), to) if step.is_statistic else to.map(step.fn, *operands)
    return to.fit(to.map(last.fn, *(value(name) for name in last.values), format=to.result.format))


def _rows(x: SSAValue, axis: int, to: Expansion) -> SSAValue:
    """Return what is normalized together as the last dimension; at least rank 2."""
    shape = tile_of(x).shape
    if axis == len(shape) - 1:
        return x if axis else to.reshape(x, (1, *shape))
    return to.reshape(x, (*(shape[:axis] or (1,)), prod(shape[axis:])))


def _weights(op: TileOp, w: SSAValue, to: Expansion) -> SSAValue:
    """Return weights of a row as one dimension.  Raises Declined where they are not of a row's shape."""
    shape = tile_of(op.operands[0]).shape
    axis = axis_in(op.plain_attrs()["axis"], len(shape))
    if axis == len(shape) - 1:
        return w
    if tile_of(w).shape != shape[axis:]:
        raise Declined("scale or bias does not have the shape of what is normalized")
    return to.reshape(w, (prod(shape[axis:]),))
