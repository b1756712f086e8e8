"""The pass that writes shape arithmetic out as constants."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from xdsl.ir import Operation

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.attributes import LiteralAttr
from ttc.dialects.core.ir.entries import entry_functions
from ttc.dialects.core.ir.leaves import ConstantOp
from ttc.dialects.core.ir.spec import spec_of
from ttc.dialects.core.records import record
from ttc.dialects.nn.base import NNOp
from ttc.dialects.nn.shape import ShapeOfOp
from ttc.passes.base import Pass, Rewriter, Unit
from ttc.passes.nn.match import constant_array, shape_of, spec, stem_of

OPERAND_ELEMENTS = 4096
"""The most elements of an operand of shape arithmetic; what has more is data, which consteval evaluates."""


@record
class FoldShapes(Pass):
    """Replace shapes of tensors, and small integer arithmetic on constants, by literals.

    Before:
        (%x: tensor<2x3xf32>)
        %0 = nn.shape(%x) : (tensor<2x3xf32>) -> tensor<2xi64>
        %1 = ttc.constant() {value = #ttc.literal<[1, 4], tensor<2xi64>>} : () -> tensor<2xi64>
        %2 = nn.mul(%0, %1) : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
        return %2 : tensor<2xi64>
    After:
        (%x: tensor<2x3xf32>)
        %2 = ttc.constant() {value = #ttc.literal<[2, 12], tensor<2xi64>>} : () -> tensor<2xi64>
        return %2 : tensor<2xi64>
    Missed:
        a dimension depends on data; the result has more than 16 elements; the arithmetic fails, which is left to the run.
    """

    name: ClassVar[str] = "fold-shapes"

    def apply(self, unit: Unit, rewriter: Rewriter) -> None:
        for op in [op for function in entry_functions(unit.module) for block in function.body.blocks for op in block.ops]:
            if op.parent is not None and isinstance(op, NNOp) and not (op.regions or op.EFFECT) and len(op.results) == 1:
                value = _value(op, unit, rewriter)
                if value is not None and rewriter.allow("fold-shapes", op):
                    _replace(op, value, unit, rewriter)


def _value(op: NNOp, unit: Unit, rewriter: Rewriter) -> NDArray | None:
    """Return the value of shape arithmetic; None if the op is not that."""
    if isinstance(op, ShapeOfOp):
        shape = shape_of(op.operands[0])
        if min(shape, default=1) >= 0:
            return np.array(shape, np.int64)
        rewriter.missed(op, f"the shape {list(shape)} depends on data")
        return None
    result = spec_of(op.results[0].type)
    if result.dtype.kind not in "iub" or not op.operands or not result.is_static:
        return None
    arrays = [constant_array(x, unit.weights, OPERAND_ELEMENTS) for x in op.operands]
    if any(a is None for a in arrays):
        return None
    if result.elements > LiteralAttr.MAX_ELEMENTS:
        rewriter.missed(op, f"{result.elements} integers are too many for a literal")
        return None
    return _evaluate(op, arrays, rewriter)


def _evaluate(op: NNOp, arrays: list[NDArray | None], rewriter: Rewriter) -> NDArray | None:
    present = iter(arrays)
    operands = [None if x is None else next(present) for x in op.named_operands()]
    try:
        with np.errstate(all="ignore"):
            value = np.asarray(type(op).evaluate(*operands, **op.plain_attrs()))
    except Error as error:
        rewriter.missed(op, f"the arithmetic fails: {error.message}")
        return None
    return value.astype(spec(op.results[0]).dtype)


def _replace(op: Operation, value: NDArray, unit: Unit, rewriter: Rewriter) -> None:
    constant = rewriter.insert(op, ConstantOp.holding(value, unit.weights, stem_of(op), rewriter.location((op,))))
    rewriter.applied(constant, f"{op.name} is a constant")
    feeding = [x.owner for x in op.operands]
    rewriter.replace(op, constant.results[0])
    for owner in feeding:
        if isinstance(owner, Operation):
            rewriter.erase_dead(owner)
