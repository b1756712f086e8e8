"""Makes nn ops in front of one op, on behalf of a pass."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from xdsl.ir import Attribute, SSAValue

from ttc.dialects.core.ir.leaves import ConstantOp
from ttc.dialects.nn.base import NNOp
from ttc.dialects.nn.making import OpMaker
from ttc.passes.base import Rewriter, Unit
from ttc.passes.nn.match import stem_of


class RewriteMaker(OpMaker):
    """Makes ops that take the place of an op: before it, located at it."""

    def __init__(self, op: NNOp, unit: Unit, rewriter: Rewriter) -> None:
        self._op, self._unit, self._rewriter = op, unit, rewriter

    @property
    def location(self) -> Attribute:
        return self._rewriter.location((self._op,))

    def place(self, op: NNOp) -> tuple[SSAValue, ...]:
        return tuple(self._rewriter.insert(self._op, op).results)

    def constant(self, value: ArrayLike, dtype: np.dtype | None = None) -> SSAValue:
        """Return a literal, or a weight if it is large."""
        leaf = ConstantOp.holding(np.asarray(value, dtype), self._unit.weights, f"{stem_of(self._op)}.constant", self.location)
        return self._rewriter.insert(self._op, leaf).result
