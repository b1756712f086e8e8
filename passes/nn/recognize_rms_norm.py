"""The pass that recognizes root-mean-square normalization in what exporters make of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, NamedTuple

from xdsl.ir import Operation, SSAValue

from ttc.dialects.core.ir.spec import Spec
from ttc.dialects.core.records import record
from ttc.dialects.nn.binary import AddOp, DivOp, MulOp
from ttc.dialects.nn.norm import RmsNormOp
from ttc.dialects.nn.reduce import ReduceMeanOp
from ttc.passes.base import Pass, Rewriter, Unit
from ttc.passes.nn.match import attr, constant_scalar, either_way, owner, reshaped, shape_of, spec, sweep_entries
from ttc.passes.nn.normalization import applied_after, filled, is_square, under_root


@record
class RecognizeRmsNorm(Pass):
    """Find x / sqrt(mean x^2 + eps) * scale over the last dimensions; without a scale, one of ones is made.

    Before:
        (%x: tensor<2x8xf32>)
        %s = ttc.constant() {value = #ttc.weight<"s", tensor<8xf32>>} : () -> tensor<8xf32>
        %e = ttc.constant() {value = #ttc.literal<[0.0009765625], tensor<f32>>} : () -> tensor<f32>
        %t = ttc.constant() {value = #ttc.literal<[2.0], tensor<f32>>} : () -> tensor<f32>
        %0 = nn.pow(%x, %t) : (tensor<2x8xf32>, tensor<f32>) -> tensor<2x8xf32>
        %1 = nn.reduce_mean(%0) {axes = [1], keepdims = true} : (tensor<2x8xf32>) -> tensor<2x1xf32>
        %2 = nn.add(%1, %e) : (tensor<2x1xf32>, tensor<f32>) -> tensor<2x1xf32>
        %3 = nn.sqrt(%2) : (tensor<2x1xf32>) -> tensor<2x1xf32>
        %4 = nn.reciprocal(%3) : (tensor<2x1xf32>) -> tensor<2x1xf32>
        %5 = nn.mul(%x, %4) : (tensor<2x8xf32>, tensor<2x1xf32>) -> tensor<2x8xf32>
        %6 = nn.mul(%s, %5) : (tensor<8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
        return %6 : tensor<2x8xf32>
    After:
        (%x: tensor<2x8xf32>)
        %s = ttc.constant() {value = #ttc.weight<"s", tensor<8xf32>>} : () -> tensor<8xf32>
        %6 = nn.rms_norm(%x, %s) {axis = 1, eps = 0.0009765625} : (tensor<2x8xf32>, tensor<8xf32>) -> tensor<2x8xf32>
        return %6 : tensor<2x8xf32>
    Missed:
        the axes are not the last ones; eps is no constant.
    """

    name: ClassVar[str] = "recognize-rms-norm"

    def apply(self, unit: Unit, rewriter: Rewriter) -> None:
        def recognize(op: DivOp | MulOp) -> None:
            _recognize(op, unit, rewriter)

        sweep_entries(unit, rewriter, {DivOp: recognize, MulOp: recognize})


class _Norm(NamedTuple):
    """A normalization without scale: of x, over the dimensions from axis on."""

    x: SSAValue
    axis: int
    eps: float


def _recognize(quotient: DivOp | MulOp, unit: Unit, rewriter: Rewriter) -> None:
    norm = _quotient(quotient, unit, rewriter)
    if norm is None:
        return
    size = shape_of(norm.x)[norm.axis :]
    replaced: list[Operation] = [quotient]
    scale = applied_after(replaced, MulOp, size)
    root = replaced[-1]
    if not rewriter.allow("recognize-rms-norm", root):
        return
    scale = filled(root, Spec(size, spec(norm.x).dtype), 1, unit, rewriter) if scale is None else reshaped(rewriter, root, scale, size)
    new = rewriter.build(root, RmsNormOp, norm.x, scale, sources=replaced, axis=norm.axis, eps=norm.eps)
    rewriter.applied(new, f"rms_norm recognized over the last {len(size)} dimensions")
    feeding = [v.owner for v in root.operands]
    rewriter.replace(root, new.results[0])
    for op in feeding:
        if isinstance(op, Operation):
            rewriter.erase_dead(op)


def _quotient(op: DivOp | MulOp, unit: Unit, rewriter: Rewriter) -> _Norm | None:
    for x, other in [tuple(op.operands)] if isinstance(op, DivOp) else either_way(op):
        root = under_root(other, divided=isinstance(op, DivOp))
        add = None if root is None else owner(root, AddOp)
        if add is not None and op.results[0].type == x.type:
            return _mean_square(op, x, add, unit, rewriter)
    return None


def _mean_square(op: Operation, x: SSAValue, add: AddOp, unit: Unit, rewriter: Rewriter) -> _Norm | None:
    """Return the normalization of x, if the sum under the root is its mean square and eps."""
    for mean, constant in either_way(add):
        reduce = owner(mean, ReduceMeanOp)
        if reduce is None or not is_square(reduce.operands[0], x, unit.weights):
            continue
        eps, axis = constant_scalar(constant, unit.weights), _first_axis(reduce)
        if eps is not None and axis is not None:
            return _Norm(x, axis, eps)
        rewriter.missed(op, "eps is no constant" if eps is None else "the mean square is not taken over the last dimensions")
    return None


def _first_axis(reduce: ReduceMeanOp) -> int | None:
    """Return the first of the axes reduced, if they are the last ones and kept."""
    rank = len(shape_of(reduce.operands[0]))
    axes: Sequence[int] = sorted(a % rank for a in attr(reduce, "axes"))
    return axes[0] if attr(reduce, "keepdims") and axes and axes == list(range(axes[0], rank)) else None
