"""Makes ops at the end of a block."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from xdsl.ir import Attribute, Block, SSAValue

from ttc.dialects.core.ir.adapter import append
from ttc.dialects.core.ir.leaves import ConstantOp
from ttc.dialects.core.ir.locations import location_of, source_names
from ttc.dialects.core.ir.spec import Spec
from ttc.dialects.core.plain.weights import WeightStore
from ttc.dialects.nn.base import NNOp
from ttc.dialects.nn.making import OpMaker


class BlockMaker(OpMaker):
    """Makes ops at the end of a block, at the location that `enter` was told.

    Args:
        block: that grows.
        weights: to which constants are added that are too large to be written out.
    """

    def __init__(self, block: Block, weights: WeightStore) -> None:
        self._block, self._weights = block, weights
        self._location: Attribute = location_of(())
        self._constants: dict[tuple[Spec, bytes], SSAValue] = {}
        self._scalars: dict[tuple[np.dtype, str], SSAValue] = {}

    def enter(self, location: Attribute) -> None:
        """Place all further ops at this location."""
        self._location = location

    @property
    def location(self) -> Attribute:
        return self._location

    def place(self, op: NNOp) -> tuple[SSAValue, ...]:
        append(self._block, op)
        return tuple(op.results)

    def constant(self, value: ArrayLike, dtype: np.dtype | None = None) -> SSAValue:
        """Return a constant, made once: written out if it is small, else a weight."""
        array = np.asarray(value, dtype)
        content = Spec(array.shape, array.dtype), array.tobytes()
        found = self._constants.get(content)
        if found is None:
            stem = f"{(source_names(self._location) or ('op',))[0]}.constant"
            leaf = ConstantOp.holding(array, self._weights, stem, self._location)
            append(self._block, leaf)
            found = self._constants[content] = leaf.result
        return found

    def scalar(self, value: float, like: SSAValue) -> SSAValue:
        key = self.dtype(like), repr(value)
        found = self._scalars.get(key)
        if found is None:
            found = self._scalars[key] = super().scalar(value, like)
        return found
