"""Gradients of recurrent layers by factors: what a step does to cotangents, for all steps at once; `nn.recurrent_gradient` applies them.

A cell treats each element of its states by itself, so that its derivatives are one number for each of them: the cotangents that its ops
give for cotangents of 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from xdsl.ir import Operation, SSAValue

from ttc.dialects.core.records import record
from ttc.dialects.nn.cells import GruCell, LstmCell, SummingCell, cut, rows
from ttc.dialects.nn.gradients.base import total
from ttc.dialects.nn.gradients.recurrent_layer import Again, Direction, Recorder, Values
from ttc.dialects.nn.gradients.reverse import pull_back
from ttc.dialects.nn.making import filled, part, zeros

_KEPT = "nn.lstm_training"
_SUMS, _CELLS = 3, 4
"""The numbers of the results of that op that hold the sums and the cells of all steps."""


@record
class _Cells:
    """The cells of all steps at once, their rows being those of all steps, [t n, k].

    Args:    recorder: has their ops.  parts: the sums that they read.  old, new: states before and after each step.
             kept: what a step multiplies that it has computed itself, by ops after those of the states; None if there is no such product.
    """

    recorder: Recorder
    parts: Values
    old: Values
    new: Values
    kept: SSAValue | None


class ByFactors(Direction):
    """A direction whose cells are differentiated for all steps at once."""

    def cotangents(self) -> list[SSAValue | None]:
        """Return cotangents of all operands of the layer, as far as this direction reads them."""
        b, again = self.b, self.again()
        running = None
        if self.lengths is not None:
            running = b.nn("greater", b.reshape(self.lengths, 1, self.samples, 1), self.numbers(0))
        cells = self._cells(again, running)
        terms = self._terms(cells)
        factors = self._factors(terms, running, len(cells.old))
        sources, targets = (tuple(places) for places in zip(*factors, strict=True))
        joined = b.nn("concat", *factors.values(), axis=2) if len(factors) > 1 else next(iter(factors.values()))
        ends = [b.reshape(self.of_end(i), 1, self.samples, self.size) for i in range(len(cells.old))]
        operands = joined, rows(b, self.site.operand(2), self.d), self._of_outputs(running), b.nn("concat", *ends, axis=0)
        attrs = {"sources": sources, "targets": targets, "sums": len(cells.parts), "inner": int(cells.kept is not None)}
        attrs["reverse"] = self.backward
        of_sums, starts = b.nn_all("recurrent_gradient", *operands, **attrs)
        seeds = self._seeds(again, of_sums)
        if again.cell.peepholes is not None:
            seeds[again.cell.peepholes] = self._of_peepholes(cells, of_sums)
        return self.to_operands(seeds, [rows(b, starts, i) for i in range(len(ends))])

    def _cells(self, again: Again, running: SSAValue | None) -> _Cells:
        """Compute the cells of all steps."""
        parts = self._parts(again)
        old = [self._flat(again.before)]
        if isinstance(again.cell, LstmCell):
            old.append(self._flat(self._cells_before(again, parts, running)))
        recorder = Recorder(self.b)
        cell = replace(again.cell, b=recorder)
        new = cell.of_parts(parts, old)
        kept = cell.kept(parts[1], old[0]) if isinstance(cell, GruCell) and cell.resets_first else None
        return _Cells(recorder, parts, old, new, kept)

    def _parts(self, again: Again) -> Values:
        """Return the sums that the cells read, [t n, k] each."""
        b = self.b
        if isinstance(again.cell, SummingCell):
            sums = self.of_direction(self.site.results[_SUMS]) if self.site.name == _KEPT else again.inputs[0]
            flat = self._flat(sums)
            return cut(b, flat, 1, b.shape(flat)[1] // self.size)
        assert isinstance(again.cell, GruCell)
        gates, *products = (self._flat(value) for value in again.inputs)
        *both, entering = cut(b, gates, 1, 3)
        sums = [b.nn("add", x, y) for x, y in zip(both, cut(b, products[0], 1, 2), strict=True)]
        return [*sums, b.nn("add", entering, products[1])] if again.cell.resets_first else [*sums, products[1], entering]

    def _cells_before(self, again: Again, parts: Values, running: SSAValue | None) -> SSAValue:
        """[t, n, k]: the cell's own states before each step: as the layer kept them, or computed step by step."""
        b = self.b
        if self.site.name == _KEPT:
            return self.shifted(self.of_direction(self.site.results[_CELLS]), again.held[1])
        steps = [b.reshape(x, self.steps, self.samples, self.size) for x in parts]
        cell, states = replace(again.cell, b=b), again.held
        found: dict[int, SSAValue] = {}
        for t in self.order:
            found[t] = b.reshape(states[1], 1, self.samples, self.size)
            new = cell.of_parts([rows(b, x, t) for x in steps], states)[1]
            states = [states[0], new if running is None else b.nn("where", rows(b, running, t), new, states[1])]
        return b.nn("concat", *(found[t] for t in range(self.steps)), axis=0) if self.steps > 1 else found[0]

    def _terms(self, cells: _Cells) -> dict[tuple[int, int], SSAValue]:
        """Return derivatives of states after a step by source and target slots; a state that others are computed from comes after these."""
        ops, states = cells.recorder.ops, len(cells.new)
        ends = {i: 1 + next(n for n, op in enumerate(ops) if value in op.results) for i, value in enumerate(cells.new)}
        order = sorted(ends, key=lambda i: -ends[i])
        found: dict[tuple[int, int], SSAValue] = {}
        for number, i in enumerate(order):
            earlier = order[number + 1 :]
            begin = ends[earlier[0]] if earlier else 0
            slots = {j: cells.new[j] for j in earlier}
            slots |= {states + j: value for j, value in enumerate(cells.old)} | {2 * states + j: x for j, x in enumerate(cells.parts)}
            seed = {cells.new[i]: filled(self.b, 1.0, cells.new[i])}
            derivatives = pull_back(self.b, ops[begin : ends[i]], seed, slots.values())
            found |= {(i, slot): derivatives[value] for slot, value in slots.items() if value in derivatives}
        return found | self._inner_terms(cells, ops[ends[order[0]] :])

    def _inner_terms(self, cells: _Cells, ops: Sequence[Operation]) -> dict[tuple[int, int], SSAValue]:
        """Return derivatives of what a step multiplies within itself, by slots.  ops: that compute it."""
        if cells.kept is None:
            return {}
        states = len(cells.old)
        slots = {states: cells.old[0], 2 * states + 1: cells.parts[1]}
        derivatives = pull_back(self.b, ops, {cells.kept: filled(self.b, 1.0, cells.kept)}, slots.values())
        return {(2 * states + len(cells.parts), slot): derivatives[value] for slot, value in slots.items()}

    def _factors(self, terms: dict[tuple[int, int], SSAValue], running: SSAValue | None, states: int) -> dict[tuple[int, int], SSAValue]:
        """Return [t, n, k] factors by source and target slots: where a sequence is over, cotangents of states pass and others are 0."""
        b = self.b
        found = {slots: b.reshape(value, self.steps, self.samples, self.size) for slots, value in terms.items()}
        if running is None:
            return found
        some = next(iter(found.values()))
        none, one = zeros(b, some), filled(b, 1.0, some)
        passing = {(i, states + i) for i in range(states)}
        over = {slots: one if slots in passing else none for slots in found}
        masked = {slots: b.nn("where", running, value, over[slots]) for slots, value in found.items()}
        return {slots: b.nn("where", running, none, one) for slots in sorted(passing - set(found))} | masked

    def _of_outputs(self, running: SSAValue | None) -> SSAValue:
        """[t, n, k]: cotangents of the outputs, 0 beyond the sequences."""
        b, found = self.b, self.site.cotangents[0]
        if found is None:
            return zeros(b, self.site.y, (self.steps, self.samples, self.size))
        own = self.of_direction(found)
        return own if running is None else b.nn("where", running, own, zeros(b, own))

    def _seeds(self, again: Again, of_sums: SSAValue) -> dict[SSAValue, SSAValue]:
        """Return cotangents of what was computed for all steps."""
        b, k = self.b, self.size
        if not isinstance(again.cell, GruCell):
            return {again.inputs[0]: of_sums}
        gates, both, last = again.inputs
        if again.cell.resets_first:
            return {gates: of_sums, both: part(b, of_sums, 2, 0, 2 * k), last: part(b, of_sums, 2, 2 * k, k)}
        of_both, of_last, of_entering = part(b, of_sums, 2, 0, 2 * k), part(b, of_sums, 2, 2 * k, k), part(b, of_sums, 2, 3 * k, k)
        return {gates: b.nn("concat", of_both, of_entering, axis=2), both: of_both, last: of_last}

    def _of_peepholes(self, cells: _Cells, of_sums: SSAValue) -> SSAValue:
        """[3 k]: what each gate takes of the cell's state, of the new one for the output, summed over steps and samples."""
        b = self.b
        seen = cells.old[1], cells.new[1], cells.old[1]
        gates = cut(b, self._flat(of_sums), 1, 4)[:3]
        return b.nn("concat", *(total(b, b.nn("mul", x, y), (0,)) for x, y in zip(gates, seen, strict=True)), axis=0)

    def _flat(self, value: SSAValue) -> SSAValue:
        """Return [t, n, columns] as [t n, columns]."""
        return self.b.reshape(value, self.steps * self.samples, self.b.shape(value)[-1])
