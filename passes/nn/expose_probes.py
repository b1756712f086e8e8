"""The pass that makes outputs of the values of probes."""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.func import FuncOp

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.entries import Port, entry_functions
from ttc.dialects.core.ir.locations import where
from ttc.dialects.core.records import record
from ttc.dialects.nn.kernels.probe import OUTPUT
from ttc.dialects.nn.probe import ProbeOp
from ttc.passes.base import Pass, Rewriter, Unit
from ttc.passes.nn.entries import OpenEntry


@record
class ExposeProbes(Pass):
    """Give the value of each probe as an output of its entry function, so that whoever runs it can show the value.

    The output of label `h` is called `probe.h`; further ones of that label, of the other microbatches of a step, `probe.h#1` and so on.

    Before:
        func.func @forward(%x: tensor<2xf32> {ttc.name = "x"}) -> (tensor<2xf32> {ttc.name = "y"}) {
          %0 = nn.tanh(%x) : (tensor<2xf32>) -> tensor<2xf32>
          %1 = nn.probe(%0) {label = "h"} : (tensor<2xf32>) -> tensor<2xf32>
          %2 = nn.exp(%1) : (tensor<2xf32>) -> tensor<2xf32>
          func.return %2 : tensor<2xf32>
        }
    After:
        func.func @forward(%x: tensor<2xf32> {ttc.name = "x"}) -> (tensor<2xf32> {ttc.name = "y"}, tensor<2xf32> {ttc.name = "probe.h"}) {
          %0 = nn.tanh(%x) : (tensor<2xf32>) -> tensor<2xf32>
          %1 = nn.exp(%0) : (tensor<2xf32>) -> tensor<2xf32>
          func.return %1, %0 : tensor<2xf32>, tensor<2xf32>
        }
    Missed:
        never: a probe inside a loop or branch, whose values cannot be outputs, is an error.
    """

    name: ClassVar[str] = "expose-probes"

    def apply(self, unit: Unit, rewriter: Rewriter) -> None:
        for function in entry_functions(unit.module):
            probes = [op for op in function.walk() if isinstance(op, ProbeOp)]
            if probes and rewriter.allow(self.name, function, required=True):
                _expose(function, probes)
                rewriter.applied(function, f"{len(probes)} probes are outputs")


def _expose(function: FuncOp, probes: list[ProbeOp]) -> None:
    """Make outputs of the probes of a function.  Raises E0302 for one inside a loop or branch."""
    entry = OpenEntry.of(function)
    seen: dict[str, int] = {}
    for op in probes:
        if op.parent is not entry.block:
            entry.close()
            hint = "probe it before or behind"
            raise Error("E0302", f"probe '{op.label.data}' is inside a loop or branch, whose values cannot be outputs", where(op), hint)
        label, number = op.label.data, seen.get(op.label.data, 0)
        seen[label] = number + 1
        entry.give(Port(f"{OUTPUT}{label}" + (f"#{number}" if number else "")), op.x)
        entry.results = [(port, op.x if value is op.y else value) for port, value in entry.results]
        op.y.replace_all_uses_with(op.x)
        op.detach()
        op.erase()
    entry.close()
