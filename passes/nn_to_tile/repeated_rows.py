"""Finds constants that hold the same for each sample of a batch: what exporters make of what a model expands to it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from functools import cached_property
from math import prod

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects import func
from xdsl.dialects.builtin import FunctionType, StringAttr
from xdsl.dialects.func import ReturnOp

from ttc.dialects.core.batch_axis import BatchAxis
from ttc.dialects.core.ir.adapter import set_type
from ttc.dialects.core.ir.attributes import WeightAttr, plain
from ttc.dialects.core.ir.entries import derived_functions, entry_functions, ports
from ttc.dialects.core.ir.leaves import ConstantOp, LeafOp, ParamOp, StateOp
from ttc.dialects.core.ir.spec import Spec, spec_of, tensor_type
from ttc.dialects.core.plain.weights import Weight
from ttc.dialects.core.records import record
from ttc.dialects.nn.pieces import SliceOp
from ttc.dialects.nn.shape import ReshapeOp
from ttc.passes.base import Unit
from ttc.passes.nn_to_tile.carriers import Sources


@record(frozen=False)
class RepeatedRows:
    """Tells the leaves of a unit that hold the same for each sample, and cuts them.

    A leaf whose value can change is none: a state, a parameter that a result updates.  A tensor derived from parameters is one if its
    expression repeats elements, whatever they are.
    """

    unit: Unit
    known: dict[tuple[str, BatchAxis, int], bool] = field(default_factory=dict)

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

    def has(self, leaf: LeafOp, at: BatchAxis, samples: int) -> bool:
        """Return whether a leaf, which can carry so many samples at a place, holds the same for each of them for good."""
        if isinstance(leaf, StateOp) or (isinstance(leaf, ParamOp) and str(plain(leaf.sym)) in self.updated):
            return False
        if leaf.key is None:
            return self.are_equal(leaf, at, samples)
        key = leaf.key, at, samples
        if key not in self.known:
            function = self.derived.get(leaf.key)
            self.known[key] = self.are_equal(leaf, at, samples) if function is None else self.are_expanded(function, at, samples)
        return self.known[key]

    def are_equal(self, leaf: LeafOp, at: BatchAxis, samples: int) -> bool:
        """Return whether what a leaf holds for each sample is equal."""
        first, second, *others = at.parts(leaf.array(self.unit.weights), samples)
        return bool((first == second).all()) and all(bool((first == other).all()) for other in others)

    def are_expanded(self, function: func.FuncOp, at: BatchAxis, samples: int) -> bool:
        """Return whether an expression gives each sample the same, whatever its parameters are."""
        sources = Sources({}, samples, lambda leaf, place, count: isinstance(leaf, ConstantOp) and self.has(leaf, place, count))
        last = function.body.block.last_op
        return last is not None and all(sources.of(value, at) is not None for value in last.operands)

    def cut(self, leaf: LeafOp, at: BatchAxis, parts: int) -> str:
        """Leave a leaf one of so many parts of its samples, as a constant under a name of its own; returns the name."""
        whole = leaf.value.spec
        spec = Spec(at.resized(whole.shape, parts, 1), whole.dtype)
        key = self.unit.weights.fresh(leaf.key or "constant")
        function = None if leaf.key is None else self.derived.get(leaf.key)
        self.unit.weights.add(key, Weight(spec.shape, spec.dtype, self._first_part(leaf, at, parts), derived=function is not None))
        if function is not None:
            self._derive(key, function, spec, at)
        if isinstance(leaf, ParamOp):
            _put_constant(leaf, key, spec)
        else:
            leaf.value = WeightAttr.of(key, spec)
            set_type(leaf.result, tensor_type(spec))
        return key

    def _first_part(self, leaf: LeafOp, at: BatchAxis, parts: int) -> Callable[[], NDArray]:
        """Return what gives the first part of a leaf's value as it is now."""
        value, weights = leaf.value, self.unit.weights
        whole = leaf.array(weights) if not isinstance(value, WeightAttr) else None
        key = leaf.key or ""
        return lambda: np.ascontiguousarray(at.parts(weights[key].value() if whole is None else whole, parts)[0])

    def _derive(self, key: str, whole: func.FuncOp, spec: Spec, at: BatchAxis) -> None:
        """Record the first part of a derived tensor as an expression of its own."""
        function = whole.clone()
        block = function.body.block
        last = block.last_op
        if last is None:
            return
        (value,) = last.operands
        shape, before, elements = spec_of(value.type).shape, at.before(spec.shape), prod(spec.shape)
        sizes = (before, elements // before)
        runs = ReshapeOp.build(value, location=last.location, shape=(before, prod(shape) // before))
        rows = SliceOp.build(runs.results[0], location=last.location, starts=(0, 0), sizes=sizes, steps=(1, 1))
        part = ReshapeOp.build(rows.results[0], location=last.location, shape=spec.shape)
        for op in (runs, rows, part, ReturnOp(part.results[0])):
            block.insert_op_before(op, last)
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
