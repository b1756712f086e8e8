"""Batch normalisation at inference is a constant scale and shift."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from xdsl.ir import SSAValue

from ttc.dialects.core.ir.leaves import ConstantOp
from ttc.dialects.core.records import record
from ttc.dialects.nn.base import NNOp
from ttc.dialects.nn.binary import AddOp, DivOp, MulOp, SubOp
from ttc.dialects.nn.conv import Conv2dOp, ConvTranspose2dOp
from ttc.dialects.nn.linear import MatmulOp
from ttc.dialects.nn.norm import BatchNormOp
from ttc.dialects.nn.unary import SqrtOp
from ttc.passes.base import Pass, Rewriter, Unit
from ttc.passes.nn.match import attr, is_constant, owner, rebuilt, reshaped, shape_of, single_use, spec, sweep_entries
from ttc.passes.nn.scaled_weights import scaled_weights


@record
class FoldBatchNorm(Pass):
    """Fold a batch_norm of constant statistics into the weights of the op before it; where it stands alone, make it mul and add.

    Computed statistics are subtracted before that.

    The arithmetic on weights is nn ops on constants, which consteval evaluates.

    Before:
        (%x: tensor<2x3x4x4xf32>, %s: tensor<3xf32>)
        %b = ttc.constant() {value = #ttc.weight<"b", tensor<3xf32>>} : () -> tensor<3xf32>
        %m = ttc.constant() {value = #ttc.weight<"m", tensor<3xf32>>} : () -> tensor<3xf32>
        %v = ttc.constant() {value = #ttc.weight<"v", tensor<3xf32>>} : () -> tensor<3xf32>
        %g = ttc.constant() {value = #ttc.weight<"g", tensor<3xf32>>} : () -> tensor<3xf32>
        %1 = nn.batch_norm(%x, %g, %b, %m, %v) {axis = 1, eps = 0.5}
            : (tensor<2x3x4x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3x4x4xf32>
        return %1 : tensor<2x3x4x4xf32>
    After:
        (%x: tensor<2x3x4x4xf32>, %s: tensor<3xf32>)
        %b = ttc.constant() {value = #ttc.weight<"b", tensor<3xf32>>} : () -> tensor<3xf32>
        %m = ttc.constant() {value = #ttc.weight<"m", tensor<3xf32>>} : () -> tensor<3xf32>
        %v = ttc.constant() {value = #ttc.weight<"v", tensor<3xf32>>} : () -> tensor<3xf32>
        %g = ttc.constant() {value = #ttc.weight<"g", tensor<3xf32>>} : () -> tensor<3xf32>
        %e = ttc.constant() {value = #ttc.literal<[0.5], tensor<f32>>} : () -> tensor<f32>
        %1 = nn.add(%v, %e) : (tensor<3xf32>, tensor<f32>) -> tensor<3xf32>
        %2 = nn.sqrt(%1) : (tensor<3xf32>) -> tensor<3xf32>
        %3 = nn.div(%g, %2) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
        %4 = nn.mul(%m, %3) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
        %5 = nn.sub(%b, %4) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
        %6 = nn.reshape(%3) {shape = [1, 3, 1, 1]} : (tensor<3xf32>) -> tensor<1x3x1x1xf32>
        %7 = nn.mul(%x, %6) : (tensor<2x3x4x4xf32>, tensor<1x3x1x1xf32>) -> tensor<2x3x4x4xf32>
        %8 = nn.reshape(%5) {shape = [1, 3, 1, 1]} : (tensor<3xf32>) -> tensor<1x3x1x1xf32>
        %9 = nn.add(%7, %8) : (tensor<2x3x4x4xf32>, tensor<1x3x1x1xf32>) -> tensor<2x3x4x4xf32>
        return %9 : tensor<2x3x4x4xf32>
    Missed:
        statistics are computed, not constant; the op before has another user, an activation, or weights that are computed.
    """

    name: ClassVar[str] = "fold-batch-norm"

    def apply(self, unit: Unit, rewriter: Rewriter) -> None:
        sweep_entries(unit, rewriter, {BatchNormOp: lambda op: _fold(op, rewriter)})


def _fold(norm: BatchNormOp, rewriter: Rewriter) -> None:
    x, scale, bias, mean, variance = norm.operands
    if not all(is_constant(v) for v in (scale, bias, mean, variance)):
        if rewriter.allow("fold-batch-norm", norm):
            rewriter.missed(norm, "the statistics are not constant, so the batch_norm becomes sub, mul and add")
            rewriter.replace(norm, _computed(norm, _factor(norm, rewriter), rewriter).results[0])
        return
    op = owner(x, Conv2dOp, ConvTranspose2dOp, MatmulOp)
    reason = None if op is None else _obstacle(norm, op)
    if reason is not None:
        rewriter.missed(norm, f"{reason}, so the batch_norm becomes mul and add")
    if not rewriter.allow("fold-batch-norm", norm):
        return
    factor = _factor(norm, rewriter)
    if op is not None and reason is None:
        new = _folded(norm, op, factor, rewriter)
    else:
        new = _alone(norm, factor, rewriter)
    rewriter.applied(new, "batch_norm folded into the weights" if op is not None and reason is None else "batch_norm is a mul and an add")
    rewriter.replace(norm, new.results[0])
    if op is not None:
        rewriter.erase_dead(op)


def _obstacle(norm: BatchNormOp, op: NNOp) -> str | None:
    """Why the op's weights cannot take the normalisation; None if they can."""
    operands = op.named_operands()
    channel_axis = 1 if attr(op, "layout") == "nchw" else len(shape_of(op.results[0])) - 1
    if not single_use(op.results[0]):
        return f"{op.name} before it has other users"
    if attr(op, "activation") is not None:
        return f"{op.name} before it has an activation"
    if attr(norm, "axis") % len(shape_of(norm.results[0])) != channel_axis:
        return f"{op.name} before it has its channels along another axis"
    if not all(v is None or is_constant(v) for v in operands[1:]):
        return f"{op.name} before it has computed weights"
    if operands[2] is not None and len(shape_of(operands[2])) != 1:
        return f"{op.name} before it has a bias that is not one number a channel"
    return None


def _factor(norm: BatchNormOp, rewriter: Rewriter) -> SSAValue:
    """scale / sqrt(variance + eps): one number a channel."""
    _, scale, _, _, variance = norm.operands
    number = np.array(attr(norm, "eps")).astype(spec(variance).dtype)
    eps = rewriter.insert(norm, ConstantOp.literal(number, rewriter.location((norm,)))).result
    deviation = rewriter.build(norm, SqrtOp, rewriter.build(norm, AddOp, variance, eps).results[0]).results[0]
    return rewriter.build(norm, DivOp, scale, deviation).results[0]


def _alone(norm: BatchNormOp, factor: SSAValue, rewriter: Rewriter) -> NNOp:
    """x * factor + (bias - mean * factor), channels along the norm's axis."""
    x, _, bias, mean, _ = norm.operands
    shift = rewriter.build(norm, SubOp, bias, rewriter.build(norm, MulOp, mean, factor).results[0]).results[0]
    product = rewriter.build(norm, MulOp, x, _along_channels(norm, factor, rewriter))
    return rewriter.build(norm, AddOp, product.results[0], _along_channels(norm, shift, rewriter))


def _computed(norm: BatchNormOp, factor: SSAValue, rewriter: Rewriter) -> NNOp:
    """(x - mean) * factor + bias: what the mean cancels is cancelled first."""
    x, _, bias, mean, _ = norm.operands
    centred = rewriter.build(norm, SubOp, x, _along_channels(norm, mean, rewriter))
    product = rewriter.build(norm, MulOp, centred.results[0], _along_channels(norm, factor, rewriter))
    return rewriter.build(norm, AddOp, product.results[0], _along_channels(norm, bias, rewriter))


def _along_channels(norm: BatchNormOp, value: SSAValue, rewriter: Rewriter) -> SSAValue:
    """Return one number a channel, along the norm's axis."""
    rank = len(shape_of(norm.results[0]))
    axis = attr(norm, "axis") % rank
    return reshaped(rewriter, norm, value, tuple(shape_of(value)[0] if i == axis else 1 for i in range(rank)))


def _folded(norm: BatchNormOp, op: NNOp, factor: SSAValue, rewriter: Rewriter) -> NNOp:
    """Return the op with weights * factor, and the bias (old - mean) * factor + bias."""
    _, _, bias, mean, _ = norm.operands
    old = op.named_operands()[2]
    if old is None:
        shift = rewriter.build(norm, SubOp, bias, rewriter.build(norm, MulOp, mean, factor).results[0])
    else:
        centred = rewriter.build(norm, SubOp, old, mean).results[0]
        shift = rewriter.build(norm, AddOp, rewriter.build(norm, MulOp, centred, factor).results[0], bias)
    weights = scaled_weights(norm, op, factor, rewriter)
    return rebuilt(rewriter, norm, op, (op.operands[0], weights, shift.results[0]), (op, norm))
