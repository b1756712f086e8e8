"""The pass that lets attention keep what its gradient needs instead of the matrix of scores."""

from __future__ import annotations

from typing import ClassVar

from ttc.dialects.core.machines.targets import Target
from ttc.dialects.core.records import record
from ttc.dialects.nn.attention import AttentionGradientOp, AttentionOp, AttentionTrainingOp
from ttc.passes.base import Pass, Rewriter, Unit
from ttc.passes.nn.match import shape_of, spec, sweep_entries

LEAST_SCORES, LEAST_NARROW = 1 << 10, 1 << 16
"""The least scores of a matrix whose gradient is computed part by part, the latter at precision bfloat16: smaller ones, which stay in the
caches, take no more time as a whole."""


@record
class TrainAttention(Pass):
    """Let attention give the logarithms of its sums, so that its gradient computes scores again, part by part.

    It stands before gradients are made, on a host, where one kernel computes such a gradient: memory is then linear in the length of a
    sequence.

    Args:
        precision: at which products are multiplied.

    Before:
        (%q: tensor<2x64x8xf32>, %k: tensor<2x64x8xf32>, %v: tensor<2x64x3xf32>)
        %0 = nn.attention(%q, %k, %v, _) {scale = 0.5, zero_masked = false}
            : (tensor<2x64x8xf32>, tensor<2x64x8xf32>, tensor<2x64x3xf32>) -> tensor<2x64x3xf32>
        return %0 : tensor<2x64x3xf32>
    After:
        (%q: tensor<2x64x8xf32>, %k: tensor<2x64x8xf32>, %v: tensor<2x64x3xf32>)
        %0, %1 = nn.attention_training(%q, %k, %v, _) {scale = 0.5, zero_masked = false}
            : (tensor<2x64x8xf32>, tensor<2x64x8xf32>, tensor<2x64x3xf32>) -> (tensor<2x64x3xf32>, tensor<2x64xf32>)
        return %0 : tensor<2x64x3xf32>
    Missed:
        the target is a device; a matrix of scores has less than 1,024 elements, or 65,536 at precision bfloat16; shapes depend on data,
        or numbers are float64.
    """

    name: ClassVar[str] = "train-attention"
    precision: str = "float32"

    def apply(self, unit: Unit, rewriter: Rewriter) -> None:
        sweep_entries(unit, rewriter, {AttentionOp: lambda op: _train(op, unit.target, self.precision, rewriter)})


def _train(op: AttentionOp, target: Target, precision: str, rewriter: Rewriter) -> None:
    reason = obstacle(op, target, precision)
    if reason is not None:
        rewriter.missed(op, f"the gradient of attention has the matrix of scores: {reason}")
    elif rewriter.allow("train-attention", op):
        new = rewriter.build(op, AttentionTrainingOp, *op.named_operands(), **op.plain_attrs())
        rewriter.applied(new, "the gradient of attention computes scores again, part by part")
        rewriter.replace(op, new.results[0])


def obstacle(op: AttentionOp | AttentionTrainingOp | AttentionGradientOp, target: Target, precision: str) -> str | None:
    """Return why the gradient of attention is written out with the whole matrix of scores; None if it is not."""
    if not target.is_host:
        return "devices have no kernel for it"
    if not all(spec(value).is_static for value in op.operands):
        return "shapes depend on data"
    if spec(op.q).dtype.itemsize > 4:
        return "there is no kernel for float64"
    scores, least = shape_of(op.q)[-2] * shape_of(op.k)[-2], LEAST_NARROW if precision == "bfloat16" else LEAST_SCORES
    return f"it has {scores:,} elements, fewer than {least:,}" if scores < least else None
