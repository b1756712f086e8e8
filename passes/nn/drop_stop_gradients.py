"""The pass that drops the ops which stop gradients."""

from __future__ import annotations

from typing import ClassVar

from ttc.dialects.core.ir.locations import where
from ttc.dialects.core.records import record
from ttc.dialects.nn.stop_gradient import StopGradientOp
from ttc.passes.base import Pass, Rewriter, Unit
from ttc.passes.nn.training_notes import note, notes


@record
class DropStopGradients(Pass):
    """Drop the ops that stop gradients, once gradients are made: they give their operands.

    Before:
        func.func @forward(%x: tensor<2xf32> {ttc.name = "x"}) -> (tensor<2xf32> {ttc.name = "y"}) {
          %0 = nn.stop_gradient(%x) : (tensor<2xf32>) -> tensor<2xf32>
          %1 = nn.tanh(%0) : (tensor<2xf32>) -> tensor<2xf32>
          func.return %1 : tensor<2xf32>
        }
    After:
        func.func @forward(%x: tensor<2xf32> {ttc.name = "x"}) -> (tensor<2xf32> {ttc.name = "y"}) {
          %0 = nn.tanh(%x) : (tensor<2xf32>) -> tensor<2xf32>
          func.return %0 : tensor<2xf32>
        }
    Missed:
        never: each is dropped.
    """

    name: ClassVar[str] = "drop-stop-gradients"

    def apply(self, unit: Unit, rewriter: Rewriter) -> None:
        found = [op for op in unit.module.walk() if isinstance(op, StopGradientOp)]
        if found and notes(unit.module):
            note(unit.module, stops=tuple(dict.fromkeys(where(op) for op in found)))
        for op in found:
            if rewriter.allow(self.name, op, required=True):
                rewriter.applied(op, "no gradient is asked for")
                rewriter.replace(op, op.x)
