"""The builder of PyTorch's mappings: what PyTorch says of a node's results, and its promotion of operands."""

from __future__ import annotations

from collections import Counter
from typing import Any, TypeAlias

import numpy as np

from ttc.dialects.core.ir.values import SSAValue
from ttc.importers.common.builder import Builder
from ttc.importers.common.unsupported import Unsupported
from ttc.importers.torch.dtypes import promoted_dtype

Operand: TypeAlias = "SSAValue | bool | int | float"
"""An operand where a schema has a tensor: a value, or a number that PyTorch wraps."""


class TorchBuilder(Builder):
    """Makes ops for the nodes of a graph.

    Attributes:
        expected: what PyTorch's tracing found the current node to give: fake tensors, among others.
        dtypes: of these; None for a result that is no tensor.
    """

    expected: tuple[Any, ...] = ()
    dtypes: tuple[np.dtype | None, ...] = ()
    marked: list[SSAValue]
    """Values that are marked as losses, in the order of the graph."""
    _labels: Counter[str]

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.marked, self._labels = [], Counter()

    def label(self, name: str) -> str:
        """Return the label of a probe of that name: the name, for further ones with a number."""
        self._labels[name] += 1
        return name if self._labels[name] == 1 else f"{name}.{self._labels[name] - 1}"

    @property
    def result(self) -> np.dtype:
        """The dtype of the current node's first result."""
        found = self.dtypes[0] if self.dtypes else None
        return np.dtype(np.float32) if found is None else found

    def cast(self, value: SSAValue, dtype: np.dtype) -> SSAValue:
        """Return the value in another dtype.  Raises Unsupported for complex ones."""
        if dtype.kind == "c":
            raise Unsupported("complex numbers")
        return super().cast(value, dtype)

    def operand(self, value: Operand, dtype: np.dtype) -> SSAValue:
        """Return the value, or a constant of rank 0 for a number, in that dtype."""
        return self.cast(value, dtype) if isinstance(value, SSAValue) else self.constant(np.array(value).astype(dtype))

    def promoted(self, *values: Operand) -> tuple[SSAValue, ...]:
        """Return the operands in the dtype that PyTorch computes them in (`torch.result_type`)."""
        dtype = self.common(*values)
        return tuple(self.operand(v, dtype) for v in values)

    def common(self, *values: Operand) -> np.dtype:
        """Return the dtype that PyTorch computes these operands in."""
        specs = [self.spec(v) for v in values if isinstance(v, SSAValue)]
        numbers = [v for v in values if not isinstance(v, SSAValue)]
        return promoted_dtype([s.dtype for s in specs if s.shape], [s.dtype for s in specs if not s.shape], numbers)
