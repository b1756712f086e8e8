"""The pass that lets recurrent layers keep what their gradient needs instead of computing it again."""

from __future__ import annotations

from typing import ClassVar

from ttc.dialects.core.machines.targets import Target
from ttc.dialects.core.records import record
from ttc.dialects.nn.recurrent import LstmOp, LstmTrainingOp
from ttc.passes.base import Pass, Rewriter, Unit
from ttc.passes.nn.lower_recurrent import MAX_STEPS
from ttc.passes.nn.match import shape_of, spec, sweep_entries


@record
class TrainRecurrent(Pass):
    """Let a layer of long short-term memory give its sums and cells, so that its gradient computes no product of a state again.

    It stands before gradients are made.  A layer that is written out step by step later, on a device, is left alone.

    Before:
        (%x: tensor<1x1x2xf32>, %w: tensor<1x8x2xf32>, %r: tensor<1x8x2xf32>)
        %0, %1, %2 = nn.lstm(%x, %w, %r, _, _, _, _, _) {activations = ["sigmoid", "tanh", "tanh"], alphas = [0.0, 0.0, 0.0],
            betas = [0.0, 0.0, 0.0], clip = inf, direction = "forward", input_forget = false}
            : (tensor<1x1x2xf32>, tensor<1x8x2xf32>, tensor<1x8x2xf32>) -> (tensor<1x1x1x2xf32>, tensor<1x1x2xf32>, tensor<1x1x2xf32>)
        return %0 : tensor<1x1x1x2xf32>
    After:
        (%x: tensor<1x1x2xf32>, %w: tensor<1x8x2xf32>, %r: tensor<1x8x2xf32>)
        %0, %1, %2, %3, %4 = nn.lstm_training(%x, %w, %r, _, _, _, _, _) {activations = ["sigmoid", "tanh", "tanh"],
            alphas = [0.0, 0.0, 0.0], betas = [0.0, 0.0, 0.0], clip = inf, direction = "forward", input_forget = false}
            : (tensor<1x1x2xf32>, tensor<1x8x2xf32>, tensor<1x8x2xf32>)
            -> (tensor<1x1x1x2xf32>, tensor<1x1x2xf32>, tensor<1x1x2xf32>, tensor<1x1x1x8xf32>, tensor<1x1x1x2xf32>)
        return %0 : tensor<1x1x1x2xf32>
    Missed:
        the target is a device, which computes so few steps one by one; shapes depend on data.
    """

    name: ClassVar[str] = "train-recurrent"

    def apply(self, unit: Unit, rewriter: Rewriter) -> None:
        sweep_entries(unit, rewriter, {LstmOp: lambda op: _train(op, unit.target, rewriter)})


def _train(op: LstmOp, target: Target, rewriter: Rewriter) -> None:
    reason = _obstacle(op, target)
    if reason is not None:
        rewriter.missed(op, f"the gradient computes sums and cells again: {reason}")
    elif rewriter.allow("train-recurrent", op):
        new = rewriter.build(op, LstmTrainingOp, *op.named_operands(), **op.plain_attrs())
        rewriter.applied(new, "the gradient reads the sums and cells of all steps, which the layer keeps")
        rewriter.replace(op, new.results[:3])


def _obstacle(op: LstmOp, target: Target) -> str | None:
    """Return why a layer keeps nothing; None if it does."""
    if not all(spec(value).is_static for value in op.operands):
        return "shapes depend on data"
    steps = shape_of(op.x)[0] * shape_of(op.w)[0]
    return None if target.is_host or steps > MAX_STEPS else f"it has {steps} steps, which a device computes one by one"
