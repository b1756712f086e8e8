"""What evaluating constants may cost."""

from __future__ import annotations

import numpy as np
from xdsl.dialects.builtin import UnknownLoc
from xdsl.ir import Operation

from ttc.dialects.core.ir.attributes import WeightAttr
from ttc.dialects.core.ir.leaves import ConstantOp
from ttc.dialects.core.ir.spec import Spec, tensor_type
from ttc.dialects.nn.base import NNOp
from ttc.dialects.nn.budget import Budget, steps_of
from ttc.dialects.nn.linear import MatmulOp
from ttc.dialects.nn.shape import ExpandOp
from ttc.dialects.nn.unary import ExpOp

FLOAT = np.dtype(np.float32)


def leaf(*shape: int) -> ConstantOp:
    spec = Spec(shape, FLOAT)
    return ConstantOp.make((), {"value": WeightAttr.of("w", spec)}, [tensor_type(spec)], UnknownLoc())


def test_steps_are_arithmetic_and_what_is_read_and_written() -> None:
    w = leaf(8, 8)
    assert steps_of(ExpOp.build(w.result, location=UnknownLoc())) == 64 + 2 * 64
    assert steps_of(MatmulOp.build(w.result, w.result, location=UnknownLoc(), transpose_a=False, transpose_b=False)) == 2 * 8**3 + 3 * 64


def expanded(*shape: int) -> list[Operation]:
    w = leaf(1)
    expand: NNOp = ExpandOp.build(w.result, location=UnknownLoc(), shape=shape)
    return [w, expand, ExpOp.build(expand.results[0], location=UnknownLoc())]


def test_values_larger_than_any_constant_are_refused_and_cost_nothing() -> None:
    budget = Budget()
    before = budget.left
    assert (
        budget.refusal(expanded(1 << 20, 1 << 20)) == "a value on the way has 1099511627776 elements, of 16777216 that constants may have"
    )
    assert budget.left == before


def test_large_weights_allow_large_values() -> None:
    w = leaf(1 << 13, 1 << 13)
    assert Budget(1 << 26).refusal([w, ExpOp.build(w.result, location=UnknownLoc())]) is None


def test_steps_are_spent_once() -> None:
    budget, ops = Budget(), expanded(1 << 22)
    found = [budget.refusal(ops) for _ in range(20)]
    assert found[0] is None
    assert found[-1] is not None
    assert "steps" in found[-1]
