"""Finds what holds the same rows for each sample of a batch: what a model expands to it, and what exporters make of that."""

from __future__ import annotations

from collections.abc import Callable, Container
from dataclasses import field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects import func
from xdsl.dialects.builtin import FunctionType, StringAttr
from xdsl.dialects.func import ReturnOp
from xdsl.ir import SSAValue

from ttc.dialects.core.ir.adapter import set_type
from ttc.dialects.core.ir.attributes import WeightAttr, plain
from ttc.dialects.core.ir.entries import derived_functions, entry_functions, ports
from ttc.dialects.core.ir.leaves import ConstantOp, LeafOp, ParamOp, StateOp
from ttc.dialects.core.ir.spec import Spec, spec_of, tensor_type
from ttc.dialects.core.plain.weights import Weight
from ttc.dialects.core.records import record
from ttc.dialects.nn.base import NNOp
from ttc.dialects.nn.pieces import SliceOp
from ttc.dialects.nn.shape import ExpandOp
from ttc.passes.base import Unit

Repeats = Callable[[LeafOp, int], bool]
"""Whether a leaf has the same rows for each of so many samples."""


def repeated_values(function: func.FuncOp, size: int, repeats: Repeats) -> dict[SSAValue, set[SSAValue]]:
    """Return the values with the same rows for each sample: constants, what is expanded to the batch, and what is computed from these
    alone.

    Each comes with the constants and expanded values that it follows from.
    """
    found: dict[SSAValue, set[SSAValue]] = {}
    shared: set[SSAValue] = set()
    for op in function.body.block.ops:
        if isinstance(op, LeafOp):
            shared.add(op.result)
            if _has_samples(op.result, size) and repeats(op, size):
                found[op.result] = {op.result}
        elif isinstance(op, ExpandOp) and _expands_to(op, size):
            found[op.results[0]] = {op.results[0]}
        elif isinstance(op, NNOp) and op.operands and all(v in shared or v in found for v in op.operands):
            if any(v in found for v in op.operands) and keeps_samples(op, found, size):
                found.update(dict.fromkeys(op.results, set().union(*(found.get(v, set()) for v in op.operands))))
            shared.update(op.results)
    return found


def keeps_samples(op: NNOp, carried: Container[SSAValue | None], size: int) -> bool:
    """Return whether all results of an op carry the batch, sample by sample.  carried: the values that do."""
    operands = op.named_operands()
    flags, attrs = [v in carried for v in operands], op.plain_attrs()
    specs = [None if v is None else spec_of(v.type) for v in operands]
    return all(op.batch(flags, specs, spec_of(result.type), attrs, size) for result in op.results)


def _expands_to(op: ExpandOp, size: int) -> bool:
    """Return whether the op gives each of so many samples the same."""
    before, after = (spec_of(value.type).shape for value in (op.operands[0], op.results[0]))
    return after[:1] == (size,) and (before[:1] != (size,) or len(before) < len(after))


def _has_samples(value: SSAValue, size: int) -> bool:
    """Return whether the first dimension has as many rows for each sample."""
    shape = spec_of(value.type).shape
    return bool(shape) and shape[0] > 0 and shape[0] % size == 0


