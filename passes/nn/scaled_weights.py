"""Weights of matmuls and convolutions multiplied by one number an output channel, as ops on constants that consteval evaluates."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation, SSAValue

from ttc.dialects.nn.base import NNOp
from ttc.dialects.nn.binary import MulOp
from ttc.dialects.nn.conv import ConvTranspose2dOp
from ttc.dialects.nn.linear import MatmulOp
from ttc.dialects.nn.shape import TransposeOp
from ttc.passes.base import Rewriter
from ttc.passes.nn.match import attr, reshaped, shape_of


def scaled_weights(anchor: Operation, op: NNOp, factor: SSAValue, rewriter: Rewriter) -> SSAValue:
    """Return the weights, each multiplied by the factor of the output channel it contributes to."""
    weights = op.operands[1]
    shape, groups = shape_of(weights), attr(op, "groups")
    if isinstance(op, ConvTranspose2dOp) and groups > 1:
        return _scaled_grouped(anchor, op, factor, rewriter)
    if isinstance(op, MatmulOp):
        factor_shape: Sequence[int] = (shape[-2], 1) if attr(op, "transpose_b") else (shape[-1],)
    elif attr(op, "layout") == "nchw":
        factor_shape = (1, shape[1], 1, 1) if isinstance(op, ConvTranspose2dOp) else (shape[0], 1, 1, 1)
    else:
        factor_shape = (shape[2], 1) if isinstance(op, ConvTranspose2dOp) else (shape[3],)
    return rewriter.build(anchor, MulOp, weights, reshaped(rewriter, anchor, factor, factor_shape)).results[0]


def _scaled_grouped(anchor: Operation, op: NNOp, factor: SSAValue, rewriter: Rewriter) -> SSAValue:
    """Weights of a transposed convolution with groups: [I, O/g, kh, kw] or [kh, kw, O/g, I], outputs of a group for inputs of a group."""
    weights, groups = op.operands[1], attr(op, "groups")
    shape = shape_of(weights)
    if attr(op, "layout") == "nchw":
        inputs, outputs, *kernel = shape
        split: Sequence[int] = (groups, inputs // groups, outputs, *kernel)
        by_group = reshaped(rewriter, anchor, factor, (groups, 1, outputs, 1, 1))
    else:
        *kernel, outputs, inputs = shape
        split = (*kernel, outputs, groups, inputs // groups)
        table = reshaped(rewriter, anchor, factor, (groups, outputs))
        turned = rewriter.build(anchor, TransposeOp, table, perm=(1, 0)).results[0]
        by_group = reshaped(rewriter, anchor, turned, (outputs, groups, 1))
    product = rewriter.build(anchor, MulOp, reshaped(rewriter, anchor, weights, split), by_group).results[0]
    return reshaped(rewriter, anchor, product, shape)
