"""Entry functions that look at a model in training without changing it."""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.func import FuncOp

from ttc.dialects.core.ir.entries import entry_functions
from ttc.dialects.core.records import record
from ttc.dialects.nn.norm import BatchNormOp, BatchNormTrainingOp
from ttc.dialects.nn.random import DropoutOp
from ttc.passes.base import Pass, Rewriter, Unit
from ttc.passes.nn.entries import OpenEntry
from ttc.passes.nn.match import attr
from ttc.passes.nn.training_notes import EVALUATE, FORWARD, SCALED


@record
class EvaluationMode(Pass):
    """Let `evaluate` compute as in inference: without dropout, and by running statistics; it and `forward` change no states.

    Before:
        func.func @evaluate(%x: tensor<4x3xf32> {ttc.name = "x"}) -> (tensor<4x3xf32> {ttc.name = "y"},
            tensor<i64> {ttc.name = "offset", ttc.updates = "offset"}) {
          %s = ttc.constant() {value = #ttc.literal<[7], tensor<i64>>} : () -> tensor<i64>
          %o = ttc.state() {sym = "offset", value = #ttc.literal<[0], tensor<i64>>} : () -> tensor<i64>
          %0 = nn.dropout(%x, %s, %o) {p = 0.5, stream = 0} : (tensor<4x3xf32>, tensor<i64>, tensor<i64>) -> tensor<4x3xf32>
          %1 = nn.neg(%0) : (tensor<4x3xf32>) -> tensor<4x3xf32>
          %2 = nn.add(%o, %s) : (tensor<i64>, tensor<i64>) -> tensor<i64>
          func.return %1, %2 : tensor<4x3xf32>, tensor<i64>
        }
    After:
        func.func @evaluate(%x: tensor<4x3xf32> {ttc.name = "x"}) -> (tensor<4x3xf32> {ttc.name = "y"}) {
          %1 = nn.neg(%x) : (tensor<4x3xf32>) -> tensor<4x3xf32>
          func.return %1 : tensor<4x3xf32>
        }
    Missed:
        statistics of the batch that the model itself reads: the batch norm stays as it is.
    """

    name: ClassVar[str] = "evaluation-mode"
    resigns: ClassVar[bool] = True

    def apply(self, unit: Unit, rewriter: Rewriter) -> None:
        for function in entry_functions(unit.module):
            if function.sym_name.data not in (FORWARD, EVALUATE) or not rewriter.allow(self.name, function, required=True):
                continue
            entry = OpenEntry.of(function)
            entry.results = [(port, value) for port, value in entry.results if port.updates is None and port.name != SCALED]
            entry.close()
            if function.sym_name.data == EVALUATE:
                _infer(function, rewriter)
            entry = OpenEntry.of(function)
            entry.sweep()
            entry.close()


def _infer(function: FuncOp, rewriter: Rewriter) -> None:
    """Let ops that compute otherwise in training compute as in inference."""

    def drop(op: DropoutOp) -> None:
        if rewriter.allow("drop-dropout", op):
            rewriter.replace(op, op.operands[0])

    def settle(op: BatchNormTrainingOp) -> None:
        x, scale, bias, mean, var = op.operands
        if any(result.first_use is not None for result in op.results[1:]):
            rewriter.missed(op, "statistics of the batch are read besides the normalized values")
        elif rewriter.allow("settle-batch-norm", op):
            new = rewriter.build(op, BatchNormOp, x, scale, bias, mean, var, eps=attr(op, "eps"), axis=attr(op, "axis"))
            rewriter.replace(op, [new.results[0], mean, mean, mean, var])

    rewriter.sweep(function, {DropoutOp: drop, BatchNormTrainingOp: settle})
