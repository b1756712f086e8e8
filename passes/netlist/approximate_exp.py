"""Exponentials of softmax and attention that chips compute approximately."""

from __future__ import annotations

from typing import ClassVar

from ttc.dialects.core.records import record
from ttc.dialects.netlist.op_attributes import attributes_of
from ttc.dialects.netlist.ops import NetlistOp, graphs_of
from ttc.passes.base import Pass, Rewriter, Unit
from ttc.passes.netlist.view import main_op, on_host

NORMALIZED = ("tile.softmax", "tile.attention")
"""Ops whose exponentials are divided by their sum, so that what is common to their errors cancels."""
COARSE = "LoFi"
"""The fidelity at which the multiplier reads so few bits of an operand that the error of an exponential is no larger."""
APPROXIMATE = (("attributes", (("approximate_mode", True),)),)
"""The settings of an op whose exponentials are approximate."""


@record
class ApproximateExp(Pass):
    """Let the vector engine compute the exponentials of softmax and attention approximately where the multiplier is as coarse.

    The approximation takes half the time or less, and 2^n (1 + f) for 2^(n + f), which is at most 6.2 % more.  At fidelity LoFi the
    multiplier reads four bits behind the leading one of the values that the exponentials weigh, which leaves out as much.

    Before:
        netlist.queue() {kind = "input", sym = "x", tensor = !tile.tensor<"32x64xBfp8_b", "tiles(32, 32)">, type = "queue"} : () -> ()
        netlist.graph() {chip = 0, input_count = 1, sym = "g"} : () -> () {
          %x = netlist.read() {queue = "x"} : () -> !tile.tensor<"32x64xBfp8_b", "tiles(32, 32)">
          %y = netlist.op(%x) {fidelity = "LoFi", sym = "y", type = "softmax"}
              : (!tile.tensor<"32x64xBfp8_b", "tiles(32, 32)">) -> !tile.tensor<"32x64xBfp8_b", "tiles(32, 32)"> {
          ^bb0(%a: !tile.tensor<"32x64xBfp8_b", "tiles(32, 32)">):
            %b = tile.softmax(%a) {axis = -1}
                : (!tile.tensor<"32x64xBfp8_b", "tiles(32, 32)">) -> !tile.tensor<"32x64xBfp8_b", "tiles(32, 32)">
            netlist.yield(%b) : (!tile.tensor<"32x64xBfp8_b", "tiles(32, 32)">) -> ()
          }
        }
    After:
        netlist.queue() {kind = "input", sym = "x", tensor = !tile.tensor<"32x64xBfp8_b", "tiles(32, 32)">, type = "queue"} : () -> ()
        netlist.graph() {chip = 0, input_count = 1, sym = "g"} : () -> () {
          %x = netlist.read() {queue = "x"} : () -> !tile.tensor<"32x64xBfp8_b", "tiles(32, 32)">
          %y = netlist.op(%x) {fidelity = "LoFi", settings = [["attributes", [["approximate_mode", true]]]], sym = "y", type = "softmax"}
              : (!tile.tensor<"32x64xBfp8_b", "tiles(32, 32)">) -> !tile.tensor<"32x64xBfp8_b", "tiles(32, 32)"> {
          ^bb0(%a: !tile.tensor<"32x64xBfp8_b", "tiles(32, 32)">):
            %b = tile.softmax(%a) {axis = -1}
                : (!tile.tensor<"32x64xBfp8_b", "tiles(32, 32)">) -> !tile.tensor<"32x64xBfp8_b", "tiles(32, 32)">
            netlist.yield(%b) : (!tile.tensor<"32x64xBfp8_b", "tiles(32, 32)">) -> ()
          }
        }
    Missed:
        the op has another fidelity, which exact exponentials are kept for.
    An op of which attributes are said already stays as it is.

    Source: tt-metal, ttnn/cpp/ttnn/operations/transformer/sdpa, whose exponentials are approximate unless `exp_approx_mode` is false.
    """

    name: ClassVar[str] = "approximate-exp"

    def apply(self, unit: Unit, rewriter: Rewriter) -> None:
        if unit.target.is_host:
            return
        for graph in graphs_of(unit.module).values():
            for op in () if on_host(graph) else graph.ops:
                if main_op(op).name in NORMALIZED and not attributes_of(op.settings or ()):
                    _approximate(op, rewriter)


def _approximate(op: NetlistOp, rewriter: Rewriter) -> None:
    if op.fidelity != COARSE:
        rewriter.missed(op, f"exponentials are exact, as the fidelity is {op.fidelity or 'HiFi4'}, not {COARSE}")
    elif rewriter.allow("approximate-exp", op):
        op.settings = (*(op.settings or ()), *APPROXIMATE)
        rewriter.applied(op, f"exponentials are approximate, as the fidelity is {COARSE}")