@record(frozen=False)
class RepeatedRows:
    """Tells the leaves of a unit that hold the same rows for each sample, and cuts them.

    A leaf whose value can change is none: a state, a parameter that a result updates.  A tensor derived from parameters is one if its
    expression repeats the rows, whatever they are.
    """

    unit: Unit
    known: dict[tuple[str, int], bool] = field(default_factory=dict)

    @cached_property
    def updated(self) -> frozenset[str]:
        """The names of the parameters and states that a result updates."""
        results = [port for function in entry_functions(self.unit.module) for port in ports(function)[1]]
        return frozenset(port.updates for port in results if port.updates is not None)

    @cached_property
    def derived(self) -> dict[str, func.FuncOp]:
        """The expressions of derived tensors that parameters are part of, by key."""
        found = derived_functions(self.unit.module)
        return {key: function for key, function in found.items() if any(isinstance(op, ParamOp) for op in function.walk())}

    def has(self, leaf: LeafOp, samples: int) -> bool:
        """Return whether a leaf, whose first dimension so many samples divide, holds the same for each of them for good."""
        if isinstance(leaf, StateOp) or (isinstance(leaf, ParamOp) and str(plain(leaf.sym)) in self.updated):
            return False
        if leaf.key is None:
            return self.are_equal(leaf, samples)
        if (leaf.key, samples) not in self.known:
            function = self.derived.get(leaf.key)
            self.known[leaf.key, samples] = self.are_equal(leaf, samples) if function is None else self.are_expanded(function, samples)
        return self.known[leaf.key, samples]

    def are_equal(self, leaf: LeafOp, samples: int) -> bool:
        """Return whether the rows that a leaf holds for each sample are equal."""
        rows = leaf.array(self.unit.weights).reshape(samples, -1)
        return bool((rows[0] == rows[1]).all() and (rows == rows[:1]).all())

    def are_expanded(self, function: func.FuncOp, samples: int) -> bool:
        """Return whether an expression gives each sample the same rows, whatever its parameters are."""
        found = repeated_values(function, samples, lambda leaf, count: isinstance(leaf, ConstantOp) and self.has(leaf, count))
        last = function.body.block.last_op
        return last is not None and all(value in found for value in last.operands)

    def cut(self, leaf: LeafOp, parts: int) -> str:
        """Leave a leaf one of so many parts of its rows, as a constant under a name of its own; returns the name."""
        whole = leaf.value.spec
        spec = Spec((whole.shape[0] // parts, *whole.shape[1:]), whole.dtype)
        key = self.unit.weights.fresh(leaf.key or "constant")
        function = None if leaf.key is None else self.derived.get(leaf.key)
        self.unit.weights.add(key, Weight(spec.shape, spec.dtype, self._first_rows(leaf, spec.shape[0]), derived=function is not None))
        if function is not None:
            self._derive(key, function, spec)
        if isinstance(leaf, ParamOp):
            _put_constant(leaf, key, spec)
        else:
            leaf.value = WeightAttr.of(key, spec)
            set_type(leaf.result, tensor_type(spec))
        return key

    def _first_rows(self, leaf: LeafOp, count: int) -> Callable[[], NDArray]:
        """Return what gives the first rows of a leaf's value as it is now."""
        value, weights = leaf.value, self.unit.weights
        whole = leaf.array(weights) if not isinstance(value, WeightAttr) else None
        key = leaf.key or ""
        return lambda: np.ascontiguousarray((weights[key].value() if whole is None else whole)[:count])

    def _derive(self, key: str, whole: func.FuncOp, spec: Spec) -> None:
        """Record the first rows of a derived tensor as an expression of its own."""
        function = whole.clone()
        block = function.body.block
        last = block.last_op
        if last is None:
            return
        (value,) = last.operands
        starts, steps = (0,) * len(spec.shape), (1,) * len(spec.shape)
        rows = SliceOp.build(value, location=last.location, starts=starts, sizes=spec.shape, steps=steps)
        block.insert_op_before(rows, last)
        block.insert_op_before(ReturnOp(rows.results[0]), last)
        last.detach()
        last.erase()
        taken = {other.sym_name.data for other in derived_functions(self.unit.module).values()}
        function.sym_name = StringAttr(next(name for number in range(len(taken) + 1) if (name := f"derived_{number}") not in taken))
        function.function_type = FunctionType.from_lists([], [tensor_type(spec)])
        function.attributes["ttc.derived"] = StringAttr(key)
        self.unit.module.body.block.add_op(function)


def _put_constant(leaf: ParamOp, key: str, spec: Spec) -> None:
    """Put a constant in the place of a parameter."""
    constant = ConstantOp.make((), {"value": WeightAttr.of(key, spec)}, [tensor_type(spec)], leaf.location)
    block = leaf.parent
    if block is None:
        return
    block.insert_op_before(constant, leaf)
    constant.results[0].name_hint = leaf.result.name_hint
    leaf.result.replace_all_uses_with(constant.results[0])
    leaf.detach()
    leaf.erase()
