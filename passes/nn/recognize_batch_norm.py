"""The pass that recognizes batch normalization by running statistics in what TensorFlow makes of it."""

from __future__ import annotations

from typing import ClassVar, NamedTuple

from xdsl.ir import SSAValue

from ttc.dialects.core.ir.leaves import ConstantOp, ParamOp
from ttc.dialects.core.ir.spec import Spec
from ttc.dialects.core.records import record
from ttc.dialects.nn.binary import AddOp, MulOp, SubOp
from ttc.dialects.nn.norm import BatchNormOp
from ttc.dialects.nn.unary import NegOp, RsqrtOp
from ttc.passes.base import Pass, Rewriter, Unit
from ttc.passes.nn.match import constant_scalar, either_way, owner, shape_of, spec, sweep_entries
from ttc.passes.nn.normalization import filled


@record
class RecognizeBatchNorm(Pass):
    """Find x * inverse + (bias - mean * inverse), for inverse = scale / sqrt(var + eps), of statistics that are parameters or constants.

    Without a scale or a bias, one of ones or zeros is made.  Training needs batch norms as such: their statistics are then of the batch.

    Before:
        (%x: tensor<4x2xf32>)
        %e = ttc.constant() {value = #ttc.literal<[0.5], tensor<f32>>} : () -> tensor<f32>
        %s = ttc.param() {sym = "s", value = #ttc.literal<[1.0, 3.0], tensor<2xf32>>} : () -> tensor<2xf32>
        %b = ttc.param() {sym = "b", value = #ttc.literal<[0.0, 1.0], tensor<2xf32>>} : () -> tensor<2xf32>
        %m = ttc.param() {sym = "m", value = #ttc.literal<[0.5, 0.25], tensor<2xf32>>} : () -> tensor<2xf32>
        %v = ttc.param() {sym = "v", value = #ttc.literal<[1.0, 2.0], tensor<2xf32>>} : () -> tensor<2xf32>
        %0 = nn.add(%v, %e) : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
        %1 = nn.rsqrt(%0) : (tensor<2xf32>) -> tensor<2xf32>
        %2 = nn.mul(%1, %s) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
        %3 = nn.mul(%x, %2) : (tensor<4x2xf32>, tensor<2xf32>) -> tensor<4x2xf32>
        %4 = nn.mul(%m, %2) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
        %5 = nn.sub(%b, %4) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
        %6 = nn.add(%3, %5) : (tensor<4x2xf32>, tensor<2xf32>) -> tensor<4x2xf32>
        return %6 : tensor<4x2xf32>
    After:
        (%x: tensor<4x2xf32>)
        %s = ttc.param() {sym = "s", value = #ttc.literal<[1.0, 3.0], tensor<2xf32>>} : () -> tensor<2xf32>
        %b = ttc.param() {sym = "b", value = #ttc.literal<[0.0, 1.0], tensor<2xf32>>} : () -> tensor<2xf32>
        %m = ttc.param() {sym = "m", value = #ttc.literal<[0.5, 0.25], tensor<2xf32>>} : () -> tensor<2xf32>
        %v = ttc.param() {sym = "v", value = #ttc.literal<[1.0, 2.0], tensor<2xf32>>} : () -> tensor<2xf32>
        %6 = nn.batch_norm(%x, %s, %b, %m, %v) {axis = 1, eps = 0.5}
            : (tensor<4x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<4x2xf32>
        return %6 : tensor<4x2xf32>
    Missed:
        eps is no constant.
    """

    name: ClassVar[str] = "recognize-batch-norm"

    def apply(self, unit: Unit, rewriter: Rewriter) -> None:
        sweep_entries(unit, rewriter, {AddOp: lambda op: _recognize(op, unit, rewriter)})


class _Norm(NamedTuple):
    """The operands of a batch norm; scale, bias: None where there is none."""

    x: SSAValue
    scale: SSAValue | None
    bias: SSAValue | None
    mean: SSAValue
    var: SSAValue
    eps: float | None


def _recognize(root: AddOp, unit: Unit, rewriter: Rewriter) -> None:
    norm = next((found for scaled, shift in either_way(root) if (found := _norm(scaled, shift, unit)) is not None), None)
    if norm is None or root.results[0].type != norm.x.type:
        return
    if norm.eps is None:
        rewriter.missed(root, "eps is no constant")
        return
    channels = Spec(shape_of(norm.x)[-1:], spec(norm.x).dtype)
    vectors = [value for value in (norm.scale, norm.bias, norm.mean, norm.var) if value is not None]
    if any(spec(value) != channels for value in vectors) or not rewriter.allow("recognize-batch-norm", root):
        return
    scale = filled(root, channels, 1, unit, rewriter) if norm.scale is None else norm.scale
    bias = filled(root, channels, 0, unit, rewriter) if norm.bias is None else norm.bias
    operands = (norm.x, scale, bias, norm.mean, norm.var)
    new = rewriter.build(root, BatchNormOp, *operands, sources=[root], axis=len(shape_of(norm.x)) - 1, eps=norm.eps)
    rewriter.applied(new, f"batch_norm recognized over {channels.shape[0]} channels")
    feeding = [value.owner for value in root.operands]
    rewriter.replace(root, new.results[0])
    for op in feeding:
        if isinstance(op, AddOp | MulOp | SubOp | NegOp):
            rewriter.erase_dead(op)


def _norm(scaled: SSAValue, shift: SSAValue, unit: Unit) -> _Norm | None:
    """Return the batch norm of which the sum of two values is made: x * inverse, and bias - mean * inverse."""
    product = owner(scaled, MulOp)
    if product is None:
        return None
    for x, inverse in either_way(product):
        bias, mean = _shift(shift, inverse)
        scale, root = _scaled_root(inverse)
        added = None if root is None else owner(root.operands[0], AddOp)
        if mean is None or added is None or len(shape_of(inverse)) != 1:
            continue
        for var, eps in either_way(added):
            if all(owner(value, ParamOp, ConstantOp) is not None for value in (mean, var)) and shape_of(var):
                return _Norm(x, scale, bias, mean, var, constant_scalar(eps, unit.weights))
    return None


def _scaled_root(inverse: SSAValue) -> tuple[SSAValue | None, RsqrtOp | None]:
    """Return the scale, if there is one, and the reciprocal root that it multiplies."""
    root, product = owner(inverse, RsqrtOp), owner(inverse, MulOp)
    if root is not None or product is None:
        return None, root
    for one, other in either_way(product):
        found = owner(one, RsqrtOp)
        if found is not None:
            return other, found
    return None, None


def _shift(value: SSAValue, inverse: SSAValue) -> tuple[SSAValue | None, SSAValue | None]:
    """The bias, if there is one, and the mean of bias - mean * inverse, -(mean * inverse) or (-mean) * inverse; no mean: of neither."""
    difference, negated, product = owner(value, SubOp), owner(value, NegOp), owner(value, MulOp)
    if difference is not None:
        return difference.operands[0], _times(difference.operands[1], inverse)
    if negated is not None:
        return None, _times(negated.operands[0], inverse)
    factor = None if product is None else _times(value, inverse)
    opposite = None if factor is None else owner(factor, NegOp)
    return None, None if opposite is None else opposite.operands[0]


def _times(value: SSAValue, inverse: SSAValue) -> SSAValue | None:
    """Return the other factor of a product with a value; None for what is no such product."""
    product = owner(value, MulOp)
    return None if product is None else next((a for a, b in either_way(product) if b is inverse), None)
