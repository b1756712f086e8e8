"""New values of parameters from their gradients."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, SSAValue

from ttc.dialects.core.errors import Error, nearest
from ttc.dialects.core.ir.entries import Port
from ttc.dialects.core.ir.leaves import ParamOp
from ttc.dialects.core.ir.locations import location_of
from ttc.dialects.core.ir.spec import Spec, tensor_type
from ttc.dialects.core.plain.weights import WeightStore
from ttc.dialects.core.records import record
from ttc.dialects.nn.block_maker import BlockMaker
from ttc.dialects.nn.formulas import Formula
from ttc.dialects.nn.gradients.maker import PREFIX
from ttc.dialects.nn.training.optimizers import Optimizer, ParameterUpdate, optimizer_of_text
from ttc.passes.base import Pass, Rewriter, Unit
from ttc.passes.nn.entries import OpenEntry, States, all_parameters, gradients_of, parameters_of
from ttc.passes.nn.training_notes import (
    GOOD,
    MASTER,
    SCALE,
    SKIPPED,
    STEPS,
    note,
    note_numbers,
    note_wide,
    slot_name,
    updating_functions,
)

NUMBER = Spec((), np.dtype(np.float32))
GROWTH, INTERVAL = 2.0, 2000
"""What a dynamic scale of the loss grows by, and after how many updates without infinite gradients."""


@record
class ApplyOptimizer(Pass):
    """Let `step` and `optimizer` update parameters and the optimizer's states, in the place of giving gradients.

    Numbers of the optimizer are inputs of rank 0: `lr`, and with several groups of parameters `lr.0`, `lr.1`.  States are called
    `optimizer.exp_avg.layer.weight`, and `optimizer.step` counts updates.  Where the loss has a dynamic scale, an update with a gradient
    that is not finite is left out (`skipped`) and halves the scale; 2000 updates without one double it.  A parameter of 16 bits has its
    exact value in the state `optimizer.master.layer.weight`, which updates change, and is what that rounds to.

    Args:
        groups: the optimizer of each group as text, then names of its parameters; none: all that no other group has.

    Before:
        func.func @optimizer() -> (tensor<2xf32> {ttc.name = "grad.w"}) {
          %g = ttc.state() {sym = "grad.w", value = #ttc.literal<[0.0, 0.0], tensor<2xf32>>} : () -> tensor<2xf32>
          func.return %g : tensor<2xf32>
        }
        func.func @forward() -> (tensor<2xf32> {ttc.name = "y"}) {
          %w = ttc.param() {sym = "w", value = #ttc.literal<[1.0, 2.0], tensor<2xf32>>} : () -> tensor<2xf32>
          func.return %w : tensor<2xf32>
        }
    After:
        func.func @optimizer(%rate: tensor<f32> {ttc.name = "lr"})
            -> (tensor<f32> {ttc.name = "optimizer.step", ttc.updates = "optimizer.step"},
            tensor<2xf32> {ttc.name = "w", ttc.updates = "w"}) {
          %g = ttc.state() {sym = "grad.w", value = #ttc.literal<[0.0, 0.0], tensor<2xf32>>} : () -> tensor<2xf32>
          %0 = ttc.state() {sym = "optimizer.step", value = #ttc.literal<[0.0], tensor<f32>>} : () -> tensor<f32>
          %1 = ttc.constant() {value = #ttc.literal<[1.0], tensor<f32>>} : () -> tensor<f32>
          %2 = nn.add(%0, %1) : (tensor<f32>, tensor<f32>) -> tensor<f32>
          %w = ttc.param() {sym = "w", value = #ttc.literal<[1.0, 2.0], tensor<2xf32>>} : () -> tensor<2xf32>
          %3 = nn.mul(%g, %rate) : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
          %4 = nn.sub(%w, %3) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
          func.return %2, %4 : tensor<f32>, tensor<2xf32>
        }
        func.func @forward() -> (tensor<2xf32> {ttc.name = "y"}) {
          %w = ttc.param() {sym = "w", value = #ttc.literal<[1.0, 2.0], tensor<2xf32>>} : () -> tensor<2xf32>
          func.return %w : tensor<2xf32>
        }
    Missed:
        parameters that no group names: they stay as they are.
    """

    name: ClassVar[str] = "apply-optimizer"
    resigns: ClassVar[bool] = True
    groups: tuple[tuple[str, ...], ...] = (("sgd",),)

    def apply(self, unit: Unit, rewriter: Rewriter) -> None:
        functions = updating_functions(unit.module)
        if not functions:
            return  # there is no gradient of a parameter: inputs alone have some
        known = all_parameters(unit.module)
        groups = _groups(self.groups, known, functions)
        states = States(unit)
        for function in functions:
            if rewriter.allow(self.name, function, required=True):
                count = _Update(unit, states, groups, known).apply(function)
                rewriter.applied(function, f"{count} parameters are updated by {groups[0].optimizer.NAME}", parameters=count)
        _note(unit.module, groups)


@record
class NumberGroup:
    """Parameters with the same numbers.

    Args:
        inputs: names of inputs, by the optimizer's setting.
    """

    optimizer: Optimizer
    parameters: tuple[str, ...]
    inputs: Mapping[str, str]


def _groups(rows: Sequence[Sequence[str]], known: Mapping[str, ParamOp], functions: Sequence[FuncOp]) -> list[NumberGroup]:
    """Return the groups that options describe.  Raises E0101, and E0206 for unknown parameters and those without gradients."""
    optimizers = [optimizer_of_text(row[0]) for row in rows]
    if len({optimizer.structure() for optimizer in optimizers}) != 1:
        raise Error("E0101", "groups of parameters have optimizers that differ in more than numbers")
    trained: dict[str, None] = {}
    for function in functions:
        entry = OpenEntry.of(function)
        entry.close()
        trained |= dict.fromkeys(gradients_of(entry, known))
    named = [name for row in rows for name in row[1:]]
    for name in named:
        if name not in known:
            raise Error("E0206", f"the optimizer has a parameter '{name[:80]}', which the model does not have", hint=nearest(name, known))
        if named.count(name) > 1:
            raise Error("E0101", f"parameter '{name[:80]}' is in two groups of the optimizer")
    if sum(len(row) == 1 for row in rows) > 1:
        raise Error("E0101", "several groups of the optimizer name no parameters")
    rest = tuple(name for name in trained if name not in set(named))
    groups: list[NumberGroup] = []
    for index, (optimizer, row) in enumerate(zip(optimizers, rows, strict=True)):
        inputs = {key: key if len(rows) == 1 else f"{key}.{index}" for key in optimizer.numbers()}
        groups.append(NumberGroup(optimizer, tuple(name for name in row[1:] if name in trained) if len(row) > 1 else rest, inputs))
    return groups


class _Maker(BlockMaker):
    """Makes ops on single numbers once: what follows from hyper-parameters is the same for all parameters of a group."""

    def __init__(self, block: Block, weights: WeightStore) -> None:
        super().__init__(block, weights)
        self._numbers: dict[tuple[Any, ...], tuple[SSAValue, ...]] = {}

    def nn_all(self, op: str, *operands: SSAValue | None, **attrs: Any) -> tuple[SSAValue, ...]:
        for x in operands:
            if x is None or self.rank(x):
                return super().nn_all(op, *operands, **attrs)
        key = (op, operands, *sorted(attrs.items()))
        if key not in self._numbers:
            self._numbers[key] = super().nn_all(op, *operands, **attrs)
        return self._numbers[key]


@record
class _Update:
    """Puts updates into entry functions."""

    unit: Unit
    states: States
    groups: Sequence[NumberGroup]
    known: Mapping[str, ParamOp]

    def apply(self, function: FuncOp) -> int:
        """Update the parameters whose gradients the function gives; gives how many there are."""
        entry = OpenEntry.of(function)
        maker = _Maker(entry.block, self.unit.weights)
        maker.enter(location_of((STEPS,)))
        inputs = {name: entry.argument(Port(name), tensor_type(NUMBER)) for group in self.groups for name in group.inputs.values()}
        old = self.states.state(maker, entry.block, STEPS, NUMBER)
        step = maker.nn("add", old, maker.scalar(1, old))
        guard = _Guard.of(entry, maker, self.states, gradients_of(entry, self.known).values())
        entry.give(Port(STEPS, updates=STEPS), guard.kept(step, old))
        leaves = {name: leaf.result for name, leaf in parameters_of(entry).items()}
        count = 0
        for group in self.groups:
            for name in group.parameters:
                gradient = entry.taken(f"{PREFIX}{name}")
                if gradient is None:
                    continue
                maker.enter(location_of((f"optimizer.{name}",)))
                parameter = leaves.get(name) or self._leaf(entry, name)
                self._update(entry, maker, group, name, (parameter, gradient, step), inputs, guard)
                count += 1
        for name in gradients_of(entry, self.known):
            entry.taken(f"{PREFIX}{name}")  # of a parameter that no group has
        entry.sweep()
        entry.close()
        return count

    def _leaf(self, entry: OpenEntry, name: str) -> SSAValue:
        leaf = self.known[name].clone()
        entry.block.add_op(leaf)
        return leaf.result

    def _update(
        self,
        entry: OpenEntry,
        maker: BlockMaker,
        group: NumberGroup,
        name: str,
        values: tuple[SSAValue, SSAValue, SSAValue],
        inputs: Mapping[str, SSAValue],
        guard: _Guard,
    ) -> None:
        """Update one parameter, in float32 at least.  values: the parameter, its gradient, the number of the update."""
        held = maker.spec(values[0])
        wide = Spec(held.shape, np.dtype(np.float64) if held.dtype == np.float64 else np.dtype(np.float32))
        parameter, gradient, step = (Formula(maker, maker.cast(value, wide.dtype)) for value in values)
        is_narrow = held.dtype != wide.dtype
        if is_narrow:
            parameter = self._master(entry, maker, name, values[0], parameter)
        numbers = {key: Formula(maker, maker.cast(inputs[source], wide.dtype)) for key, source in group.inputs.items()}
        slots = {slot: slot_name(slot, name) for slot in group.optimizer.slots()}
        starts = group.optimizer.slots()
        states = {slot: Formula(maker, self.states.state(maker, entry.block, key, wide, starts[slot])) for slot, key in slots.items()}
        new, changed = group.optimizer.updated(ParameterUpdate(parameter, gradient, numbers, states, step, group.optimizer))
        entry.give(Port(name, updates=name), guard.kept(maker.cast(new.value, held.dtype), values[0]))
        if is_narrow:
            key = slot_name(MASTER, name)
            entry.give(Port(key, updates=key), guard.kept(new.value, parameter.value))
            note_wide(self.unit.module, key)
        for slot, key in slots.items():
            entry.give(Port(key, updates=key), guard.kept(changed[slot].value, states[slot].value))

    def _master(self, entry: OpenEntry, maker: BlockMaker, name: str, held: SSAValue, wide: Formula) -> Formula:
        """The exact value of a parameter of fewer bits: a state, unless the parameter was set to what the state does not round to."""
        master = Formula(maker, self.states.state(maker, entry.block, slot_name(MASTER, name), maker.spec(wide.value)))
        rounded = Formula(maker, maker.cast(maker.cast(master.value, maker.dtype(held)), maker.dtype(wide.value)))
        return rounded.equals(wide).choose(master, wide)


@record(eq=False)
class _Guard:
    """Leaves out updates whose gradients are not finite, where the loss is scaled.

    fine: whether all are finite; None where the loss is not scaled.
    """

    maker: BlockMaker
    fine: SSAValue | None

    @staticmethod
    def of(entry: OpenEntry, maker: BlockMaker, states: States, gradients: Iterable[SSAValue]) -> _Guard:
        """Return the guard of an entry function, which also changes the scale."""
        scale = next((leaf.result for leaf in entry.leaves() if leaf.sym.data == SCALE), None)
        if scale is None:
            return _Guard(maker, None)
        total: SSAValue | None = None
        for gradient in gradients:
            wide = maker.cast(gradient, NUMBER.dtype)
            nothing = maker.nn("mul", wide, maker.scalar(0, wide))  # NaN where it is not finite
            summed = maker.nn("reduce_sum", nothing, axes=tuple(range(maker.rank(nothing))), keepdims=False)
            total = summed if total is None else maker.nn("add", total, summed)
        assert total is not None
        fine = Formula(maker, total).equals(0.0)
        good = Formula(maker, states.state(maker, entry.block, GOOD, NUMBER)) + 1.0
        grows = good >= float(INTERVAL)
        held = Formula(maker, scale)
        entry.give(Port(SCALE, updates=SCALE), fine.choose(grows.choose(held * GROWTH, held), held * (1 / GROWTH)).value)
        entry.give(Port(GOOD, updates=GOOD), fine.choose(grows.choose(0.0, good), 0.0).value)
        entry.give(Port(SKIPPED), maker.nn("not", fine.value))
        note_wide(states.unit.module, SCALE, GOOD)
        return _Guard(maker, fine.value)

    def kept(self, new: SSAValue, old: SSAValue) -> SSAValue:
        """Return the new value where all gradients are finite, else the old one."""
        return new if self.fine is None else self.maker.nn("where", self.fine, new, old)


def _note(module: ModuleOp, groups: Sequence[NumberGroup]) -> None:
    first = groups[0].optimizer
    rows = tuple((g.optimizer.text, g.parameters, tuple(g.optimizer.numbers().items()), tuple(g.inputs.items())) for g in groups)
    note(module, optimizer=first.NAME, groups=rows, slots=tuple(first.slots()))
    note_numbers(module, {g.inputs[key]: value for g in groups for key, value in g.optimizer.numbers().items()})
    names = [name for g in groups for name in (*g.inputs.values(), *g.parameters)]
    note_wide(module, STEPS, *names, *(slot_name(slot, name) for g in groups for name in g.parameters for slot in first.slots()))
