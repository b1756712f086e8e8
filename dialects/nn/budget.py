"""What may be spent on evaluating constants while a model is compiled, counted from shapes before anything is computed.

A few bytes of a model can name a constant of a terabyte.  Every fold of constants asks here first; what it may not spend stays an op.
Limits are of elements and of steps, never of seconds, so that the same model folds in the same way everywhere.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from xdsl.ir import Operation, SSAValue

from ttc.dialects.core.ir.spec import spec_of
from ttc.dialects.nn.base import NNOp
from ttc.dialects.nn.flops import flops_of


def steps_of(op: NNOp) -> int:
    """Return steps that evaluating an op takes: its arithmetic, and one for each element that it reads or writes."""
    moved = op.results if op.name == "nn.shape" else (*op.operands, *op.results)
    return flops_of(op) + sum(_elements(value) for value in moved)


class Budget:
    """Steps that are left for evaluating the constants of one model; a model with more weights has more of them.

    Args:
        elements: of the weights that the model brings.
    """

    MAX_ELEMENTS: ClassVar[int] = 1 << 24
    """The most elements that any value on the way may have."""
    GROWTH: ClassVar[int] = 4
    """A value on the way may have so many times the elements that an expression starts from, if that is more than MAX_ELEMENTS."""
    STEPS: ClassVar[int] = 1 << 27
    """The steps that a model without weights may spend."""
    STEPS_AN_ELEMENT: ClassVar[int] = 1 << 14
    """The further steps for each element of a weight: a product of two square matrices of 16,384 rows is possible."""

    def __init__(self, elements: int = 0) -> None:
        self.left = self.STEPS + self.STEPS_AN_ELEMENT * elements

    def refusal(self, ops: Iterable[Operation]) -> str | None:
        """Why an expression may not be evaluated; None if it may, and its steps are then spent.

        Args:
            ops: that it consists of, the constants that it starts from included.  Ops with regions are never evaluated.
        """
        steps = largest = leaves = 0
        for op in ops:
            largest = max(largest, *(_elements(value) for value in op.results), 0)
            if isinstance(op, NNOp):
                steps += steps_of(op)
            else:
                leaves += sum(_elements(value) for value in op.results)
        most = max(self.MAX_ELEMENTS, self.GROWTH * leaves)
        if largest > most:
            return f"a value on the way has {largest} elements, of {most} that constants may have"
        if steps > self.left:
            return f"it takes {steps} steps, of {self.left} that are left for constants"
        self.left -= steps
        return None


def _elements(value: SSAValue) -> int:
    """Return the elements of a value; dimensions that depend on data count as one."""
    count = 1
    for size in spec_of(value.type).shape:
        count *= abs(size)
    return count
