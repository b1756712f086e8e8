"""The pass that writes batch norms in training as reductions and elementwise ops."""

from __future__ import annotations

from typing import ClassVar

from xdsl.ir import Block, SSAValue

from ttc.dialects.core.ir.spec import spec_of
from ttc.dialects.core.records import record
from ttc.dialects.core.shapes import axis_in
from ttc.dialects.nn.block_maker import BlockMaker
from ttc.dialects.nn.formulas import Formula
from ttc.dialects.nn.norm import BatchNormTrainingOp
from ttc.passes.base import Pass, Rewriter, Unit
from ttc.passes.nn.match import attr, shape_of, sweep_entries


@record
class LowerBatchNorm(Pass):
    """Make a batch norm in training the mean and variance of each channel, and what follows from them.

    Before:
        (%x: tensor<4x3xf32>, %s: tensor<3xf32>, %b: tensor<3xf32>, %m: tensor<3xf32>, %v: tensor<3xf32>)
        %0, %1, %2, %3, %4 = nn.batch_norm_training(%x, %s, %b, %m, %v) {axis = 1, eps = 0.5, momentum = 0.25, unbiased = false}
            : (tensor<4x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>)
            -> (tensor<4x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>)
        return %0 : tensor<4x3xf32>
    After:
        (%x: tensor<4x3xf32>, %s: tensor<3xf32>, %b: tensor<3xf32>, %m: tensor<3xf32>, %v: tensor<3xf32>)
        %0 = nn.reduce_mean(%x) {axes = array<i64: 0>, keepdims = true} : (tensor<4x3xf32>) -> tensor<1x3xf32>
        %1 = nn.sub(%x, %0) : (tensor<4x3xf32>, tensor<1x3xf32>) -> tensor<4x3xf32>
        %2 = nn.mul(%1, %1) : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
        %3 = nn.reduce_mean(%2) {axes = array<i64: 0>, keepdims = true} : (tensor<4x3xf32>) -> tensor<1x3xf32>
        %4 = ttc.constant() {value = #ttc.literal<[0.5], tensor<f32>>} : () -> tensor<f32>
        %5 = nn.add(%3, %4) : (tensor<1x3xf32>, tensor<f32>) -> tensor<1x3xf32>
        %6 = nn.rsqrt(%5) : (tensor<1x3xf32>) -> tensor<1x3xf32>
        %7 = nn.reshape(%s) {shape = array<i64: 1, 3>} : (tensor<3xf32>) -> tensor<1x3xf32>
        %8 = nn.mul(%6, %7) : (tensor<1x3xf32>, tensor<1x3xf32>) -> tensor<1x3xf32>
        %9 = nn.mul(%1, %8) : (tensor<4x3xf32>, tensor<1x3xf32>) -> tensor<4x3xf32>
        %10 = nn.reshape(%b) {shape = array<i64: 1, 3>} : (tensor<3xf32>) -> tensor<1x3xf32>
        %11 = nn.add(%9, %10) : (tensor<4x3xf32>, tensor<1x3xf32>) -> tensor<4x3xf32>
        return %11 : tensor<4x3xf32>
    Missed:
        never.
    """

    name: ClassVar[str] = "lower-batch-norm"

    def apply(self, unit: Unit, rewriter: Rewriter) -> None:
        def lower(op: BatchNormTrainingOp) -> None:
            if rewriter.allow(self.name, op):
                rewriter.replace(op, _lowered(op, unit, rewriter))

        sweep_entries(unit, rewriter, {BatchNormTrainingOp: lower})


def _lowered(op: BatchNormTrainingOp, unit: Unit, rewriter: Rewriter) -> list[SSAValue]:
    """Return the results, each only if somebody reads it: others are the operand of its type."""
    x, scale, bias, mean, var = op.operands
    shape = shape_of(x)
    axis = axis_in(int(attr(op, "axis")), len(shape))
    others = tuple(i for i in range(len(shape)) if i != axis)
    column = tuple(shape[i] if i == axis else 1 for i in range(len(shape)))
    block = Block()
    b = BlockMaker(block, unit.weights)
    b.enter(op.location)
    now = b.nn("reduce_mean", x, axes=others, keepdims=True)
    centred = b.nn("sub", x, now)
    spread = b.nn("reduce_mean", b.nn("mul", centred, centred), axes=others, keepdims=True)
    inverse = b.nn("rsqrt", b.nn("add", spread, b.scalar(attr(op, "eps"), spread)))
    results: list[SSAValue] = [x, mean, mean, mean, var]
    reads = [result.first_use is not None for result in op.results]
    if reads[0]:
        factor = b.nn("mul", inverse, b.reshape(scale, *column))
        results[0] = b.nn("add", b.nn("mul", centred, factor), b.reshape(bias, *column))
    if reads[1]:
        results[1] = b.reshape(now, shape[axis])
    if reads[2]:
        results[2] = b.reshape(inverse, shape[axis])
    share, count = float(attr(op, "momentum")), max(spec_of(x.type).elements // max(shape[axis], 1), 1)
    sample = count / max(count - 1, 1) if attr(op, "unbiased") else 1.0
    for index, old, new, factor_ in ((3, mean, now, 1.0), (4, var, spread, sample)):
        if reads[index]:
            moved = Formula(b, old) * (1 - share) + Formula(b, b.reshape(new, shape[axis])) * (share * factor_)
            results[index] = moved.value
    for made in list(block.ops):
        made.detach()
        rewriter.insert(op, made)
    return results
