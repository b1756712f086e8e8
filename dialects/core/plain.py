"""Plain functions: the form of IR that runs, without xDSL.

A `Function` is a list of `Work` (one op each) over numbered values: inputs first, then the results of each work in order.  nn and tile
functions, derived tensors, and the work of a netlist op all take this form; archives hold it, engines run it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

Plain: TypeAlias = "None | bool | int | float | str | tuple[Plain, ...]"
"""What an attribute can be: a scalar, or nested tuples of them."""


@dataclass(frozen=True, slots=True)
class TensorType:
    """shape in elements (-1 where it depends on data), data format by name, layout: `rows`, or `tiles(h, w)` (text of the tile type)."""

    shape: tuple[int, ...]
    format: str
    layout: str = "rows"


@dataclass(frozen=True, slots=True)
class Work:
    """One op.

    Args:
        op: full name, such as `tile.matmul`.
        operands: value numbers; None for an optional operand that is absent.
        attrs: attributes by name.
        results: types of the results.
        body: the region, for ops that have one; its inputs are the operands.
        location: source names, such as ONNX nodes.
    """

    op: str
    operands: tuple[int | None, ...]
    attrs: dict[str, Plain]
    results: tuple[TensorType, ...]
    body: Function | None = None
    location: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Function:
    """inputs: their types; works in order; outputs: value numbers."""

    inputs: tuple[TensorType, ...]
    works: tuple[Work, ...]
    outputs: tuple[int, ...]
    _last_use: dict[int, int] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def value_types(self) -> list[TensorType]:
        """Types of all values, by number."""
        types = list(self.inputs)
        for work in self.works:
            types.extend(work.results)
        return types

    def last_use(self) -> dict[int, int]:
        """Value number -> index of the last work that reads it; outputs are absent (they live on)."""
        if not self._last_use:
            for index, work in enumerate(self.works):
                for operand in work.operands:
                    if operand is not None:
                        self._last_use[operand] = index
            for value in self.outputs:
                self._last_use.pop(value, None)
        return self._last_use
