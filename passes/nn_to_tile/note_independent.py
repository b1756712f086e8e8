"""Which programs compute each sample of a batch by itself."""

from __future__ import annotations

from typing import ClassVar

from ttc.dialects.core.ir.entries import entry_functions, ports, set_module_attr
from ttc.dialects.core.records import record
from ttc.passes.base import Pass, Rewriter, Unit
from ttc.passes.nn_to_tile.repeated_rows import RepeatedRows
from ttc.passes.nn_to_tile.stream_batch import batch_carriers


@record
class NoteIndependent(Pass):
    """Note the programs whose samples are independent, so that a smaller batch can be padded to theirs; for modules of several programs.

    The module's attribute `ttc.independent_batches` holds a row for each: its name, and the names of the inputs that carry the batch.

    Before:
        func.func @forward(%x: tensor<2x10xf32> {ttc.name = "x"}) -> (tensor<2x10xf32> {ttc.name = "y"}) {
          %y = nn.relu(%x) : (tensor<2x10xf32>) -> tensor<2x10xf32>
          func.return %y : tensor<2x10xf32>
        }
        func.func @forward_4(%x: tensor<4x10xf32> {ttc.name = "x"}) -> (tensor<4x10xf32> {ttc.name = "y"}) {
          %y = nn.softmax(%x) {axis = 0} : (tensor<4x10xf32>) -> tensor<4x10xf32>
          func.return %y : tensor<4x10xf32>
        }
    After:
        builtin.module attributes {ttc.independent_batches = [["forward", ["x"]]]} {
          func.func @forward(%x: tensor<2x10xf32> {ttc.name = "x"}) -> (tensor<2x10xf32> {ttc.name = "y"}) {
            %y = nn.relu(%x) : (tensor<2x10xf32>) -> tensor<2x10xf32>
            func.return %y : tensor<2x10xf32>
          }
          func.func @forward_4(%x: tensor<4x10xf32> {ttc.name = "x"}) -> (tensor<4x10xf32> {ttc.name = "y"}) {
            %y = nn.softmax(%x) {axis = 0} : (tensor<4x10xf32>) -> tensor<4x10xf32>
            func.return %y : tensor<4x10xf32>
          }
        }
    Missed:
        as for stream-batch, each with the reason.
    """

    name: ClassVar[str] = "note-independent"

    def apply(self, unit: Unit, rewriter: Rewriter) -> None:
        functions = entry_functions(unit.module)
        if len(functions) < 2:
            return
        repeated = RepeatedRows(unit)
        rows: list[tuple[str, tuple[str, ...]]] = []
        for function in functions:
            carried, reason = batch_carriers(function, repeated.has)
            if reason is not None:
                rewriter.missed(function, f"samples of {function.sym_name.data} are not independent: {reason}")
            elif carried:
                named = zip(ports(function)[0], function.body.block.args, strict=True)
                rows.append((function.sym_name.data, tuple(port.name for port, value in named if value in carried)))
        if rows:
            set_module_attr(unit.module, "independent_batches", tuple(rows))
