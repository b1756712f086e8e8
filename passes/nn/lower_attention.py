"""The pass that writes attention in training out with its matrix of scores where no kernel does without it, or none that pays."""

from __future__ import annotations

from typing import ClassVar

from ttc.dialects.core.records import record
from ttc.dialects.nn.attention import AttentionGradientOp, AttentionOp, AttentionTrainingOp
from ttc.dialects.nn.gradients.attention import AttentionOperands, log_sums_written_out, written_out
from ttc.passes.base import Pass, Rewriter, Unit
from ttc.passes.nn.making import RewriteMaker
from ttc.passes.nn.match import attr, spec, sweep_entries
from ttc.passes.nn.train_attention import obstacle


@record
class LowerAttention(Pass):
    """Write attention in training, and its gradient, as products and a softmax; attention whose sums nobody reads is that of inference.

    Args:
        precision: at which products are multiplied.

    Before:
        (%q: tensor<2x4x8xf32>, %k: tensor<2x5x8xf32>, %v: tensor<2x5x3xf32>)
        %0, %1 = nn.attention_training(%q, %k, %v, _) {scale = 0.5, zero_masked = false}
            : (tensor<2x4x8xf32>, tensor<2x5x8xf32>, tensor<2x5x3xf32>) -> (tensor<2x4x3xf32>, tensor<2x4xf32>)
        return %0 : tensor<2x4x3xf32>
    After:
        (%q: tensor<2x4x8xf32>, %k: tensor<2x5x8xf32>, %v: tensor<2x5x3xf32>)
        %0 = nn.attention(%q, %k, %v, _) {scale = 0.5, zero_masked = false}
            : (tensor<2x4x8xf32>, tensor<2x5x8xf32>, tensor<2x5x3xf32>) -> tensor<2x4x3xf32>
        return %0 : tensor<2x4x3xf32>
    Missed:
        the gradient is computed part by part, by a kernel of the host.
    """

    name: ClassVar[str] = "lower-attention"
    precision: str = "float32"

    def apply(self, unit: Unit, rewriter: Rewriter) -> None:
        def forward(op: AttentionTrainingOp) -> None:
            _lower_forward(op, unit, self.precision, rewriter)

        def backward(op: AttentionGradientOp) -> None:
            _lower_backward(op, unit, self.precision, rewriter)

        sweep_entries(unit, rewriter, {AttentionTrainingOp: forward, AttentionGradientOp: backward})


def _lower_forward(op: AttentionTrainingOp, unit: Unit, precision: str, rewriter: Rewriter) -> None:
    reason = obstacle(op, unit.target, precision)
    unread = op.log_sums.first_use is None
    if reason is None and not unread:
        rewriter.missed(op, "attention gives the logarithms of its sums, for a gradient without the matrix of scores")
    elif rewriter.allow("lower-attention", op):
        b = RewriteMaker(op, unit, rewriter)
        scale, zero_masked, dtype = attr(op, "scale"), attr(op, "zero_masked"), spec(op.log_sums).dtype
        new = rewriter.build(op, AttentionOp, *op.named_operands(), **op.plain_attrs())
        y = new.results[0]
        sums = y if unread else log_sums_written_out(b, op.q, op.k, op.mask, scale, dtype, zero_masked=zero_masked)
        rewriter.applied(new, f"attention is that of inference: {reason or 'nobody reads its sums'}")
        rewriter.replace(op, [y, sums])


def _lower_backward(op: AttentionGradientOp, unit: Unit, precision: str, rewriter: Rewriter) -> None:
    reason = obstacle(op, unit.target, precision)
    if reason is None:
        rewriter.missed(op, "the gradient of attention computes scores again, part by part")
    elif rewriter.allow("lower-attention", op):
        q, k, v, y, log_sums, dy, mask = (*op.named_operands(), None)[:7]
        operands = AttentionOperands(q, k, v, y, log_sums, dy, mask)  # pyright: ignore[reportArgumentType]: all but the mask are there
        found = written_out(RewriteMaker(op, unit, rewriter), operands, attr(op, "scale"))[:3]
        rewriter.applied(op, f"the gradient of attention has the matrix of scores: {reason}")
        rewriter.replace(op, found)
