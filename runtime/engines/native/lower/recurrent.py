"""Recurrent layers: what their cells do in a step."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from ttc.runtime.engines.native.graph.region import Region, RegionBuilder
from ttc.runtime.engines.native.graph.tensors import View
from ttc.runtime.engines.native.jobs.copies import copied, copy
from ttc.runtime.engines.native.jobs.elementwise import compute_into
from ttc.runtime.engines.native.jobs.lowering import Lowering
from ttc.runtime.engines.native.jobs.products import Panels, left_operand, packed
from ttc.runtime.engines.native.jobs.recurrent import RecurrentLayer, cut_step, floats, row_strides
from ttc.runtime.engines.native.jobs.tile_choice import tile_parts
from ttc.runtime.engines.native.kernels.amx_block import ROWS
from ttc.runtime.engines.native.kernels.amx_parts import DEPTH
from ttc.runtime.engines.native.kernels.gemm_block import Block, narrow_block
from ttc.runtime.engines.native.kernels.lstm_step import LstmStep
from ttc.runtime.engines.native.lower import LOWERINGS

_ATTRIBUTES = ("direction", "activations", "alphas", "betas", "clip")


@LOWERINGS.rule("rnn")
def rnn(n: Lowering) -> None:
    """Lower a layer of simple recurrent cells: h' = f(x w^T + h r^T + bias)."""
    n.only(*_ATTRIBUTES)
    _Rnn(n).lower()


@LOWERINGS.rule("gru")
def gru(n: Lowering) -> None:
    """Lower a layer of gated recurrent units: h' = (1 - z) n + z h."""
    n.only(*_ATTRIBUTES, "linear_before_reset")
    kind = _LinearGru if n.attr("linear_before_reset", False) else _Gru
    kind(n).lower()


@LOWERINGS.rule("lstm")
def lstm(n: Lowering) -> None:
    """Lower a layer of long short-term memory: c' = forget c + input g(new), h' = output l(c')."""
    n.only(*_ATTRIBUTES, "input_forget")
    _Lstm(n).lower()


@LOWERINGS.rule("lstm_training")
def lstm_training(n: Lowering) -> None:
    """Lower a layer of long short-term memory that keeps its sums and cells."""
    n.only(*_ATTRIBUTES, "input_forget")
    _LstmTraining(n).lower()


class _Rnn(RecurrentLayer):
    GATES, FUNCTIONS = 1, 1
    _weights: Panels

    def input_bias(self, d: int) -> View | None:
        return self.sum_of_halves(d)

    def prepare(self, d: int) -> None:
        self._weights = self.panels(self.r.at(d), self.samples)
        self._new = self.gates(1)

    def start(self, d: int) -> list[View]:
        return [self.first(5, d)]

    def step(self, d: int, t: int, gates: View, states: list[View]) -> list[View]:
        steps = RegionBuilder(["f32", "f32"])
        new = self.activated(steps, steps("add", 0, 1), self.functions(d)[0])
        target = self.output(t, d) if self.lengths is None else self._new
        self.product(states[0], self._weights, steps.region(new), [gates], target)
        if self.lengths is not None:
            ended = RegionBuilder(self.storages(1, t))
            region = ended.region(self.while_running(ended, 1, 0, ended.number(0.0)))
            compute_into(self.n, region, [target, *self.running(t)], self.output(t, d))
        return [self.kept(t, d, states[0])]


class _LinearGru(RecurrentLayer):
    """The reset gate takes a part of the product of the state."""

    GATES, FUNCTIONS = 3, 2
    _weights: Panels

    def input_bias(self, d: int) -> View | None:
        return None if self.bias is None else self.bias.at(d).sliced(0, 0, 3 * self.hidden)

    def inner_bias(self, d: int) -> list[View]:
        """Return the biases of the state: one view, or none."""
        return [] if self.bias is None else [self.bias.at(d).sliced(0, 3 * self.hidden, 3 * self.hidden)]

    def prepare(self, d: int) -> None:
        self._weights = self.panels(self.r.at(d), self.samples)
        self._inner = self.gates(3)

    def start(self, d: int) -> list[View]:
        return [self.first(5, d)]

    def step(self, d: int, t: int, gates: View, states: list[View]) -> list[View]:
        bias = self.inner_bias(d)
        own = RegionBuilder(floats(1 + len(bias)))
        self.product(states[0], self._weights, own.region(own("add", 0, 1) if bias else 0), bias, self._inner)
        f, g = self.functions(d)
        steps = RegionBuilder(self.storages(7, t))
        update, reset = (self.activated(steps, steps("add", i, i + 3), f) for i in range(2))
        new = self.activated(steps, steps("add", 2, steps("mul", reset, 5)), g)
        self.finish(d, t, steps, (update, new, 6), [*(self.part(view, i) for view in (gates, self._inner) for i in range(3)), states[0]])
        return [self.kept(t, d, states[0])]

    def finish(self, d: int, t: int, steps: RegionBuilder, values: tuple[int, int, int], xs: list[View]) -> None:
        """The output of a step: (1 - update) * new + update * state."""
        update, new, state = values
        rest = steps("sub", steps.number(1.0), update)
        found = steps("add", steps("mul", rest, new), steps("mul", update, state))
        region = steps.region(self.while_running(steps, len(xs), found, steps.number(0.0)))
        compute_into(self.n, region, [*xs, *self.running(t)], self.output(t, d))


