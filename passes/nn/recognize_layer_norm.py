"""The pass that recognizes layer normalization in what exporters make of it."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import ClassVar, NamedTuple

from xdsl.ir import Operation, SSAValue

from ttc.dialects.core.plain.weights import WeightStore
from ttc.dialects.core.records import record
from ttc.dialects.nn.binary import AddOp, DivOp, MulOp, PowOp, SubOp
from ttc.dialects.nn.norm import LayerNormOp
from ttc.dialects.nn.reduce import ReduceMeanOp
from ttc.dialects.nn.unary import NegOp
from ttc.passes.base import Pass, Rewriter, Unit
from ttc.passes.nn.match import attr, constant_scalar, either_way, is_constant, owner, reshaped, shape_of, sweep_entries
from ttc.passes.nn.normalization import applied_after, is_square, under_root


@record
class RecognizeLayerNorm(Pass):
    """Find (x - mean) / sqrt(variance + eps) * scale + bias over the last dimensions.

    Found is x * f + (bias - mean * f), too, where f = scale / sqrt(variance + eps), as Keras has it.

    Before:
        (%x: tensor<2x8xf32>)
        %s = ttc.constant() {value = #ttc.weight<"s", tensor<8xf32>>} : () -> tensor<8xf32>
        %b = ttc.constant() {value = #ttc.weight<"b", tensor<8xf32>>} : () -> tensor<8xf32>
        %e = ttc.constant() {value = #ttc.literal<[0.0009765625], tensor<f32>>} : () -> tensor<f32>
        %t = ttc.constant() {value = #ttc.literal<[2.0], tensor<f32>>} : () -> tensor<f32>
        %0 = nn.reduce_mean(%x) {axes = [1], keepdims = true} : (tensor<2x8xf32>) -> tensor<2x1xf32>
        %1 = nn.sub(%x, %0) : (tensor<2x8xf32>, tensor<2x1xf32>) -> tensor<2x8xf32>
        %2 = nn.pow(%1, %t) : (tensor<2x8xf32>, tensor<f32>) -> tensor<2x8xf32>
        %3 = nn.reduce_mean(%2) {axes = [1], keepdims = true} : (tensor<2x8xf32>) -> tensor<2x1xf32>
        %4 = nn.add(%3, %e) : (tensor<2x1xf32>, tensor<f32>) -> tensor<2x1xf32>
        %5 = nn.sqrt(%4) : (tensor<2x1xf32>) -> tensor<2x1xf32>
        %6 = nn.div(%1, %5) : (tensor<2x8xf32>, tensor<2x1xf32>) -> tensor<2x8xf32>
        %7 = nn.mul(%6, %s) : (tensor<2x8xf32>, tensor<8xf32>) -> tensor<2x8xf32>
        %8 = nn.add(%7, %b) : (tensor<2x8xf32>, tensor<8xf32>) -> tensor<2x8xf32>
        return %8 : tensor<2x8xf32>
    After:
        (%x: tensor<2x8xf32>)
        %s = ttc.constant() {value = #ttc.weight<"s", tensor<8xf32>>} : () -> tensor<8xf32>
        %b = ttc.constant() {value = #ttc.weight<"b", tensor<8xf32>>} : () -> tensor<8xf32>
        %8 = nn.layer_norm(%x, %s, %b) {axis = 1, eps = 0.0009765625} : (tensor<2x8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<2x8xf32>
        return %8 : tensor<2x8xf32>
    Missed:
        the axes are not the last ones; eps is no constant.
    """

    name: ClassVar[str] = "recognize-layer-norm"

    def apply(self, unit: Unit, rewriter: Rewriter) -> None:
        def recognize(op: DivOp | MulOp) -> None:
            _recognize(op, unit.weights, rewriter)

        def recognize_moved(op: AddOp) -> None:
            _recognize_moved(op, unit.weights, rewriter)

        sweep_entries(unit, rewriter, {DivOp: recognize, MulOp: recognize, AddOp: recognize_moved})


class _Norm(NamedTuple):
    """A normalisation without scale: of x, over the dimensions from axis on."""

    x: SSAValue
    axis: int
    eps: float


def _recognize(quotient: DivOp | MulOp, weights: WeightStore, rewriter: Rewriter) -> None:
    norm = _quotient(quotient, weights, rewriter)
    if norm is None:
        return
    size = shape_of(norm.x)[norm.axis :]
    replaced: list[Operation] = [quotient]
    scale, bias = _affine(replaced, size)
    root = replaced[-1]
    if not rewriter.allow("recognize-layer-norm", root):
        return
    scale = None if scale is None else reshaped(rewriter, root, scale, size)
    bias = None if bias is None else reshaped(rewriter, root, bias, size)
    new = rewriter.build(root, LayerNormOp, norm.x, scale, bias, sources=replaced, axis=norm.axis, eps=norm.eps)
    rewriter.applied(new, f"layer_norm recognized over the last {len(size)} dimensions")
    feeding = [v.owner for v in root.operands]
    rewriter.replace(root, new.results[0])
    for op in feeding:
        if isinstance(op, Operation):
            rewriter.erase_dead(op)


def _affine(replaced: list[Operation], size: Sequence[int]) -> tuple[SSAValue | None, SSAValue | None]:
    """Scale and bias applied after the quotient; appends the ops that apply them."""
    scale = applied_after(replaced, MulOp, size)
    bias = applied_after(replaced, AddOp, size) if scale is not None else None
    return scale, bias


def _quotient(op: DivOp | MulOp, weights: WeightStore, rewriter: Rewriter) -> _Norm | None:
    for centred, other in [tuple(op.operands)] if isinstance(op, DivOp) else either_way(op):
        root = under_root(other, divided=isinstance(op, DivOp))
        if root is not None and root is not centred:
            return _centred(op, centred, root, weights, rewriter)
    return None


def _centred(op: Operation, centred: SSAValue, root: SSAValue, weights: WeightStore, rewriter: Rewriter) -> _Norm | None:
    """Return the normalisation whose numerator is `centred` and whose denominator is the root of `root`."""
    sub, add = owner(centred, SubOp), owner(root, AddOp)
    if sub is None or add is None:
        return None
    x, mean = sub.operands[0], owner(sub.operands[1], ReduceMeanOp)
    if mean is None or mean.operands[0] is not x:
        return None
    for variance, constant in either_way(add):
        reduce = owner(variance, ReduceMeanOp)
        if reduce is None or not is_square(reduce.operands[0], centred, weights):
            continue
        eps, axis = constant_scalar(constant, weights), _last_axes(mean, reduce)
        if eps is not None and axis is not None:
            return _Norm(x, axis, eps)
        rewriter.missed(op, "eps is no constant" if eps is None else "the mean is not taken over the last dimensions")
    return None


def _last_axes(mean: ReduceMeanOp, variance: ReduceMeanOp) -> int | None:
    """The first of the axes of both means, if they are the last ones and kept."""
    rank = len(shape_of(mean.operands[0]))
    axes = sorted(a % rank for a in attr(mean, "axes"))
    same = axes == sorted(a % rank for a in attr(variance, "axes"))
    kept = attr(mean, "keepdims") and attr(variance, "keepdims")
    return axes[0] if same and kept and axes and axes == list(range(axes[0], rank)) else None


# ---- as Keras has it -------------------------------------------------------------------------------------------------------------------


def _recognize_moved(add: AddOp, weights: WeightStore, rewriter: Rewriter) -> None:
    """x * f + (bias - mean * f), in any order."""
    for product, shift in either_way(add):
        scaled = owner(product, MulOp)
        for x, factor in either_way(scaled) if scaled is not None else ():
            found = _root_and_scale(factor)
            moved = None if found is None else _mean_and_bias(shift, factor)
            if found is None or moved is None:
                continue
            centred = _centred_of(found[0])
            norm = None if centred is None else _centred(add, centred.results[0], found[0], weights, rewriter)
            if centred is None or norm is None or norm.x is not x or centred.operands[1] is not moved[0]:
                continue
            _replace(add, norm, found[1], moved[1], rewriter)
            return


def _root_and_scale(factor: SSAValue) -> tuple[SSAValue, SSAValue] | None:
    """r and s of s / sqrt(r), where s is constant."""
    op = owner(factor, MulOp)
    for inverse, scale in either_way(op) if op is not None else ():
        root = under_root(inverse, divided=False)
        if root is not None and is_constant(scale):
            return root, scale
    return None


def _mean_and_bias(shift: SSAValue, factor: SSAValue) -> tuple[SSAValue, SSAValue] | None:
    """m and b of b - m * factor, where b is constant."""
    op = owner(shift, AddOp, SubOp)
    if op is None:
        return None
    for product, bias in [tuple(reversed(op.operands))] if isinstance(op, SubOp) else either_way(op):
        scaled = owner(product, MulOp)
        for mean, other in either_way(scaled) if scaled is not None and is_constant(bias) else ():
            negative = owner(mean, NegOp)
            if other is factor and isinstance(op, SubOp) == (negative is None):
                return (mean if negative is None else negative.operands[0]), bias
    return None


def _centred_of(root: SSAValue) -> SubOp | None:
    """x - mean of the variance whose root is taken."""
    op = owner(root, AddOp)
    for variance, _ in either_way(op) if op is not None else ():
        reduce = owner(variance, ReduceMeanOp)
        square = None if reduce is None else owner(reduce.operands[0], MulOp, PowOp)
        if square is not None:
            return owner(square.operands[0], SubOp)
    return None


def _replace(add: AddOp, norm: _Norm, scale: SSAValue, bias: SSAValue, rewriter: Rewriter) -> None:
    size = shape_of(norm.x)[norm.axis :]
    alike = all(shape_of(v)[-len(size) :] == size and prod(shape_of(v)) == prod(size) for v in (scale, bias))
    if not alike or add.results[0].type != norm.x.type:
        rewriter.missed(add, "scale and bias are not one number an element that is normalized")
    elif rewriter.allow("recognize-layer-norm", add):
        affine = [reshaped(rewriter, add, v, size) for v in (scale, bias)]
        new = rewriter.build(add, LayerNormOp, norm.x, *affine, axis=norm.axis, eps=norm.eps)
        rewriter.applied(new, f"layer_norm recognized over the last {len(size)} dimensions")
        feeding = [v.owner for v in add.operands]
        rewriter.replace(add, new.results[0])
        for op in feeding:
            if isinstance(op, Operation):
                rewriter.erase_dead(op)
