"""Gradients of recurrent layers: backward through time.

States of all steps but the cell's own are in the layer's result, so that the products of all steps are computed again at once; going back,
each step takes the products' cotangents to the step before it, and those of the weights are products over all steps together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike
from xdsl.ir import Attribute, Operation, SSAValue

from ttc.dialects.core.records import record
from ttc.dialects.nn.base import NNOp
from ttc.dialects.nn.cells import CELLS, Cell, SummingCell, rows
from ttc.dialects.nn.gradients.base import Cotangents, GradientSite, cotangent, gradient, product
from ttc.dialects.nn.gradients.reverse import pull_back
from ttc.dialects.nn.making import OpMaker, part, zeros

MAX_STEPS = 1 << 12
"""The most steps, of both directions together, that are written out."""
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


@gradient("nn.rnn", "nn.gru", "nn.lstm")
def recurrent(b: OpMaker, site: GradientSite) -> Cotangents:
    """Return cotangents of a recurrent layer, each direction by itself; see `_Direction`."""
    steps, samples, _ = b.shape(site.operand(0))
    directions = b.shape(site.operand(1))[0]
    if steps * directions > MAX_STEPS:
        site.refuse(b, f"{steps} steps are too many to be written out; at most {MAX_STEPS} are")
    if not steps * samples * b.shape(site.y)[-1]:
        return [None if x is None or not wanted else zeros(b, x) for x, wanted in zip(site.operands, site.wanted, strict=True)]
    found: list[list[SSAValue | None]] = [_Direction(b, site, d).cotangents() for d in range(directions)]
    return [_summed(b, [row[i] for row in found]) for i in range(len(site.operands))]


def _summed(b: OpMaker, parts: Sequence[SSAValue | None]) -> SSAValue | None:
    present = [x for x in parts if x is not None]
    total = present[0] if present else None
    for x in present[1:]:
        total = x if total is None else b.nn("add", total, x)
    return total


@record(frozen=False)
class _Step:
    """A step as it was computed again.

    Args:    ops: of its cell.  inputs: the step's parts of what was computed for all steps.  old, new: states before and after it.
             running: tensor[n, 1], bool: samples whose sequence goes on; absent: all.
    """

    ops: list[Operation]
    inputs: Values
    old: Values
    new: Values
    running: SSAValue | None


class _Direction:
    """One direction of a layer: it is computed again, then gone through backward."""

    def __init__(self, b: OpMaker, site: GradientSite, d: int) -> None:
        self._b, self._site, self._d = b, site, d
        operands = [*site.operands, None, None]
        self._x, self._w, self._r, self._bias, self._lengths = operands[:5]
        self._starts = operands[5 : 5 + len(site.results) - 1]
        self._peepholes = operands[7] if site.name == "nn.lstm" else None
        self._shared = Recorder(b)
        self._steps, self._samples, _ = b.shape(site.operand(0))
        self._size = b.shape(site.operand(2))[2]
        self._backward = site.attrs["direction"] == "reverse" or d == 1

    def cotangents(self) -> list[SSAValue | None]:
        """Return cotangents of all operands of the layer, as far as this direction reads them."""
        b, shared = self._b, self._shared
        cell = self._cell(shared)
        self._own_cell = replace(cell)
        held = [self._start(shared, value) for value in self._starts]
        before = self._states_before(held[0])
        gates = cell.product(self._site.operand(0), rows(shared, self._site.operand(1), self._d), cell.input_bias())
        weights = cell.weights()
        products = [cell.product(before, *weight) for weight in weights]
        inputs = [shared.nn("add", gates, *products)] if isinstance(cell, SummingCell) else [gates, *products]
        order = list(range(self._steps))[:: -1 if self._backward else 1]
        steps: dict[int, _Step] = {}
        for t in order:
            states = [rows(b, before, t), *held[1:]]
            steps[t] = self._again(t, [rows(b, value, t) for value in inputs], states)
            held = [steps[t].new[0], *self._kept(steps[t], steps[t].new, states)[1:]]
        ends = [self._of_end(i) for i in range(len(held))]
        parts: dict[int, Values] = {}
        extra: dict[SSAValue, Values] = {}
        for t in reversed(order):
            ends, parts[t] = self._back(t, steps[t], ends, [weight for weight, _ in weights], extra)
        seeds = {value: self._stacked([parts[t][i] for t in range(self._steps)]) for i, value in enumerate(inputs)}
        for value, found in extra.items():
            total = _summed(b, found)
            if total is not None:
                seeds[value] = total
        return self._to_operands(seeds, ends)

    def _to_operands(self, seeds: dict[SSAValue, SSAValue], ends: Values) -> list[SSAValue | None]:
        """From cotangents of what was computed for all steps, and of the first states, to those of the layer's operands."""
        site, b = self._site, self._b
        states = {5 + i: value for i, value in enumerate(ends)}
        wanted = [x for i, x in enumerate(site.operands) if x is not None and site.wanted[i] and i not in states]
        found = pull_back(b, self._shared.ops, seeds, wanted)
        directions = b.shape(site.operand(1))[0]
        rest: list[SSAValue | None] = []
        for i, x in enumerate(site.operands):
            if x is None or not site.wanted[i]:
                rest.append(None)
            elif i in states:
                own = b.reshape(states[i], 1, self._samples, self._size)
                none = zeros(b, own, (1, self._samples, self._size)) if directions > 1 else own
                rest.append(b.nn("concat", *(own if d == self._d else none for d in range(directions)), axis=0) if directions > 1 else own)
            else:
                rest.append(found.get(x))
        return rest

    def _cell(self, b: OpMaker) -> Cell:
        """Return the cell, with the weights of this direction."""
        bias, peepholes = (None if x is None else rows(b, x, self._d) for x in (self._bias, self._peepholes))
        return CELLS[self._site.name](b, self._site.attrs, rows(b, self._site.operand(2), self._d), bias, peepholes, self._d)

    def _start(self, b: OpMaker, state: SSAValue | None) -> SSAValue:
        return zeros(b, self._site.y, (self._samples, self._size)) if state is None else rows(b, state, self._d)

    def _states_before(self, first: SSAValue) -> SSAValue:
        """[t, n, k]: the outputs before each step, which the layer's result holds."""
        b, site, steps = self._b, self._site, self._steps
        start = b.reshape(first, 1, self._samples, self._size)
        if steps == 1:
            return start
        y = b.reshape(part(b, site.y, 1, self._d, 1), steps, self._samples, self._size)
        if not self._backward:
            return b.nn("concat", start, part(b, y, 0, 0, steps - 1), axis=0)
        found = b.nn("concat", part(b, y, 0, 1, steps - 1), start, axis=0)
        if self._lengths is None:
            return found
        begun = b.nn("greater", b.reshape(self._lengths, 1, self._samples, 1), self._numbers(1))
        return b.nn("where", begun, found, start)

    def _numbers(self, first: int) -> SSAValue:
        """[t, 1, 1]: numbers of steps from the first on, in the dtype of lengths."""
        assert self._lengths is not None
        numbers = np.arange(first, first + self._steps).reshape(self._steps, 1, 1)
        return self._b.constant(numbers, self._b.dtype(self._lengths))

    def _again(self, t: int, inputs: Values, old: Values) -> _Step:
        """Compute a step of the forward direction again, and record its ops."""
        b = self._b
        recorder = Recorder(b)
        cell = self._own_cell
        cell.b = recorder
        if isinstance(cell, SummingCell):
            new = cell.of_sum(inputs[0], old)
        else:
            new = cell.combine(inputs[0], lambda number: inputs[1 + number], old)
        running = None
        if self._lengths is not None:
            running = b.nn("greater", b.reshape(self._lengths, self._samples, 1), b.constant(t, b.dtype(self._lengths)))
        return _Step(recorder.ops, inputs, old, new, running)

    def _kept(self, step: _Step, new: Values, old: Values) -> Values:
        """New states, old ones where the sequence is over."""
        if step.running is None:
            return new
        return [self._b.nn("where", step.running, n, o) for n, o in zip(new, old, strict=True)]

    def _of_end(self, index: int) -> SSAValue:
        """Return the cotangent of a state after the last step."""
        return rows(self._b, cotangent(self._b, self._site, 1 + index), self._d)

    def _back(self, t: int, step: _Step, ends: Values, weights: Values, extra: dict[SSAValue, Values]) -> tuple[Values, Values]:
        """Cotangents of the states before a step and of its inputs; those of what else the cell reads are added to `extra`."""
        b, none = self._b, zeros(self._b, ends[0])
        of_new = list(ends)
        if self._site.cotangents[0] is not None:
            of_y = rows(b, part(b, self._site.cotangents[0], 1, self._d, 1), t)
            of_new[0] = b.nn("add", ends[0], b.reshape(of_y, self._samples, self._size))
        if step.running is not None:
            of_new = [b.nn("where", step.running, x, none) for x in of_new]
        others = [x for x in (self._own_cell.r, self._own_cell.bias, self._own_cell.peepholes) if x is not None]
        seeds: dict[SSAValue, SSAValue] = dict(zip(step.new, of_new, strict=True))
        found = pull_back(b, step.ops, seeds, [*step.inputs, *step.old, *others])
        for value in others:
            if value in found:
                extra.setdefault(value, []).append(found[value])
        of_inputs = [found[x] if x in found else zeros(b, x) for x in step.inputs]
        passed = [product(b, value, weight) for value, weight in zip(of_inputs[-len(weights) :], weights, strict=True)]
        of_old = [_summed(b, [found.get(x), *(passed if i == 0 else ())]) or none for i, x in enumerate(step.old)]
        if step.running is not None:
            of_old = [b.nn("where", step.running, x, end) for x, end in zip(of_old, ends, strict=True)]
        return of_old, of_inputs

    def _stacked(self, parts: Values) -> SSAValue:
        """Return the parts of all steps along a new first dimension."""
        b = self._b
        apart = [b.reshape(x, 1, *b.shape(x)) for x in parts]
        return b.nn("concat", *apart, axis=0) if len(apart) > 1 else apart[0]
