"""The pass that fuses biases into the ops that take them."""

from __future__ import annotations

from typing import ClassVar

from xdsl.ir import SSAValue

from ttc.dialects.core.records import record
from ttc.dialects.nn.base import NNOp
from ttc.dialects.nn.binary import AddOp
from ttc.dialects.nn.conv import Conv2dOp, ConvTranspose2dOp
from ttc.dialects.nn.linear import MatmulOp
from ttc.passes.base import Pass, Rewriter, Unit
from ttc.passes.nn.match import attr, either_way, is_constant, owner, rebuilt, reshaped, shape_of, single_use, sweep_entries


@record
class FuseBias(Pass):
    """Fold an add of a per-channel constant into the matmul or convolution that feeds it.

    Before:
        (%x: tensor<4x8xf32>)
        %w = ttc.constant() {value = #ttc.weight<"w", tensor<8x3xf32>>} : () -> tensor<8x3xf32>
        %b = ttc.constant() {value = #ttc.weight<"b", tensor<3xf32>>} : () -> tensor<3xf32>
        %1 = nn.matmul(%x, %w, _) {transpose_a = false, transpose_b = false} : (tensor<4x8xf32>, tensor<8x3xf32>) -> tensor<4x3xf32>
        %2 = nn.add(%1, %b) : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
        return %2 : tensor<4x3xf32>
    After:
        (%x: tensor<4x8xf32>)
        %w = ttc.constant() {value = #ttc.weight<"w", tensor<8x3xf32>>} : () -> tensor<8x3xf32>
        %b = ttc.constant() {value = #ttc.weight<"b", tensor<3xf32>>} : () -> tensor<3xf32>
        %2 = nn.matmul(%x, %w, %b) {transpose_a = false, transpose_b = false}
            : (tensor<4x8xf32>, tensor<8x3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
        return %2 : tensor<4x3xf32>
    Missed:
        the matmul or convolution has another user or an activation; the constant is not one number a channel.
    """

    name: ClassVar[str] = "fuse-bias"

    def apply(self, unit: Unit, rewriter: Rewriter) -> None:
        sweep_entries(unit, rewriter, {AddOp: lambda op: _fuse(op, rewriter)})


def _fuse(add: AddOp, rewriter: Rewriter) -> None:
    for value, constant in either_way(add):
        op = owner(value, MatmulOp, Conv2dOp, ConvTranspose2dOp)
        if op is not None and is_constant(constant):
            _fuse_into(op, add, constant, rewriter)
            return


def _fuse_into(op: NNOp, add: AddOp, constant: SSAValue, rewriter: Rewriter) -> None:
    result = op.results[0]
    old = op.named_operands()[2]
    channels = channels_of(op, shape_of(constant))
    if not single_use(result):
        rewriter.missed(add, f"{op.name} before it has other users, so the bias stays an add")
    elif attr(op, "activation") is not None:
        rewriter.missed(add, f"{op.name} before it has an activation, so the bias stays an add")
    elif channels is None or add.results[0].type != result.type:
        rewriter.missed(add, f"a constant of shape {list(shape_of(constant))} is not one number a channel of {list(shape_of(result))}")
    elif old is not None and not (is_constant(old) and shape_of(old) == (channels,)):
        rewriter.missed(add, f"{op.name} before it has a bias already")
    elif rewriter.allow("fuse-bias", add):
        bias = reshaped(rewriter, add, constant, (channels,))
        if old is not None:
            bias = rewriter.build(add, AddOp, old, bias).results[0]
        new = rebuilt(rewriter, add, op, (*op.operands[:2], bias), (op, add))
        rewriter.applied(new, f"bias folded into {op.name}")
        rewriter.replace(add, new.results[0])
        rewriter.erase_dead(op)


def channels_of(op: NNOp, shape: tuple[int, ...]) -> int | None:
    """Return the channels of the op's result, if a constant of that shape has one number for each; None otherwise."""
    result = shape_of(op.results[0])
    axis = -3 if attr(op, "layout") == "nchw" else -1
    size = result[axis]
    if len(shape) < -axis or len(shape) > len(result) or shape[axis] != size:
        return None
    others = shape[:axis] + (shape[axis + 1 :] if axis != -1 else ())
    return size if all(d == 1 for d in others) else None
