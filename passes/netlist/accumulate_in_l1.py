"""Partial sums of products that the packers add up in L1."""

from __future__ import annotations

from typing import ClassVar

from ttc.dialects.core.formats import format_named
from ttc.dialects.core.ir.to_plain import plain_type
from ttc.dialects.core.records import record
from ttc.dialects.netlist.buda.rules.formats import SUMS_IN_L1
from ttc.dialects.netlist.op_attributes import attributes_of
from ttc.dialects.netlist.ops import GraphOp, NetlistOp, graphs_of
from ttc.passes.base import Pass, Rewriter, Unit
from ttc.passes.netlist.view import main_op, on_host

SUMS = ("tile.matmul", "tile.conv2d", "tile.conv_transpose2d")
"""Ops that add up products."""
IN_L1 = (("attributes", (("l1_acc", True),)),)
"""The settings of an op whose packers add up partial sums in L1."""


@record
class AccumulateInL1(Pass):
    """Let packers add up the partial sums of products in L1, where they would be reloaded for each block of the inner dimension.

    Chips whose destination registers hold 32 bits have such packers.  Sums are kept in the same format either way.

    Before:
        netlist.queue() {kind = "input", sym = "x", tensor = !tile.tensor<"32x64xFloat32", "tiles(32, 32)">, type = "queue"} : () -> ()
        netlist.queue() {kind = "input", sym = "w", tensor = !tile.tensor<"64x32xFloat32", "tiles(32, 32)">, type = "queue"} : () -> ()
        netlist.graph() {chip = 0, input_count = 1, sym = "g"} : () -> () {
          %x = netlist.read() {queue = "x"} : () -> !tile.tensor<"32x64xFloat32", "tiles(32, 32)">
          %w = netlist.read() {queue = "w"} : () -> !tile.tensor<"64x32xFloat32", "tiles(32, 32)">
          %y = netlist.op(%x, %w) {sym = "y", type = "matmul"}
              : (!tile.tensor<"32x64xFloat32", "tiles(32, 32)">, !tile.tensor<"64x32xFloat32", "tiles(32, 32)">)
              -> !tile.tensor<"32x32xFloat32", "tiles(32, 32)"> {
          ^bb0(%a: !tile.tensor<"32x64xFloat32", "tiles(32, 32)">, %b: !tile.tensor<"64x32xFloat32", "tiles(32, 32)">):
            %c = tile.matmul(%a, %b, _) {transpose_a = false, transpose_b = false}
                : (!tile.tensor<"32x64xFloat32", "tiles(32, 32)">, !tile.tensor<"64x32xFloat32", "tiles(32, 32)">)
                -> !tile.tensor<"32x32xFloat32", "tiles(32, 32)">
            netlist.yield(%c) : (!tile.tensor<"32x32xFloat32", "tiles(32, 32)">) -> ()
          }
        }
    After:
        netlist.queue() {kind = "input", sym = "x", tensor = !tile.tensor<"32x64xFloat32", "tiles(32, 32)">, type = "queue"} : () -> ()
        netlist.queue() {kind = "input", sym = "w", tensor = !tile.tensor<"64x32xFloat32", "tiles(32, 32)">, type = "queue"} : () -> ()
        netlist.graph() {chip = 0, input_count = 1, sym = "g"} : () -> () {
          %x = netlist.read() {queue = "x"} : () -> !tile.tensor<"32x64xFloat32", "tiles(32, 32)">
          %w = netlist.read() {queue = "w"} : () -> !tile.tensor<"64x32xFloat32", "tiles(32, 32)">
          %y = netlist.op(%x, %w) {settings = [["attributes", [["l1_acc", true]]]], sym = "y", type = "matmul"}
              : (!tile.tensor<"32x64xFloat32", "tiles(32, 32)">, !tile.tensor<"64x32xFloat32", "tiles(32, 32)">)
              -> !tile.tensor<"32x32xFloat32", "tiles(32, 32)"> {
          ^bb0(%a: !tile.tensor<"32x64xFloat32", "tiles(32, 32)">, %b: !tile.tensor<"64x32xFloat32", "tiles(32, 32)">):
            %c = tile.matmul(%a, %b, _) {transpose_a = false, transpose_b = false}
                : (!tile.tensor<"32x64xFloat32", "tiles(32, 32)">, !tile.tensor<"64x32xFloat32", "tiles(32, 32)">)
                -> !tile.tensor<"32x32xFloat32", "tiles(32, 32)">
            netlist.yield(%c) : (!tile.tensor<"32x32xFloat32", "tiles(32, 32)">) -> ()
          }
        }
    Missed:
        rules of precision ask for another format of partial sums, which packers do not add in.
    An op of which attributes are said already stays as it is.
    """

    name: ClassVar[str] = "accumulate-in-l1"

    def apply(self, unit: Unit, rewriter: Rewriter) -> None:
        if unit.target.is_host or not unit.target.wide_accumulation:
            return
        for graph in graphs_of(unit.module).values():
            _accumulate(graph, rewriter)


def _accumulate(graph: GraphOp, rewriter: Rewriter) -> None:
    if on_host(graph):
        return
    for op in graph.ops:
        if attributes_of(op.settings or ()) or not _adds_up(op):
            continue
        kept = op.intermediate or "Float32"
        if kept not in SUMS_IN_L1:
            rewriter.missed(op, f"partial sums are kept in {kept}, in which packers do not add")
        elif rewriter.allow("accumulate-in-l1", op):
            op.settings = (*(op.settings or ()), *IN_L1)
            rewriter.applied(op, f"partial sums are added up in L1, in {kept}")


def _adds_up(op: NetlistOp) -> bool:
    """Return whether an op sums products of floating-point numbers over more than one tile."""
    main = main_op(op)
    if main.name not in SUMS:
        return False
    first, second = (plain_type(value.type) for value in list(main.operands)[:2])
    if not all(format_named(type_.format).is_float for type_ in (first, second, plain_type(op.result.type))):
        return False
    if main.name != "tile.matmul":
        kh, kw, channels, _ = second.shape
        return kh * kw * -(-channels // 32) > 1
    axis = -2 if main.plain_attrs()["transpose_a"] else -1
    return -(-first.shape[axis] // 32) > 1