class _Gru(_LinearGru):
    """The reset gate takes a part of the state before it is multiplied."""

    _last: Panels

    def prepare(self, d: int) -> None:
        r = self.r.at(d)
        self._weights = self.panels(r.sliced(0, 0, 2 * self.hidden), self.samples)
        self._last = self.panels(r.sliced(0, 2 * self.hidden, self.hidden), self.samples)
        self._inner, self._new, self._part = self.gates(2), self.gates(1), self.gates(1)

    def step(self, d: int, t: int, gates: View, states: list[View]) -> list[View]:
        bias = self.inner_bias(d)
        sums = RegionBuilder(floats(2 + len(bias)))
        total = sums("add", 0, 1)
        region = sums.region(sums("add", total, 2) if bias else total)
        self.product(states[0], self._weights, region, [self.part(gates, 0, 2), *(self.part(b, 0, 2) for b in bias)], self._inner)
        f, g = self.functions(d)
        kept = RegionBuilder(["f32", "f32"])
        region_of_state = kept.region(kept("mul", self.activated(kept, 0, f), 1))
        compute_into(self.n, region_of_state, [self.part(self._inner, 1), states[0]], self._part)
        self.product(self._part, self._last, region, [self.part(gates, 2), *(self.part(b, 2) for b in bias)], self._new)
        steps = RegionBuilder(self.storages(3, t))
        values = (self.activated(steps, 0, f), self.activated(steps, 1, g), 2)
        self.finish(d, t, steps, values, [self.part(self._inner, 0), self._new, states[0]])
        return [self.kept(t, d, states[0])]


