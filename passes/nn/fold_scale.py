"""The pass that folds constant factors into the weights beside them."""

from __future__ import annotations

from typing import ClassVar

from xdsl.ir import SSAValue

from ttc.dialects.core.records import record
from ttc.dialects.nn.base import NNOp
from ttc.dialects.nn.binary import DivOp, MulOp
from ttc.dialects.nn.conv import Conv2dOp, ConvTranspose2dOp
from ttc.dialects.nn.elementwise import FLOATING
from ttc.dialects.nn.linear import MatmulOp
from ttc.passes.base import Pass, Rewriter, Unit
from ttc.passes.nn.fuse_bias import channels_of
from ttc.passes.nn.match import attr, is_constant, owner, rebuilt, reshaped, shape_of, single_use, spec, sweep_entries
from ttc.passes.nn.scaled_weights import scaled_weights


@record
class FoldScale(Pass):
    """Fold a constant, one number or one a channel, into weights and bias of the matmul or convolution before it.

    One number is folded into the matmul or convolution after it, too.

    Before:
        (%x: tensor<4x8xf32>)
        %w = ttc.constant() {value = #ttc.weight<"w", tensor<8x3xf32>>} : () -> tensor<8x3xf32>
        %g = ttc.constant() {value = #ttc.weight<"g", tensor<3xf32>>} : () -> tensor<3xf32>
        %1 = nn.matmul(%x, %w, _) {transpose_a = false, transpose_b = false} : (tensor<4x8xf32>, tensor<8x3xf32>) -> tensor<4x3xf32>
        %2 = nn.mul(%1, %g) : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
        return %2 : tensor<4x3xf32>
    After:
        (%x: tensor<4x8xf32>)
        %w = ttc.constant() {value = #ttc.weight<"w", tensor<8x3xf32>>} : () -> tensor<8x3xf32>
        %g = ttc.constant() {value = #ttc.weight<"g", tensor<3xf32>>} : () -> tensor<3xf32>
        %1 = nn.mul(%w, %g) : (tensor<8x3xf32>, tensor<3xf32>) -> tensor<8x3xf32>
        %2 = nn.matmul(%x, %1, _) {transpose_a = false, transpose_b = false} : (tensor<4x8xf32>, tensor<8x3xf32>) -> tensor<4x3xf32>
        return %2 : tensor<4x3xf32>
    Missed:
        the matmul or convolution has another reader, an activation, or weights that are computed or used elsewhere.
    """

    name: ClassVar[str] = "fold-scale"

    def apply(self, unit: Unit, rewriter: Rewriter) -> None:
        def fold(op: MulOp | DivOp) -> None:
            if spec(op.results[0]).dtype.kind in FLOATING and not _fold_before(op, rewriter):
                _fold_after(op, rewriter)

        sweep_entries(unit, rewriter, {MulOp: fold, DivOp: fold})


def _sides(op: MulOp | DivOp) -> list[tuple[SSAValue, SSAValue]]:
    """Return what may be the computed operand, and the constant beside it."""
    a, b = op.operands
    return [(a, b), (b, a)] if isinstance(op, MulOp) else [(a, b)]


def _fold_before(scale: MulOp | DivOp, rewriter: Rewriter) -> bool:
    """Into the weights of the op that computes what is scaled."""
    for value, constant in _sides(scale):
        op = owner(value, MatmulOp, Conv2dOp, ConvTranspose2dOp)
        if op is None or not is_constant(constant) or not is_constant(op.operands[1]):
            continue
        reason = _obstacle(op, scale, constant)
        if reason is not None:
            rewriter.missed(scale, reason)
        elif rewriter.allow("fold-scale", scale):
            new = _scaled(scale, op, constant, rewriter)
            rewriter.applied(new, f"{scale.name} folded into the weights of {op.name}")
            rewriter.replace(scale, new.results[0])
            rewriter.erase_dead(op)
        return True
    return False


def _obstacle(op: NNOp, scale: MulOp | DivOp, constant: SSAValue) -> str | None:
    """Why the op's weights cannot take the constant; None if they can."""
    bias = op.named_operands()[2]
    if not single_use(op.results[0]):
        return f"{op.name} before it has other readers"
    if attr(op, "activation") is not None:
        return f"{op.name} before it has an activation"
    if not single_use(op.operands[1]):
        return f"the weights of {op.name} before it are used elsewhere"
    if bias is not None and not (is_constant(bias) and len(shape_of(bias)) == 1):
        return f"{op.name} before it has a bias that is not one number a channel"
    by_channel = isinstance(scale, MulOp) and channels_of(op, shape_of(constant)) is not None
    if scale.results[0].type != op.results[0].type or not (_is_one(constant) or by_channel):
        return f"a constant of shape {list(shape_of(constant))} is not one number a channel of {list(shape_of(op.results[0]))}"
    return None


def _scaled(scale: MulOp | DivOp, op: NNOp, constant: SSAValue, rewriter: Rewriter) -> NNOp:
    _, weights, bias = op.named_operands()
    count = None if _is_one(constant) else channels_of(op, shape_of(constant))
    factor = reshaped(rewriter, scale, constant, () if count is None else (count,))
    if count is None:
        weights = rewriter.build(scale, type(scale), op.operands[1], factor).results[0]
    else:
        weights = scaled_weights(scale, op, factor, rewriter)
    bias = None if bias is None else rewriter.build(scale, type(scale), bias, factor).results[0]
    return rebuilt(rewriter, scale, op, (op.operands[0], weights, bias), (op, scale))


def _fold_after(scale: MulOp | DivOp, rewriter: Rewriter) -> None:
    """One number into the weights of the only reader."""
    for value, constant in _sides(scale):
        uses = list(scale.results[0].uses)
        op = uses[0].operation if len(uses) == 1 and uses[0].index == 0 else None
        if not isinstance(op, MatmulOp | Conv2dOp | ConvTranspose2dOp) or not _is_one(constant) or scale.results[0].type != value.type:
            continue
        if not is_constant(constant) or not is_constant(op.operands[1]) or not single_use(op.operands[1]):
            continue
        if not rewriter.allow("fold-scale", scale):
            continue
        factor = reshaped(rewriter, scale, constant, ())
        weights = rewriter.build(op, type(scale), op.operands[1], factor, sources=(scale,)).results[0]
        new = rebuilt(rewriter, op, op, (value, weights, op.named_operands()[2]), (scale, op))
        rewriter.applied(new, f"{scale.name} folded into the weights of {op.name} after it")
        rewriter.replace(op, new.results[0])
        rewriter.erase_dead(scale)
        return


def _is_one(constant: SSAValue) -> bool:
    """Return whether a constant is one number."""
    return all(size == 1 for size in shape_of(constant))
