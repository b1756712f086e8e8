"""Entry functions of microbatches and updates: gradients are added up, and divided once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np
from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.entries import Port, make_function
from ttc.dialects.core.ir.leaves import StateOp
from ttc.dialects.core.ir.locations import location_of, named_location, where
from ttc.dialects.core.ir.spec import Spec, spec_of
from ttc.dialects.core.records import record
from ttc.dialects.nn.block_maker import BlockMaker
from ttc.dialects.nn.gradients.maker import PREFIX
from ttc.dialects.nn.making import zeros
from ttc.passes.base import Pass, Rewriter, Unit
from ttc.passes.nn.entries import OpenEntry, States, entry_named, parameters_of, require_free
from ttc.passes.nn.microbatches import require_rows, stream, unrolled, why_not_streamed
from ttc.passes.nn.training_notes import ADDED, BACKWARD, COUNT, OPTIMIZER, SCALE, SCALED, STEP, SUM, UPDATE, note, note_wide, notes

NUMBER = Spec((), np.dtype(np.float32))
LEAST = 1e-30
"""The least number that a count is divided by: sums of nothing are 0."""


@record
class AccumulateGradients(Pass):
    """Let `backward` add its gradients and its count to states, and make the entries that use what was added.

    `optimizer` gives the gradients that were added, divided by the count, and clears the states.  `step` gives those of so many
    microbatches at once: they are never stored.  Both are left to `apply-optimizer`, which puts new values of parameters in the place
    of gradients.  On a device, a step takes its microbatches one after another (`ttc.input_count`), where each epoch can compute all of
    them before the next begins; its sums are what `step_update` takes, which runs once, after it (`ttc.then`).

    Without a loss each call of `backward` counts 1, and there is no `step`: whoever has the loss gives the gradients of
    outputs, and may set the count.

    Args:
        microbatches: that a step takes, one after another along dimension 0 of inputs and targets.
        updates: whether these entries are made; else gradients are added up alone.

    Before:
        func.func @backward(%x: tensor<2xf32> {ttc.name = "x"}) -> (tensor<f32> {ttc.name = "loss.sum"},
            tensor<f32> {ttc.name = "loss.count"}, tensor<2xf32> {ttc.name = "grad.w"}) {
          %w = ttc.param() {sym = "w", value = #ttc.literal<[1.0, 2.0], tensor<2xf32>>} : () -> tensor<2xf32>
          %n = ttc.constant() {value = #ttc.literal<[2.0], tensor<f32>>} : () -> tensor<f32>
          %0 = nn.mul(%w, %x) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
          %1 = nn.reduce_sum(%0) {axes = array<i64: 0>, keepdims = false} : (tensor<2xf32>) -> tensor<f32>
          func.return %1, %n, %x : tensor<f32>, tensor<f32>, tensor<2xf32>
        }
    After:
        func.func @backward(%x: tensor<2xf32> {ttc.name = "x"}) -> (tensor<f32> {ttc.name = "loss.sum"},
            tensor<f32> {ttc.name = "loss.count"}, tensor<2xf32> {ttc.name = "grad.w", ttc.updates = "grad.w"},
            tensor<f32> {ttc.name = "added.count", ttc.updates = "loss.count"}) {
          %w = ttc.param() {sym = "w", value = #ttc.literal<[1.0, 2.0], tensor<2xf32>>} : () -> tensor<2xf32>
          %n = ttc.constant() {value = #ttc.literal<[2.0], tensor<f32>>} : () -> tensor<f32>
          %0 = nn.mul(%w, %x) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
          %1 = nn.reduce_sum(%0) {axes = array<i64: 0>, keepdims = false} : (tensor<2xf32>) -> tensor<f32>
          %2 = ttc.state() {sym = "grad.w", value = #ttc.literal<[0.0, 0.0], tensor<2xf32>>} : () -> tensor<2xf32>
          %3 = nn.add(%2, %x) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
          %4 = ttc.state() {sym = "loss.count", value = #ttc.literal<[0.0], tensor<f32>>} : () -> tensor<f32>
          %5 = nn.add(%4, %n) : (tensor<f32>, tensor<f32>) -> tensor<f32>
          func.return %1, %n, %3, %5 : tensor<f32>, tensor<f32>, tensor<2xf32>, tensor<f32>
        }
    Missed:
        a step unrolls its microbatches on a device: a state changes from one to the next, and is read elsewhere than where it changes.
        Inputs whose rows are not those of one microbatch are the same for all.
    """

    name: ClassVar[str] = "accumulate-gradients"
    resigns: ClassVar[bool] = True
    microbatches: int = 1
    updates: bool = False

    def apply(self, unit: Unit, rewriter: Rewriter) -> None:
        function = entry_named(unit.module, BACKWARD)
        if self.microbatches < 1:
            raise Error("E0101", f"a step takes at least one microbatch, not {self.microbatches}")
        if not rewriter.allow(self.name, function, required=True):
            return
        gradients = _Gradients.of(function, unit)
        if not gradients.specs and not gradients.of_inputs:
            raise Error("E0506", "no parameter has a gradient: there is nothing to train", where=where(function))
        if self.updates and gradients.specs:
            require_free(unit.module, OPTIMIZER)
            if gradients.counted:
                gradients.make_step(self.microbatches, rewriter)
            gradients.make_optimizer()
        gradients.add_up()
        note(unit.module, microbatches=self.microbatches, batch=gradients.rows)
        rewriter.applied(function, f"gradients of {len(gradients.specs)} parameters are added up")


@record
class _Gradients:
    """The gradients of an entry function.

    Args:
        specs: of gradients, by parameter.
        divided: whether they are divided by the count.
        scaled: whether they are those of a loss that a dynamic scale has made larger.
        counted: whether there is a loss, which says what it is divided by.
        of_inputs: whether there are gradients of inputs, too.
        rows: of a microbatch; None if no input has any.
    """

    function: FuncOp
    unit: Unit
    states: States
    specs: Mapping[str, Spec]
    divided: bool
    scaled: bool
    counted: bool
    of_inputs: bool
    rows: int | None

    @staticmethod
    def of(function: FuncOp, unit: Unit) -> _Gradients:
        entry = OpenEntry.of(function)
        scaled = entry.taken(SCALED) is not None
        known = parameters_of(entry)
        specs = {name: spec_of(leaf.result.type) for name, leaf in known.items() if entry.result(f"{PREFIX}{name}") is not None}
        noted = notes(unit.module)
        sizes = [spec_of(a.type).shape[0] for a in entry.block.args if spec_of(a.type).rank]
        counted = entry.result(COUNT) is not None
        of_inputs = any(entry.result(f"{PREFIX}{port.name}") is not None for port in entry.arguments)
        entry.close()
        divided = noted.get("reduction", "mean") == "mean"
        return _Gradients(function, unit, States(unit), specs, divided, scaled, counted, of_inputs, sizes[0] if sizes else None)

    def _maker(self, entry: OpenEntry, *names: str) -> BlockMaker:
        maker = BlockMaker(entry.block, self.unit.weights)
        maker.enter(location_of(names))
        return maker

    def add_up(self) -> None:
        """Let `backward` add to the states."""
        entry = OpenEntry.of(self.function)
        count = entry.result(COUNT)
        for name, kind in self.specs.items():
            value = entry.taken(f"{PREFIX}{name}")
            assert value is not None
            maker = self._maker(entry, f"{PREFIX}{name}")
            old = self.states.state(maker, entry.block, f"{PREFIX}{name}", kind)
            entry.give(Port(f"{PREFIX}{name}", updates=f"{PREFIX}{name}"), maker.nn("add", old, value))
        if self.divided:
            maker = self._maker(entry, COUNT)
            old = self.states.state(maker, entry.block, COUNT, NUMBER)
            more = maker.scalar(1, old) if count is None else maker.cast(count, maker.dtype(old))
            entry.give(Port("added.count", updates=COUNT), maker.nn("add", old, more))
        entry.close()
        note_wide(self.unit.module, COUNT, SUM, *(f"{PREFIX}{name}" for name in self.specs))

    def make_optimizer(self) -> None:
        """The entry that gives what was added, divided, and clears it."""
        entry = OpenEntry(make_function(OPTIMIZER, [], named_location(OPTIMIZER)), [])
        self.unit.module.body.block.add_op(entry.function)
        share = self._share(entry, self._count(entry) if self.divided else None)
        for name, kind in self.specs.items():
            maker = self._maker(entry, f"optimizer.{name}")
            old = self.states.state(maker, entry.block, f"{PREFIX}{name}", kind)
            entry.give(Port(f"{PREFIX}{name}"), _divided(maker, old, share))
            entry.give(Port(f"cleared.{name}", updates=f"{PREFIX}{name}"), zeros(maker, old))
        entry.close()

    def _count(self, entry: OpenEntry) -> SSAValue:
        maker = self._maker(entry, f"optimizer.{COUNT}")
        count = self.states.state(maker, entry.block, COUNT, NUMBER)
        entry.give(Port("cleared.count", updates=COUNT), zeros(maker, count))
        return count

    def _share(self, entry: OpenEntry, count: SSAValue | None) -> SSAValue | None:
        """Return what gradients are divided by: the count, at least a little, as sums are 0 where it is 0, and the scale."""
        maker = self._maker(entry, f"optimizer.{COUNT}")
        if count is not None:
            count = maker.nn("maximum", count, maker.scalar(LEAST, count))
        if not self.scaled:
            return count
        scale = next((leaf.result for leaf in entry.leaves() if leaf.sym.data == SCALE), None)
        if scale is None:
            (leaf,) = [op for op in self.function.body.block.ops if isinstance(op, StateOp) and op.sym.data == SCALE]
            copy = leaf.clone()
            entry.block.add_op(copy)
            scale = copy.result
        return scale if count is None else maker.nn("mul", count, maker.cast(scale, maker.dtype(count)))

    def make_step(self, microbatches: int, rewriter: Rewriter) -> None:
        """The entry that gives the gradients of several microbatches, divided."""
        entry = OpenEntry.copy(self.function, STEP, self.unit.module)
        if microbatches > 1:
            rows = require_rows(entry, self.rows)
            if self._streams(entry, rewriter):
                self._stream(entry, microbatches, rows)
                rewriter.applied(entry.function, f"a step streams {microbatches} microbatches of {rows} rows", microbatches=microbatches)
                entry = self._update(entry)
            else:
                entry = unrolled(entry, microbatches, rows, self.unit, {SUM, COUNT, *(f"{PREFIX}{name}" for name in self.specs)})
        share = self._share(entry, entry.result(COUNT) if self.divided else None)
        if entry.function.sym_name.data == UPDATE:
            entry.taken(COUNT)  # the streamed part gives it
        for name in self.specs:
            value = entry.taken(f"{PREFIX}{name}")
            assert value is not None
            maker = self._maker(entry, f"optimizer.{name}")
            entry.give(Port(f"{PREFIX}{name}"), _divided(maker, value, share))
        entry.close()

    def _streams(self, entry: OpenEntry, rewriter: Rewriter) -> bool:
        """Return whether microbatches of a step are streamed: on devices, where they can be."""
        if self.unit.target.is_host:
            return False
        reason = why_not_streamed(entry)
        if reason is not None:
            rewriter.missed(entry.function, f"microbatches of a step are not streamed: {reason}")
        return reason is None and rewriter.allow("stream-step", entry.function)

    def _stream(self, entry: OpenEntry, microbatches: int, rows: int) -> None:
        """Let an entry take microbatches, and give sums of gradients under names of their own, for the update."""
        for name in (COUNT, *(f"{PREFIX}{name}" for name in self.specs)):
            value = entry.result(name) if name == COUNT else entry.taken(name)
            assert value is not None
            if name != COUNT or self.divided:
                entry.give(Port(f"{ADDED}{name}"), value)
        sums = {port.name for port, _ in entry.results if port.name in (SUM, COUNT) or port.name.startswith(ADDED)}
        stream(entry, microbatches, rows, sums, UPDATE)
        note_wide(self.unit.module, *sums)

    def _update(self, streamed: OpenEntry) -> OpenEntry:
        """Close a streamed entry, and return the one that takes its sums, opened."""
        require_free(self.unit.module, UPDATE)
        sums = [(port, value) for port, value in streamed.results if port.name.startswith(ADDED)]
        streamed.close()
        names = [Port(port.name.removeprefix(ADDED)) for port, _ in sums]
        taken = [(Port(port.name), value.type) for port, value in sums]
        made = OpenEntry(make_function(UPDATE, taken, named_location(UPDATE)), [port for port, _ in taken])
        made.results = list(zip(names, made.block.args, strict=True))
        self.unit.module.body.block.add_op(made.function)
        return made


def _divided(maker: BlockMaker, value: SSAValue, share: SSAValue | None) -> SSAValue:
    return value if share is None else maker.nn("div", value, maker.cast(share, maker.dtype(value)))
