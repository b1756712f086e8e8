"""What normalizations have in common in the form that exporters give them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.ir import Operation, SSAValue

from ttc.dialects.core.ir.leaves import ConstantOp
from ttc.dialects.core.ir.spec import Spec
from ttc.dialects.core.plain.weights import WeightStore
from ttc.dialects.nn.binary import AddOp, MulOp, PowOp
from ttc.dialects.nn.unary import ReciprocalOp, RsqrtOp, SqrtOp
from ttc.passes.base import Rewriter, Unit
from ttc.passes.nn.match import either_way, is_constant, is_scalar, owner, shape_of, sole_user, stem_of


def applied_after(replaced: list[Operation], kind: type[MulOp] | type[AddOp], size: Sequence[int]) -> SSAValue | None:
    """Return the constant of the normalized shape that the only reader of the last op adds or multiplies by; appends that reader."""
    value = replaced[-1].results[0]
    user = sole_user(value)
    if not isinstance(user, kind) or user.results[0].type != value.type:
        return None
    other = next(b for a, b in either_way(user) if a is value)
    shape = shape_of(other)
    leading = len(shape) - len(size)
    if leading < 0 or shape[leading:] != tuple(size) or any(d != 1 for d in shape[:leading]) or not is_constant(other):
        return None
    replaced.append(user)
    return other


def filled(anchor: Operation, wanted: Spec, number: int, unit: Unit, rewriter: Rewriter) -> SSAValue:
    """Return a constant of zeros or ones (the number), before the anchor."""
    value, stem = np.full(wanted.shape, number, wanted.dtype), f"{stem_of(anchor)}.{('zeros', 'ones')[number]}"
    return rewriter.insert(anchor, ConstantOp.holding(value, unit.weights, stem, rewriter.location((anchor,)))).result


def under_root(value: SSAValue, *, divided: bool) -> SSAValue | None:
    """Return what the divisor is the square root of; for a multiplication, what the factor is the reciprocal root of."""
    op = owner(value, SqrtOp, RsqrtOp, ReciprocalOp)
    if divided or op is None:
        return op.operands[0] if isinstance(op, SqrtOp) else None
    if isinstance(op, RsqrtOp):
        return op.operands[0]
    return under_root(op.operands[0], divided=True) if isinstance(op, ReciprocalOp) else None


def is_square(value: SSAValue, x: SSAValue, weights: WeightStore) -> bool:
    """Return whether a value is x * x or x to the power of 2."""
    op = owner(value, MulOp, PowOp)
    if op is None or op.operands[0] is not x:
        return False
    return op.operands[1] is x if isinstance(op, MulOp) else is_scalar(op.operands[1], 2.0, weights)