class _Lstm(RecurrentLayer):
    GATES, FUNCTIONS = 4, 3
    KEEPS: ClassVar[bool] = False
    """Whether the sums of all steps stay in memory."""
    _weights: Panels

    def input_bias(self, d: int) -> View | None:
        return self.sum_of_halves(d)

    def prepare(self, d: int) -> None:
        r = self.r.at(d)
        peepholes = self._operand(7).at(d) if self.n.has(7) else None
        self._peepholes = [] if peepholes is None else [self.part(peepholes, i) for i in range(3)]
        self._gates, self._memory = self.gates(4), self.gates(1)
        block = narrow_block(self.n.cpu, self.samples, 2 * self.hidden)
        self._whole = self.lengths is None and not self._peepholes and block.vectors == 2 and self.hidden % block.lanes == 0
        if self._whole:
            vectors = self.hidden // block.lanes
            units = copied(self.n, self.n.reshaped(r, (4, vectors, block.lanes, self.hidden)).permuted((1, 0, 2, 3)))
            turned = self.n.reshaped(units, (4 * self.hidden, self.hidden)).permuted((1, 0))
            self._pack(turned, block)
        else:
            self._weights = self.panels(r, self.samples)

    def _pack(self, turned: View, block: Block) -> None:
        """Pack the weights of the state for steps that are one job.  turned: [hidden, gates of each vector of units]."""
        n, rows = self.n, -(-self.samples // ROWS) * ROWS
        self._block, self._narrow = block, list[View]()
        if tile_parts(n, turned, self.samples, *reversed(turned.shape)) == 1 and self.hidden % DEPTH == 0 and block.lanes == ROWS:
            from ttc.runtime.engines.native.jobs.amx_products import tile_panels

            self._block, self._panels = replace(block, rows=ROWS), tile_panels(n, turned, 1, 1).view
            self._narrow = [n.temp((rows, self.hidden), "bf16").sliced(0, 0, self.samples) for _ in range(2)]
        else:
            self._panels = packed(n, turned, block, "f32").view

    def start(self, d: int) -> list[View]:
        found = [self.first(5, d), self.first(6, d)]
        if self._whole and self._narrow:
            copy(self.n, found[0], self._narrow[0])
        return found

    def places(self, d: int, t: int, gates: View) -> tuple[View, View]:
        """Return memory for the sums of a step, and for the cells after it."""
        return self._gates, self._memory

    def step(self, d: int, t: int, gates: View, states: list[View]) -> list[View]:
        h, c = states
        if self._whole:
            return self._whole_step(d, t, gates, states)
        sums = RegionBuilder(["f32", "f32"])
        total, memory = self.places(d, t, gates)
        self.product(h, self._weights, sums.region(sums("add", 0, 1)), [gates], total)
        enter, leave, forget, new = (self.part(total, i) for i in range(4))
        compute_into(self.n, self._cell(d, t), [enter, forget, new, c, *self._peepholes[::2], *self.running(t)], memory)
        compute_into(self.n, self._output(d, t), [leave, memory, *self._peepholes[1:2], *self.running(t)], self.output(t, d))
        return [self.kept(t, d, h), memory]

    def _whole_step(self, d: int, t: int, gates: View, states: list[View]) -> list[View]:
        """Add one job for all of a step: its product, cells and outputs."""
        block, n, output = self._block, self.n, self.output(t, d)
        _, memory = self.places(d, t, gates)
        h, c = (left_operand(n, state, "f32") for state in states)
        left, kept = self._narrow or (h, output)
        self._narrow.reverse()
        named = {"left": left, "gates": gates, "before": c, "cells": memory, "output": output, "kept": kept}
        vectors, row_blocks = self.hidden // block.lanes, -(-self.samples // block.rows)
        sizes = {"rows": self.samples, "columns": self.hidden, "depth": self.hidden, "row_blocks": row_blocks}
        flops = 2 * self.samples * self.hidden * self.GATES * self.hidden
        chunks, tasks, chunk = cut_step(vectors, row_blocks, flops)
        kernel = LstmStep(block, self._cell(d, t), self._output(d, t), self.KEEPS, bool(self._narrow))
        n.job(
            kernel,
            {**sizes, "row_chunks": chunks, **named, "weights": self._panels, **row_strides(named)},
            tasks=tasks,
            written=[memory, output, *([gates] if self.KEEPS else []), *([kept] if self._narrow else [])],
            chunk=chunk,
            scratch=kernel.scratch_bytes,
            flops=flops,
            moved_bytes=self._panels.distinct_bytes + gates.distinct_bytes,
        )
        return [output, memory]

    def _cell(self, d: int, t: int) -> Region:
        """Return the new cells, of input, forget and new gates, the cells before, two peepholes if any, and what tells the lengths."""
        f, g, _ = self.functions(d)
        count = 4 + len(self._peepholes[::2])
        steps = RegionBuilder(self.storages(count, t))
        taken = self.activated(steps, self._seen(steps, 0, 3, 4), f)
        coupled = self.n.attr("input_forget", False)
        left = steps("sub", steps.number(1.0), taken) if coupled else self.activated(steps, self._seen(steps, 1, 3, 5), f)
        found = steps("add", steps("mul", left, 3), steps("mul", taken, self.activated(steps, 2, g)))
        return steps.region(self.while_running(steps, count, found, 3))

    def _output(self, d: int, t: int) -> Region:
        """Return the outputs, of the output gate, the new cells, a peephole if any, and what tells the lengths."""
        f, _, last = self.functions(d)
        count = 2 + len(self._peepholes[1:2])
        steps = RegionBuilder(self.storages(count, t))
        found = steps("mul", self.activated(steps, self._seen(steps, 0, 1, 2), f), self.activated(steps, 1, last))
        return steps.region(self.while_running(steps, count, found, steps.number(0.0)))

    def _seen(self, steps: RegionBuilder, gate: int, memory: int, peephole: int) -> int:
        """Return a gate that may see the memory."""
        return steps("add", gate, steps("mul", peephole, memory)) if self._peepholes else gate


class _LstmTraining(_Lstm):
    """A layer that keeps its sums, in place of what the inputs' products come to, and its cells."""

    KEEPS = True

    def __init__(self, n: Lowering) -> None:
        super().__init__(n)
        self._sums = n.temp((*self.y.shape[:3], self.GATES * self.hidden), "f32")
        self._cells = n.temp(self.y.shape, "f32")

    def lower(self) -> None:
        super().lower()
        self.n.alias(self._sums, 3)
        self.n.alias(self._cells, 4)

    def inputs(self, d: int) -> View:
        return self._sums.at(d, 1)

    def places(self, d: int, t: int, gates: View) -> tuple[View, View]:
        return gates, self._cells.at(t).at(d)
