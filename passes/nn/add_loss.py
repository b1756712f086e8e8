"""An entry function that gives the loss of a model's output."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import ClassVar

import numpy as np
from xdsl.ir import Operation, SSAValue

from ttc.dialects.core.errors import Error, nearest
from ttc.dialects.core.ir.entries import Port
from ttc.dialects.core.ir.locations import location_of, where
from ttc.dialects.core.ir.spec import Spec, spec_of, tensor_type
from ttc.dialects.core.records import record
from ttc.dialects.nn.block_maker import BlockMaker
from ttc.dialects.nn.gradients.reverse import is_differentiable
from ttc.dialects.nn.training.losses import Loss, Output, loss_of_text
from ttc.passes.base import Pass, Rewriter, Unit
from ttc.passes.nn.entries import OpenEntry, States, entry_named
from ttc.passes.nn.training_notes import COUNT, EVALUATE, SCALE, SCALED, SUM, TARGET, note, note_wide

MARKED = "marked_loss"
"""The name of the output that is the sum of the losses that a model marks."""


@record
class AddLoss(Pass):
    """Give a module the entry function `evaluate`: an entry function with targets as a further input, and its loss as further outputs.

    The loss is `loss.sum` / `loss.count`: sums and counts of several microbatches are added, and divided once.

    Args:
        loss: as text: `cross_entropy:label_smoothing=0.1`; none: `evaluate` has none.
        output: that the loss is of; none: the only one of floating point.
        scale: that a dynamic scale starts with, by which a further output `loss.scaled` is larger; none: there is none.
        entry: the entry function.

    Before:
        func.func @forward(%x: tensor<2x3xf32> {ttc.name = "x"}) -> (tensor<2x3xf32> {ttc.name = "y"}) {
          %0 = nn.tanh(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
          func.return %0 : tensor<2x3xf32>
        }
    After:
        func.func @forward(%x: tensor<2x3xf32> {ttc.name = "x"}) -> (tensor<2x3xf32> {ttc.name = "y"}) {
          %0 = nn.tanh(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
          func.return %0 : tensor<2x3xf32>
        }
        func.func @evaluate(%x: tensor<2x3xf32> {ttc.name = "x"}, %t: tensor<2x3xf32> {ttc.name = "target"})
            -> (tensor<2x3xf32> {ttc.name = "y"}, tensor<f32> {ttc.name = "loss.sum"}, tensor<f32> {ttc.name = "loss.count"}) {
          %0 = nn.tanh(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
          %1 = nn.sub(%0, %t) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
          %2 = nn.mul(%1, %1) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
          %3 = nn.reduce_sum(%2) {axes = array<i64: 0, 1>, keepdims = false} : (tensor<2x3xf32>) -> tensor<f32>
          %4 = ttc.constant() {value = #ttc.literal<[6.0], tensor<f32>>} : () -> tensor<f32>
          func.return %0, %3, %4 : tensor<2x3xf32>, tensor<f32>, tensor<f32>
        }
    Missed:
        never: an output or targets that do not fit the loss are an error.
    """

    name: ClassVar[str] = "add-loss"
    resigns: ClassVar[bool] = True
    loss: str | None = "mse"
    output: str | None = None
    scale: float | None = None
    entry: str = "forward"

    def apply(self, unit: Unit, rewriter: Rewriter) -> None:
        loss = None if self.loss is None else loss_of_text(self.loss)
        function = entry_named(unit.module, self.entry)
        if not rewriter.allow(self.name, function, required=True):
            return
        entry = OpenEntry.copy(function, EVALUATE, unit.module)
        inputs, outputs = [port.name for port in entry.arguments], [port.name for port, _ in entry.results if port.updates is None]
        note(unit.module, inputs=tuple(inputs), outputs=tuple(outputs))
        if loss is not None:
            self._add(entry, loss, unit)
            rewriter.applied(function, f"{loss.text} is the loss")
        entry.close()

    def _add(self, entry: OpenEntry, loss: Loss, unit: Unit) -> None:
        """Add the loss to an entry function."""
        name, value = _output(entry, loss, self.output)
        kind = spec_of(value.type)
        maker = BlockMaker(entry.block, unit.weights)
        maker.enter(location_of(("loss",)))
        try:
            wanted = loss.target(kind)
        except Error as error:
            raise error.at(f"output '{name}'") from None
        target = None if wanted is None else entry.argument(Port(TARGET), tensor_type(wanted))
        terms = loss.terms(maker, value, target)
        for port, term in zip((SUM, COUNT), terms, strict=True):
            entry.give(Port(port), term)
        if self.scale is not None:
            scale = States(unit).state(maker, entry.block, SCALE, Spec((), np.dtype(np.float32)), self.scale)
            entry.give(Port(SCALED), maker.nn("mul", terms[0], maker.cast(scale, maker.dtype(terms[0]))))
        note(
            unit.module,
            loss=loss.text,
            reduction="sum" if loss.reduction == "sum" else "mean",
            output=name,
            targets=() if target is None else (TARGET,),
            mean_of_means=isinstance(loss, Output) and kind.elements == 1,
            **loss.classes(kind),
        )
        note_wide(unit.module, SUM, COUNT, *(() if target is None else (TARGET,)), *(() if self.scale is None else (SCALE,)))


def _output(entry: OpenEntry, loss: Loss, asked: str | None) -> tuple[str, SSAValue]:
    """Return the output that the loss is of.  Raises E0206 if it is not known which."""
    named = {port.name: value for port, value in entry.results if port.updates is None}
    wanted = asked or (loss.name if isinstance(loss, Output) else None)
    if wanted:
        if wanted not in named and wanted == MARKED:
            raise _unmarked(entry)
        if wanted not in named:
            raise Error("E0206", f"the model has no output '{wanted[:80]}', which the loss is of", hint=nearest(wanted, named))
        found = [wanted]
    else:
        found = [name for name, value in named.items() if is_differentiable(spec_of(value.type))]
        if isinstance(loss, Output):
            found = _given_losses(named, found)
    if len(found) != 1:
        what = f"has {len(found)} outputs of floating point: {', '.join(found[:8])}" if found else "has no output of floating point"
        raise Error("E0206", f"the model {what}; the loss is of one", hint="choose it with loss_output")
    spec = spec_of(named[found[0]].type)
    if isinstance(loss, Output) and not wanted and found[0] not in (MARKED, "loss") and spec.is_static and prod(spec.shape[1:]) > 1:
        hint = "add the loss to the model's outputs, or name this one: output:name=NAME"
        raise Error("E0206", f"output '{found[0]}' has shape {list(spec.shape)}, and is no loss: that is a number, or one a row", hint=hint)
    if not spec.is_static:
        raise Error("E0506", f"output '{found[0]}' has a shape that depends on data: it has no loss")
    return found[0], named[found[0]]


def _given_losses(named: Mapping[str, SSAValue], found: list[str]) -> list[str]:
    """Return the output that a model gives as its loss: that of its marks, or the one called loss, or the only number."""
    for name in (MARKED, "loss"):
        if name in found:
            return [name]
    numbers = [name for name in found if spec_of(named[name].type).rank == 0]
    return numbers if len(numbers) == 1 else found


def _unmarked(entry: OpenEntry) -> Error:
    """Return the error of a model that marks no loss: it names the outputs that could be one."""
    numbers = [(port.name, value) for port, value in entry.results if port.updates is None and is_differentiable(spec_of(value.type))]
    places = [
        f"'{name}' ({where(value.owner)})"
        for name, value in numbers
        if spec_of(value.type).elements == 1 and isinstance(value.owner, Operation)
    ]
    hint = f"numbers among its outputs: {', '.join(places[:4])}" if places else "none of its outputs is a number: mark one by ttc.mark_loss"
    return Error("E0206", "no loss is marked in the model", hint=hint)
