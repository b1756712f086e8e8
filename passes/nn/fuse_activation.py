"""The pass that fuses activations into the ops that can apply them to their result."""

from __future__ import annotations

from typing import ClassVar

from xdsl.ir import Operation

from ttc.dialects.core.records import record
from ttc.dialects.nn.activation import (
    ClipOp,
    EluOp,
    GeluOp,
    GeluTanhOp,
    HardSigmoidOp,
    HardSwishOp,
    LeakyReluOp,
    ReluOp,
    SigmoidOp,
    SiluOp,
    TanhOp,
)
from ttc.dialects.nn.base import NNOp
from ttc.dialects.nn.conv import Conv2dOp
from ttc.dialects.nn.linear import MatmulOp
from ttc.dialects.nn.shape import ReshapeOp, TransposeOp
from ttc.passes.base import Pass, Rewriter, Unit
from ttc.passes.nn.match import attr, owner, rebuilt, single_use, sweep_entries

INFINITY = float("inf")


@record
class FuseActivation(Pass):
    """Fold an elementwise activation into the matmul or convolution that feeds nothing else; reshapes and transposes may stand between.

    Before:
        (%x: tensor<4x8xf32>, %w: tensor<8x3xf32>)
        %1 = nn.matmul(%x, %w, _) {transpose_a = false, transpose_b = false} : (tensor<4x8xf32>, tensor<8x3xf32>) -> tensor<4x3xf32>
        %2 = nn.leaky_relu(%1) {alpha = 0.1} : (tensor<4x3xf32>) -> tensor<4x3xf32>
        return %2 : tensor<4x3xf32>
    After:
        (%x: tensor<4x8xf32>, %w: tensor<8x3xf32>)
        %2 = nn.matmul(%x, %w, _) {activation = "leaky_relu", activation_args = [0.1], transpose_a = false, transpose_b = false}
            : (tensor<4x8xf32>, tensor<8x3xf32>) -> tensor<4x3xf32>
        return %2 : tensor<4x3xf32>
    Missed:
        the matmul or convolution has another user, or an activation already.
    """

    name: ClassVar[str] = "fuse-activation"

    def apply(self, unit: Unit, rewriter: Rewriter) -> None:
        kinds = (ReluOp, ClipOp, GeluOp, GeluTanhOp, SigmoidOp, TanhOp, SiluOp, HardSwishOp, HardSigmoidOp, LeakyReluOp, EluOp)
        sweep_entries(unit, rewriter, {kind: lambda op: _fuse(op, rewriter) for kind in kinds})


def _fuse(activation: NNOp, rewriter: Rewriter) -> None:
    views = _views_before(activation)
    op = owner((views[-1] if views else activation).operands[0], MatmulOp, Conv2dOp)
    if op is None:
        return
    mnemonic, args = _named(activation)
    if not single_use(op.results[0]):
        rewriter.missed(activation, f"{op.name} before it has other users, so {mnemonic} stays an op")
    elif attr(op, "activation") is not None:
        rewriter.missed(activation, f"{op.name} before it has the activation {attr(op, 'activation')} already")
    elif rewriter.allow("fuse-activation", activation):
        changes = {"activation": mnemonic, "activation_args": args or None}
        new = rebuilt(rewriter, activation, op, op.named_operands(), (op, activation), **changes)
        value = new.results[0]
        for view in reversed(views):
            value = rebuilt(rewriter, activation, view, (value,), (view,)).results[0]
        rewriter.applied(new, f"{mnemonic} folded into {op.name}")
        last = activation.operands[0].owner
        rewriter.replace(activation, value)
        if isinstance(last, Operation):
            rewriter.erase_dead(last)


def _views_before(activation: NNOp) -> list[NNOp]:
    """Reshapes and transposes that the activation alone reads, the last one first."""
    views: list[NNOp] = []
    value = activation.operands[0]
    while isinstance(value.owner, ReshapeOp | TransposeOp) and single_use(value):
        views.append(value.owner)
        value = value.owner.operands[0]
    return views


def _named(op: NNOp) -> tuple[str, tuple[float, ...]]:
    """Return the name by which an op is an activation, and its float attributes in the order of its fields."""
    if isinstance(op, GeluOp):
        return "gelu_tanh" if attr(op, "approximate") == "tanh" else "gelu", ()
    mnemonic = op.name.removeprefix("nn.")
    if isinstance(op, ClipOp):
        low, high = attr(op, "min"), attr(op, "max")
        return mnemonic, (-INFINITY if low is None else low, INFINITY if high is None else high)
    return mnemonic, tuple(value for value in op.plain_attrs().values() if isinstance(value, float))
