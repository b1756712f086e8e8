"""One direction of a recurrent layer whose gradient is taken: what it computes again, and where cotangents go from there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike
from xdsl.ir import Attribute, Operation, SSAValue

from ttc.dialects.core.records import record
from ttc.dialects.nn.base import NNOp
from ttc.dialects.nn.cells import CELLS, Cell, GruCell, LstmCell, SummingCell, rows
from ttc.dialects.nn.gradients.base import GradientSite, cotangent
from ttc.dialects.nn.gradients.reverse import pull_back
from ttc.dialects.nn.making import OpMaker, part, zeros

Values = list[SSAValue]


class Recorder(OpMaker):
    """Makes ops as another maker does, and keeps them."""

    def __init__(self, b: OpMaker) -> None:
        self._b = b
        self.ops: list[Operation] = []

    @property
    def location(self) -> Attribute:
        return self._b.location

    def place(self, op: NNOp) -> tuple[SSAValue, ...]:
        self.ops.append(op)
        return self._b.place(op)

    def constant(self, value: ArrayLike, dtype: np.dtype | None = None) -> SSAValue:
        return self._b.constant(value, dtype)


@record
class Again:
    """A direction as it is computed again for all steps.

    Args:    cell: that of the direction.  held: its first states [n, k].  before: tensor[t, n, k]: outputs before each step.
             inputs: what cells read of all steps, [t, n, columns] each: sums of all products, or products of the inputs, then of the state,
             or of what is kept of it.
    """

    cell: Cell
    held: Values
    before: SSAValue
    inputs: Values


class Direction:
    """One direction of a layer."""

    def __init__(self, b: OpMaker, site: GradientSite, d: int) -> None:
        self.b, self.site, self.d = b, site, d
        operands = [*site.operands, None, None]
        lstm = issubclass(CELLS[site.name], LstmCell)
        self.bias, self.lengths = operands[3:5]
        self.first = operands[5:7] if lstm else operands[5:6]
        self.peepholes = operands[7] if lstm else None
        self.shared = Recorder(b)
        self.steps, self.samples, _ = b.shape(site.operand(0))
        self.size = b.shape(site.operand(2))[2]
        self.backward = site.attrs["direction"] == "reverse" or d == 1

    @property
    def order(self) -> list[int]:
        """The steps in the order in which the layer computes them."""
        return list(range(self.steps))[:: -1 if self.backward else 1]

    def again(self) -> Again:
        """Compute what the cells read in all steps again, by ops that are recorded in `shared`."""
        shared, site = self.shared, self.site
        cell = self._cell(shared)
        held = [self._start(shared, value) for value in self.first]
        before = self._states_before(held[0])
        gates = cell.product(site.operand(0), rows(shared, site.operand(1), self.d), cell.input_bias())
        products = [cell.product(before, *weight) for weight in cell.weights()]
        if isinstance(cell, GruCell) and cell.resets_first:
            products.append(cell.product(self._kept(cell, gates, products[0], before), *cell.last_weights()))
        inputs = [shared.nn("add", gates, *products)] if isinstance(cell, SummingCell) else [gates, *products]
        return Again(cell, held, before, inputs)

    def _kept(self, cell: GruCell, gates: SSAValue, product: SSAValue, before: SSAValue) -> SSAValue:
        """[t, n, k]: what the reset gate keeps of the states before each step; not recorded, as its cotangent is known."""
        b, k = self.b, self.size
        return replace(cell, b=b).kept(b.nn("add", part(b, gates, 2, k, k), part(b, product, 2, k, k)), before)

    def to_operands(self, seeds: dict[SSAValue, SSAValue], ends: Values) -> list[SSAValue | None]:
        """From cotangents of what was computed for all steps, and of the first states, to those of the layer's operands."""
        site, b = self.site, self.b
        states = {5 + i: value for i, value in enumerate(ends)}
        wanted = [x for i, x in enumerate(site.operands) if x is not None and site.wanted[i] and i not in states]
        found = pull_back(b, self.shared.ops, seeds, wanted)
        directions = b.shape(site.operand(1))[0]
        rest: list[SSAValue | None] = []
        for i, x in enumerate(site.operands):
            if x is None or not site.wanted[i]:
                rest.append(None)
            elif i in states:
                own = b.reshape(states[i], 1, self.samples, self.size)
                none = zeros(b, own, (1, self.samples, self.size)) if directions > 1 else own
                rest.append(b.nn("concat", *(own if d == self.d else none for d in range(directions)), axis=0) if directions > 1 else own)
            else:
                rest.append(found.get(x))
        return rest

    def _cell(self, b: OpMaker) -> Cell:
        """Return the cell, with the weights of this direction."""
        bias, peepholes = (None if x is None else rows(b, x, self.d) for x in (self.bias, self.peepholes))
        return CELLS[self.site.name](b, self.site.attrs, rows(b, self.site.operand(2), self.d), bias, peepholes, self.d)

    def _start(self, b: OpMaker, state: SSAValue | None) -> SSAValue:
        return zeros(b, self.site.y, (self.samples, self.size)) if state is None else rows(b, state, self.d)

    def _states_before(self, first: SSAValue) -> SSAValue:
        """[t, n, k]: the outputs before each step, which the layer's result holds."""
        b = self.b
        found = self.shifted(self.of_direction(self.site.y), first)
        if self.lengths is None or not self.backward or self.steps == 1:
            return found
        begun = b.nn("greater", b.reshape(self.lengths, 1, self.samples, 1), self.numbers(1))
        return b.nn("where", begun, found, b.reshape(first, 1, self.samples, self.size))

    def of_direction(self, value: SSAValue) -> SSAValue:
        """Return what a value [t, d, n, columns] holds of this direction, [t, n, columns]."""
        b = self.b
        return b.reshape(part(b, value, 1, self.d, 1), self.steps, self.samples, b.shape(value)[-1])

    def shifted(self, after: SSAValue, first: SSAValue) -> SSAValue:
        """[t, n, k]: states before each step, given those after each, and the first one [n, k]."""
        b = self.b
        start = b.reshape(first, 1, self.samples, self.size)
        if self.steps == 1:
            return start
        kept = part(b, after, 0, 1 if self.backward else 0, self.steps - 1)
        return b.nn("concat", *((kept, start) if self.backward else (start, kept)), axis=0)

    def numbers(self, first: int) -> SSAValue:
        """[t, 1, 1]: numbers of steps from the first on, in the dtype of lengths."""
        assert self.lengths is not None
        numbers = np.arange(first, first + self.steps).reshape(self.steps, 1, 1)
        return self.b.constant(numbers, self.b.dtype(self.lengths))

    def of_end(self, index: int) -> SSAValue:
        """Return the cotangent of a state after the last step."""
        return rows(self.b, cotangent(self.b, self.site, 1 + index), self.d)


def summed(b: OpMaker, parts: Sequence[SSAValue | None]) -> SSAValue | None:
    """Return the sum of cotangents, of which some may be absent."""
    present = [x for x in parts if x is not None]
    total = present[0] if present else None
    for x in present[1:]:
        total = x if total is None else b.nn("add", total, x)
    return total
