"""The builder of PyTorch's mappings: what PyTorch says of a node's results, and its promotion of operands."""

from __future__ import annotations

from collections import Counter
from typing import Any, TypeAlias

import numpy as np

from ttc.dialects.core.ir.attributes import LiteralAttr
from ttc.dialects.core.ir.entries import Port
from ttc.dialects.core.ir.leaves import StateOp
from ttc.dialects.core.ir.spec import Spec
from ttc.dialects.core.ir.values import SSAValue
from ttc.importers.common.builder import Builder
from ttc.importers.common.unsupported import Unsupported
from ttc.importers.torch.dtypes import promoted_dtype

SEED, OFFSET = "random.seed", "random.offset"
"""States that random numbers follow from."""
Operand: TypeAlias = "SSAValue | bool | int | float"
"""What stands where a schema has a tensor: a value, or a number that PyTorch wraps."""


class TorchBuilder(Builder):
    """`dtypes`: of the current node's results, as PyTorch's tracing found them; None for a result that is no tensor."""

    dtypes: tuple[np.dtype | None, ...] = ()
    marked: list[SSAValue]
    """Values that are marked as losses, in the order of the graph."""
    _seed: tuple[SSAValue, SSAValue] | None = None
    _streams: int = 0
    _labels: Counter[str]

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.marked, self._labels = [], Counter()

    def label(self, name: str) -> str:
        """Return the label of a probe of that name: the name, for further ones with a number."""
        self._labels[name] += 1
        return name if self._labels[name] == 1 else f"{name}.{self._labels[name] - 1}"

    def dropout(self, x: SSAValue, p: float) -> SSAValue:
        """x with elements set to 0 with probability p, the others made larger: the next of the model's dropouts.

        Seed and offset of its random numbers are the states `random.seed` and `random.offset`; each run moves the second.
        """
        if self._seed is None:
            first, second = (self._number(name) for name in (SEED, OFFSET))
            self._seed = first, second
        self._streams += 1
        return self.nn("dropout", x, *self._seed, p=float(p), stream=self._streams - 1)

    def _number(self, name: str) -> SSAValue:
        """A state that starts as the integer 0."""
        return self._leaf(StateOp, {"sym": name, "value": LiteralAttr.of(np.array(0))}, Spec((), np.dtype(np.int64)), name)

    def moved(self) -> list[tuple[Port, SSAValue]]:
        """The new value of `random.offset`, if random numbers are drawn."""
        if self._seed is None:
            return []
        self.enter(OFFSET)
        return [(Port(OFFSET, updates=OFFSET), self.nn("add", self._seed[1], self.constant(np.array(1))))]

    @property
    def result(self) -> np.dtype:
        """The dtype of the current node's first result."""
        found = self.dtypes[0] if self.dtypes else None
        return np.dtype(np.float32) if found is None else found

    def cast(self, value: SSAValue, dtype: np.dtype) -> SSAValue:
        """The value in another dtype.  Raises Unsupported for complex ones."""
        if dtype.kind == "c":
            raise Unsupported("complex numbers")
        return super().cast(value, dtype)

    def operand(self, value: Operand, dtype: np.dtype) -> SSAValue:
        """The value, or a constant of rank 0 for a number, in that dtype."""
        return self.cast(value, dtype) if isinstance(value, SSAValue) else self.constant(np.array(value).astype(dtype))

    def promoted(self, *values: Operand) -> tuple[SSAValue, ...]:
        """The operands in the dtype that PyTorch computes them in (`torch.result_type`)."""
        dtype = self.common(*values)
        return tuple(self.operand(v, dtype) for v in values)

    def common(self, *values: Operand) -> np.dtype:
        """The dtype that PyTorch computes these operands in."""
        specs = [self.spec(v) for v in values if isinstance(v, SSAValue)]
        numbers = [v for v in values if not isinstance(v, SSAValue)]
        return promoted_dtype([s.dtype for s in specs if s.shape], [s.dtype for s in specs if not s.shape], numbers)
