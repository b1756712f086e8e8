"""Which programs compute each sample of a batch by itself."""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects import func

from ttc.dialects.core.ir.entries import entry_functions, ports, set_module_attr
from ttc.dialects.core.records import record
from ttc.passes.base import Pass, Rewriter, Unit
from ttc.passes.nn_to_tile.carriers import Carriers
from ttc.passes.nn_to_tile.repeated_rows import RepeatedRows


@record
class NoteIndependent(Pass):
    """Note the programs whose samples are independent, so that a smaller batch can be padded to theirs; for modules of several programs.

    The module's attribute `ttc.independent_batches` holds a row for each: its name, and the names of the inputs that carry the batch.
    `ttc.batch_axes` has inputs and results of which another dimension than the first carries it, each with that dimension.

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
        axes: list[tuple[str, tuple[tuple[str, int], ...]]] = []
        for function in functions:
            name, batch = function.sym_name.data, Carriers.of(function, repeated.has)
            if batch.reason is not None:
                rewriter.missed(function, f"samples of {name} are not independent: {batch.reason}")
            elif any(at.runs > 1 for at in batch.at_ends):
                rewriter.missed(function, f"samples of {name} are folded behind another dimension of an input or result")
            elif batch.size > 1:
                inputs, results = _places(function, batch)
                if len(dict(inputs + results)) < len({*inputs, *results}):
                    rewriter.missed(function, f"samples of {name} are in several dimensions of what has one name")
                    continue
                rows.append((name, tuple(port for port, _ in inputs)))
                others = tuple((port, axis) for port, axis in (*inputs, *results) if axis)
                axes += [(name, others)] if others else []
        if rows:
            set_module_attr(unit.module, "independent_batches", tuple(rows))
        if axes:
            set_module_attr(unit.module, "batch_axes", tuple(axes))


def _places(function: func.FuncOp, batch: Carriers) -> tuple[list[tuple[str, int]], list[tuple[str, int]]]:
    """Return the inputs that carry the batch, and all results, each with the dimension that does."""
    last = function.body.block.last_op
    values = function.body.block.args, () if last is None else last.operands
    inputs, results = (
        [(port.name, batch.axes[value].axis) for port, value in zip(named, some, strict=True) if value in batch.axes]
        for named, some in zip(ports(function), values, strict=True)
    )
    return inputs, results
