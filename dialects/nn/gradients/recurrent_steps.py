"""Gradients of recurrent layers step by step: for cells that multiply a state twice in a step."""

from __future__ import annotations

from dataclasses import replace

from xdsl.ir import Operation, SSAValue

from ttc.dialects.core.records import record
from ttc.dialects.nn.cells import Cell, SummingCell, rows
from ttc.dialects.nn.gradients.base import GradientSite, product
from ttc.dialects.nn.gradients.recurrent_layer import Direction, Recorder, Values, summed
from ttc.dialects.nn.gradients.reverse import pull_back
from ttc.dialects.nn.making import part, zeros


@record
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


class WrittenOut(Direction):
    """A direction that is computed again, then gone through backward, by ops of their own for each step."""

    @staticmethod
    def writes_steps(site: GradientSite) -> bool:
        return True

    def cotangents(self) -> list[SSAValue | None]:
        b, again = self.b, self.again()
        self._own_cell = replace(again.cell)
        held, inputs, order = again.held, again.inputs, self.order
        steps: dict[int, _Step] = {}
        for t in order:
            states = [rows(b, again.before, t), *held[1:]]
            steps[t] = self._again(t, [rows(b, value, t) for value in inputs], states)
            held = [steps[t].new[0], *self._kept(steps[t], steps[t].new, states)[1:]]
        ends = [self.of_end(i) for i in range(len(held))]
        parts: dict[int, Values] = {}
        extra: dict[SSAValue, Values] = {}
        weights = [weight for weight, _ in again.cell.weights()]
        for t in reversed(order):
            ends, parts[t] = self._back(t, steps[t], ends, weights, extra)
        seeds = {value: self._stacked([parts[t][i] for t in range(self.steps)]) for i, value in enumerate(inputs)}
        for value, found in extra.items():
            total = summed(b, found)
            if total is not None:
                seeds[value] = total
        return self.to_operands(seeds, ends)

    def _again(self, t: int, inputs: Values, old: Values) -> _Step:
        """Compute a step of the forward direction again, and record its ops."""
        b = self.b
        recorder = Recorder(b)
        cell: Cell = self._own_cell
        cell.b = recorder
        if isinstance(cell, SummingCell):
            new = cell.of_sum(inputs[0], old)
        else:
            new = cell.combine(inputs[0], lambda number: inputs[1 + number], old)
        running = None
        if self.lengths is not None:
            running = b.nn("greater", b.reshape(self.lengths, self.samples, 1), b.constant(t, b.dtype(self.lengths)))
        return _Step(recorder.ops, inputs, old, new, running)

    def _kept(self, step: _Step, new: Values, old: Values) -> Values:
        """New states, old ones where the sequence is over."""
        if step.running is None:
            return new
        return [self.b.nn("where", step.running, n, o) for n, o in zip(new, old, strict=True)]

    def _back(self, t: int, step: _Step, ends: Values, weights: Values, extra: dict[SSAValue, Values]) -> tuple[Values, Values]:
        """Cotangents of the states before a step and of its inputs; those of what else the cell reads are added to `extra`."""
        b, none = self.b, zeros(self.b, ends[0])
        of_new = list(ends)
        if self.site.cotangents[0] is not None:
            of_y = rows(b, part(b, self.site.cotangents[0], 1, self.d, 1), t)
            of_new[0] = b.nn("add", ends[0], b.reshape(of_y, self.samples, self.size))
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
        of_old = [summed(b, [found.get(x), *(passed if i == 0 else ())]) or none for i, x in enumerate(step.old)]
        if step.running is not None:
            of_old = [b.nn("where", step.running, x, end) for x, end in zip(of_old, ends, strict=True)]
        return of_old, of_inputs

    def _stacked(self, parts: Values) -> SSAValue:
        """Return the parts of all steps along a new first dimension."""
        b = self.b
        apart = [b.reshape(x, 1, *b.shape(x)) for x in parts]
        return b.nn("concat", *apart, axis=0) if len(apart) > 1 else apart[0]
