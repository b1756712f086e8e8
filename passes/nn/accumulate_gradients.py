"""Entry functions of microbatches and updates: gradients are added up, and divided once."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import ClassVar

import numpy as np
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation, SSAValue

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.entries import Port, make_function
from ttc.dialects.core.ir.leaves import LeafOp, ParamOp, StateOp
from ttc.dialects.core.ir.locations import location_of, named_location, where
from ttc.dialects.core.ir.spec import Spec, spec_of, tensor_type
from ttc.dialects.core.records import record
from ttc.dialects.nn.block_maker import BlockMaker
from ttc.dialects.nn.gradients.maker import PREFIX
from ttc.dialects.nn.making import part, zeros
from ttc.passes.base import Pass, Rewriter, Unit
from ttc.passes.nn.entries import OpenEntry, States, entry_named, parameters_of, require_free
from ttc.passes.nn.training_notes import BACKWARD, COUNT, OPTIMIZER, SCALE, SCALED, STEP, SUM, note, note_wide, notes

NUMBER = Spec((), np.dtype(np.float32))
LEAST = 1e-30
"""The least number that a count is divided by: sums of nothing are 0."""


@record
class AccumulateGradients(Pass):
    """Let `backward` add its gradients and its count to states, and make the entries that use what was added.

    `optimizer` gives the gradients that were added, divided by the count, and clears the states.  `step` gives those of so many
    microbatches at once: they are never stored.  Both are left to `apply-optimizer`, which puts new values of parameters in the place
    of gradients.  Without a loss each call of `backward` counts 1, and there is no `step`: whoever has the loss gives the gradients of
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
        never: inputs whose rows are not those of one microbatch are the same for all.
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
                gradients.make_step(self.microbatches)
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

    def make_step(self, microbatches: int) -> None:
        """The entry that gives the gradients of several microbatches, divided."""
        entry = OpenEntry.copy(self.function, STEP, self.unit.module)
        if microbatches > 1:
            entry = _unrolled(entry, microbatches, self.rows, self.unit, {f"{PREFIX}{name}" for name in self.specs})
        share = self._share(entry, entry.result(COUNT) if self.divided else None)
        for name in self.specs:
            value = entry.taken(f"{PREFIX}{name}")
            assert value is not None
            maker = self._maker(entry, f"optimizer.{name}")
            entry.give(Port(f"{PREFIX}{name}"), _divided(maker, value, share))
        entry.close()


def _divided(maker: BlockMaker, value: SSAValue, share: SSAValue | None) -> SSAValue:
    return value if share is None else maker.nn("div", value, maker.cast(share, maker.dtype(value)))


# ---- several microbatches at once -----------------------------------------------------------------------------------------------


def _unrolled(entry: OpenEntry, microbatches: int, rows: int | None, unit: Unit, gradients: Collection[str]) -> OpenEntry:
    """Return the entry for several microbatches: inputs hold their rows one after another; states go from each to the next.

    gradients: outputs that are added, as losses and counts are.
    """
    if rows is None:
        raise Error("E0101", "the inputs have no rows: there are no microbatches", where=where(entry.function))
    wide = [_widened(spec_of(a.type), rows, microbatches) for a in entry.block.args]
    declared: list[tuple[Port, Attribute]] = [(port, tensor_type(s)) for port, s in zip(entry.arguments, wide, strict=True)]
    made = OpenEntry(make_function(STEP, declared, entry.function.location), entry.arguments)
    maker = BlockMaker(made.block, unit.weights)
    leaves: dict[tuple[str, object], SSAValue] = {}
    now: dict[str, SSAValue] = {}
    runs: list[list[SSAValue]] = []
    for number in range(microbatches):
        maker.enter(entry.function.location)
        values: dict[SSAValue, SSAValue] = {}
        for old, new in zip(entry.block.args, made.block.args, strict=True):
            same = old.type == new.type
            values[old] = new if same else part(maker, new, 0, number * rows, rows)
        _copy(entry.block.ops, made, values, leaves, now)
        runs.append([values.get(value, value) for _, value in entry.results])
        now |= {port.updates: value for (port, _), value in zip(entry.results, runs[-1], strict=True) if port.updates is not None}
    rows_of_all: list[tuple[Port, SSAValue]] = []
    for index, (port, old) in enumerate(entry.results):
        maker.enter(old.owner.location if isinstance(old.owner, Operation) else entry.function.location)
        added = port.name in (SUM, COUNT) or port.name in gradients
        rows_of_all.append((port, _together(maker, port, [run[index] for run in runs], rows, added=added)))
    made.results = rows_of_all
    entry.function.detach()
    entry.function.erase()
    unit.module.body.block.add_op(made.function)
    return made


def _widened(spec: Spec, rows: int, microbatches: int) -> Spec:
    """Return the type of an input of several microbatches."""
    return Spec((rows * microbatches, *spec.shape[1:]), spec.dtype) if spec.shape[:1] == (rows,) else spec


def _copy(
    ops: Iterable[Operation],
    made: OpenEntry,
    values: dict[SSAValue, SSAValue],
    leaves: dict[tuple[str, object], SSAValue],
    now: Mapping[str, SSAValue],
) -> None:
    """Copy the ops of one microbatch; leaves are shared, but states that an earlier one has changed."""
    for op in ops:
        if isinstance(op, StateOp) and op.sym.data in now:
            values[op.result] = now[op.sym.data]
            continue
        key = _identity(op) if isinstance(op, LeafOp) else None
        if key is not None and key in leaves:
            values[op.results[0]] = leaves[key]
            continue
        copy = op.clone(values)
        made.block.add_op(copy)
        if key is not None:
            leaves[key] = copy.results[0]


def _identity(leaf: LeafOp) -> tuple[str, object]:
    """Return what two leaves have in common that are one."""
    return leaf.name, leaf.sym.data if isinstance(leaf, ParamOp | StateOp) else leaf.value


def _together(maker: BlockMaker, port: Port, values: Sequence[SSAValue], rows: int, *, added: bool) -> SSAValue:
    """Return one result of all microbatches: their sum, their rows one after another, or that of the last, which alone updates states."""
    first = spec_of(values[0].type)
    if port.updates is not None:
        return values[-1]
    if added:
        total = values[0]
        for value in values[1:]:
            total = maker.nn("add", total, value)
        return total
    return maker.nn("concat", *values, axis=0) if first.shape[:1] == (rows,) else values[-1]
