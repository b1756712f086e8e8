"""Bounds of gradients before an update."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from xdsl.ir import SSAValue

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.entries import Port
from ttc.dialects.core.ir.locations import location_of
from ttc.dialects.core.ir.spec import Spec, tensor_type
from ttc.dialects.core.records import record
from ttc.dialects.nn.block_maker import BlockMaker
from ttc.dialects.nn.gradients.maker import PREFIX
from ttc.passes.base import Pass, Rewriter, Unit
from ttc.passes.nn.entries import OpenEntry, all_parameters, gradients_of
from ttc.passes.nn.training_notes import note_numbers, note_wide, updating_functions

MAX_NORM, MAX_VALUE, NORM = "max_norm", "max_value", "grad_norm"
SMALL = 1e-6
"""The number that is added to a norm before it divides, as PyTorch does."""


@record
class ClipGradients(Pass):
    """Bound the gradients that `step` and `optimizer` give: each number by `max_value`, then the norm of all together by `max_norm`.

    The bounds become inputs.  `grad_norm` is a further output: the norm before it is bounded.

    Args:
        norm: bound of the Euclidean norm of all gradients, unless another comes in; none: it is not bounded.
        value: bound of their numbers, likewise.

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
        func.func @optimizer(%most: tensor<f32> {ttc.name = "max_value"}) -> (tensor<2xf32> {ttc.name = "grad.w"}) {
          %g = ttc.state() {sym = "grad.w", value = #ttc.literal<[0.0, 0.0], tensor<2xf32>>} : () -> tensor<2xf32>
          %0 = nn.neg(%most) : (tensor<f32>) -> tensor<f32>
          %1 = nn.maximum(%g, %0) : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
          %2 = nn.minimum(%1, %most) : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
          func.return %2 : tensor<2xf32>
        }
        func.func @forward() -> (tensor<2xf32> {ttc.name = "y"}) {
          %w = ttc.param() {sym = "w", value = #ttc.literal<[1.0, 2.0], tensor<2xf32>>} : () -> tensor<2xf32>
          func.return %w : tensor<2xf32>
        }
    Missed:
        never: every gradient counts.
    """

    name: ClassVar[str] = "clip-gradients"
    resigns: ClassVar[bool] = True
    norm: float | None = None
    value: float | None = None

    def apply(self, unit: Unit, rewriter: Rewriter) -> None:
        for key, bound in (("norm", self.norm), ("value", self.value)):
            if bound is not None and not bound > 0:
                raise Error("E0101", f"gradients cannot be bounded by a {key} of {bound:g}", hint="it is above 0")
        for function in updating_functions(unit.module):
            if not rewriter.allow(self.name, function, required=True):
                continue
            entry = OpenEntry.of(function)
            count = self._clip(entry, unit)
            entry.close()
            rewriter.applied(function, f"{count} gradients are bounded", gradients=count)
        bounds = {MAX_NORM: self.norm, MAX_VALUE: self.value}
        note_numbers(unit.module, {name: bound for name, bound in bounds.items() if bound is not None})
        note_wide(unit.module, MAX_NORM, MAX_VALUE, NORM)

    def _clip(self, entry: OpenEntry, unit: Unit) -> int:
        """Bound the gradients of one entry; gives how many there are."""
        maker = BlockMaker(entry.block, unit.weights)
        maker.enter(location_of(("optimizer.clip",)))
        found = {f"{PREFIX}{name}": value for name, value in gradients_of(entry, all_parameters(unit.module)).items()}
        for name in found:
            entry.taken(name)
        number = tensor_type(Spec((), np.dtype(np.float32)))
        if self.value is not None:
            most = entry.argument(Port(MAX_VALUE), number)
            found = {name: _within(maker, g, most) for name, g in found.items()}
        if self.norm is not None:
            most = entry.argument(Port(MAX_NORM), number)
            total = _norm(maker, list(found.values()))
            share = maker.nn("div", most, maker.nn("add", total, maker.scalar(SMALL, total)))
            share = maker.nn("minimum", share, maker.scalar(1, share))
            found = {name: maker.nn("mul", g, maker.cast(share, maker.dtype(g))) for name, g in found.items()}
            entry.give(Port(NORM), total)
        for name, value in found.items():
            entry.give(Port(name), value)
        return len(found)


def _within(b: BlockMaker, value: SSAValue, most: SSAValue) -> SSAValue:
    """Return numbers from -most to most."""
    bound = b.cast(most, b.dtype(value))
    return b.nn("minimum", b.nn("maximum", value, b.nn("neg", bound)), bound)


def _norm(b: BlockMaker, values: list[SSAValue]) -> SSAValue:
    """Return the Euclidean norm of all numbers together, in float32."""
    total: SSAValue | None = None
    for value in values:
        wide = b.cast(value, np.dtype(np.float32))
        square = b.nn("mul", wide, wide)
        summed = b.nn("reduce_sum", square, axes=tuple(range(b.rank(square))), keepdims=False) if b.rank(square) else square
        total = summed if total is None else b.nn("add", total, summed)
    assert total is not None
    return b.nn("sqrt", total)
