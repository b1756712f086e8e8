"""Rules for arithmetic that changes nothing, to the last bit."""

from __future__ import annotations

import math

from xdsl.ir import Operation, SSAValue

from ttc.dialects.core.plain.weights import WeightStore
from ttc.dialects.nn.activation import ReluOp
from ttc.dialects.nn.base import NNOp
from ttc.dialects.nn.binary import AddOp, AndOp, DivOp, MulOp, OrOp, PowOp, SubOp, WhereOp
from ttc.dialects.nn.shape import ExpandOp
from ttc.dialects.nn.unary import AbsOp, CeilOp, FloorOp, IdentityOp, NegOp, NotOp, RoundOp
from ttc.passes.base import Rewriter
from ttc.passes.nn.match import constant_scalar, either_way, has_elements, owner, shape_of, spec
from ttc.passes.nn.rules import Build, RewriteRule, become, same_type, static


def _identity(op: IdentityOp, _: WeightStore) -> Build | None:
    return become(op.operands[0])


def _undone(op: NegOp | NotOp, _: WeightStore) -> Build | None:
    """-(-x) and not not x."""
    inner = owner(op.operands[0], type(op))
    return None if inner is None else become(inner.operands[0])


def _done_twice(op: NNOp, _: WeightStore) -> Build | None:
    """relu(relu x) and its like."""
    inner = owner(op.operands[0], type(op))
    return None if inner is None else become(inner.results[0])


def _neutral_factor(op: MulOp, weights: WeightStore) -> Build | None:
    """Drop a multiplication by 1."""
    for x, other in either_way(op):
        if has_elements(other, 1.0, weights):
            return same_type(op, x)
    return None


def _neutral_second(op: DivOp | PowOp, weights: WeightStore) -> Build | None:
    """x / 1 and x to the power of 1."""
    return same_type(op, op.operands[0]) if has_elements(op.operands[1], 1.0, weights) else None


def _zero_subtracted(op: SubOp, weights: WeightStore) -> Build | None:
    """x - 0, but not x - (-0), which turns -0 into 0."""
    return same_type(op, op.operands[0]) if _is_zero(op.operands[1], weights, negative=False) else None


def _zero_added(op: AddOp, weights: WeightStore) -> Build | None:
    """x + (-0), and x + 0 for integers; x + 0 turns -0 into 0."""
    for x, other in either_way(op):
        if _is_zero(other, weights, negative=True):
            return same_type(op, x)
    return None


def _is_zero(value: SSAValue, weights: WeightStore, *, negative: bool) -> bool:
    number = constant_scalar(value, weights)
    if number is None or number != 0.0:
        return False
    return spec(value).dtype.kind in "iu" or (math.copysign(1.0, number) < 0) == negative


def _logic(op: AndOp | OrOp, weights: WeightStore) -> Build | None:
    """x and true, x or false."""
    neutral = 1.0 if isinstance(op, AndOp) else 0.0
    for x, other in either_way(op):
        if has_elements(other, neutral, weights):
            return _fitted(op, x)
    return None


def _decided(op: WhereOp, weights: WeightStore) -> Build | None:
    """Return a choice whose condition is constant, or between a value and itself."""
    condition, chosen, other = op.operands
    if chosen is other and chosen.type == op.results[0].type:
        return become(chosen)
    if has_elements(condition, 1.0, weights):
        return _fitted(op, chosen)
    return _fitted(op, other) if has_elements(condition, 0.0, weights) else None


def _fitted(op: Operation, value: SSAValue) -> Build | None:
    """Return the value, expanded to the shape of the op's result."""
    if not static(op.results[0]):
        return None

    def build(rewriter: Rewriter) -> SSAValue:
        if value.type == op.results[0].type:
            return value
        return rewriter.build(op, ExpandOp, value, shape=shape_of(op.results[0])).results[0]

    return build


def rules() -> list[RewriteRule]:
    """Return the rewrite rules for arithmetic."""
    return [
        RewriteRule("identity", (IdentityOp,), _identity),
        RewriteRule("undone", (NegOp, NotOp), _undone),
        RewriteRule("done-twice", (ReluOp, AbsOp, FloorOp, CeilOp, RoundOp), _done_twice),
        RewriteRule("times-one", (MulOp,), _neutral_factor),
        RewriteRule("over-one", (DivOp, PowOp), _neutral_second),
        RewriteRule("minus-zero", (SubOp,), _zero_subtracted),
        RewriteRule("plus-zero", (AddOp,), _zero_added),
        RewriteRule("known-logic", (AndOp, OrOp), _logic),
        RewriteRule("known-choice", (WhereOp,), _decided),
    ]
