"""The pass that recognizes scaled dot-product attention in what exporters make of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, NamedTuple

from xdsl.ir import Operation, SSAValue

from ttc.dialects.core.plain.weights import WeightStore
from ttc.dialects.core.records import record
from ttc.dialects.nn.attention import AttentionOp
from ttc.dialects.nn.binary import DivOp, MulOp, WhereOp
from ttc.dialects.nn.linear import MatmulOp
from ttc.dialects.nn.shape import TransposeOp
from ttc.dialects.nn.softmax import SoftmaxOp
from ttc.dialects.nn.unary import IsNanOp
from ttc.passes.base import Pass, Rewriter, Unit
from ttc.passes.nn.attention_masks import Mask, added_up, masked
from ttc.passes.nn.match import (
    attr,
    composed,
    constant_scalar,
    either_way,
    has_elements,
    owner,
    perm_of,
    shape_of,
    sole_user,
    swap_last_two,
    sweep_entries,
    transposed,
    users,
)

MAX_STEPS = 8
"""The most constant factors and transposes that are looked through at each side of the scores."""

MAX_MASKS = 4
"""The most masks applied one after another."""


@record
class RecognizeAttention(Pass):
    """Find softmax(q k^T * scale + mask) v, scaled on the scores or on q and k, and the rows of NaN that exporters set to zero.

    Scores replaced by -inf, or by a number that leaves nothing of them after softmax, are a mask added; several masks add up.

    Before:
        (%q: tensor<2x4x8xf32>, %k: tensor<2x5x8xf32>, %v: tensor<2x5x3xf32>, %m: tensor<4x5xf32>)
        %c = ttc.constant() {value = #ttc.literal<[0.5], tensor<f32>>} : () -> tensor<f32>
        %0 = nn.transpose(%k) {perm = [0, 2, 1]} : (tensor<2x5x8xf32>) -> tensor<2x8x5xf32>
        %1 = nn.matmul(%q, %0, _) {transpose_a = false, transpose_b = false} : (tensor<2x4x8xf32>, tensor<2x8x5xf32>) -> tensor<2x4x5xf32>
        %2 = nn.mul(%1, %c) : (tensor<2x4x5xf32>, tensor<f32>) -> tensor<2x4x5xf32>
        %3 = nn.add(%2, %m) : (tensor<2x4x5xf32>, tensor<4x5xf32>) -> tensor<2x4x5xf32>
        %4 = nn.softmax(%3) {axis = -1} : (tensor<2x4x5xf32>) -> tensor<2x4x5xf32>
        %5 = nn.matmul(%4, %v, _) {transpose_a = false, transpose_b = false} : (tensor<2x4x5xf32>, tensor<2x5x3xf32>) -> tensor<2x4x3xf32>
        return %5 : tensor<2x4x3xf32>
    After:
        (%q: tensor<2x4x8xf32>, %k: tensor<2x5x8xf32>, %v: tensor<2x5x3xf32>, %m: tensor<4x5xf32>)
        %5 = nn.attention(%q, %k, %v, %m) {scale = 0.5, zero_masked = false}
            : (tensor<2x4x8xf32>, tensor<2x5x8xf32>, tensor<2x5x3xf32>, tensor<4x5xf32>) -> tensor<2x4x3xf32>
        return %5 : tensor<2x4x3xf32>
    Missed:
        softmax is not over the last axis; the scores or probabilities have other users; the scores are no plain matmul.
    """

    name: ClassVar[str] = "recognize-attention"

    def apply(self, unit: Unit, rewriter: Rewriter) -> None:
        sweep_entries(unit, rewriter, {SoftmaxOp: lambda op: _recognize(op, unit.weights, rewriter)})


class _Scores(NamedTuple):
    """Scores before softmax: their matmul, what they are multiplied by, and the masks applied, innermost first."""

    matmul: MatmulOp
    scale: float
    masks: tuple[Mask, ...]


class _Factor(NamedTuple):
    """An operand of the score matmul without its constant factor and transposes: scale * transpose(value, perm)."""

    value: SSAValue
    scale: float
    perm: tuple[int, ...]


def _recognize(softmax: SoftmaxOp, weights: WeightStore, rewriter: Rewriter) -> None:
    probabilities, zero_masked = _probabilities(softmax, weights)
    root = sole_user(probabilities)
    if not isinstance(root, MatmulOp) or root.operands[0] is not probabilities:
        return
    scores = _scores(softmax.operands[0], weights)
    reason = _obstacle(softmax, root, scores)
    if scores is None or reason is not None:
        rewriter.missed(softmax, f"softmax before a matmul is no attention: {reason}")
        return
    q, k = _factor(scores.matmul, 0, weights), _factor(scores.matmul, 1, weights)
    if not rewriter.allow("recognize-attention", root):
        return
    operands = [
        transposed(rewriter, root, q.value, q.perm),
        transposed(rewriter, root, k.value, composed(k.perm, swap_last_two(len(k.perm)))),
        _values(root, rewriter),
        added_up(root, scores.masks, rewriter),
    ]
    scale = scores.scale * q.scale * k.scale
    sources = [scores.matmul, softmax, root]
    new = rewriter.build(root, AttentionOp, *operands, sources=sources, scale=scale, zero_masked=zero_masked)
    rewriter.applied(new, f"attention recognized, scale {scale:.6g}, {'masked' if scores.masks else 'no mask'}")
    rewriter.replace(root, new.results[0])
    probable = probabilities.owner
    if isinstance(probable, Operation):
        rewriter.erase_dead(probable)


def _values(root: MatmulOp, rewriter: Rewriter) -> SSAValue:
    value = root.operands[1]
    return transposed(rewriter, root, value, swap_last_two(len(shape_of(value)))) if attr(root, "transpose_b") else value


def _obstacle(softmax: SoftmaxOp, root: MatmulOp, scores: _Scores | None) -> str | None:
    """Why this is no attention; None if it is."""
    rank = len(shape_of(softmax.operands[0]))
    if attr(softmax, "axis") % rank != rank - 1:
        return "softmax is not over the last axis"
    if not _is_plain(root) or attr(root, "transpose_a"):
        return "the matmul after it has a bias, an activation or a transposed operand"
    if scores is None:
        return "the scores are no matmul that has no other users"
    if not _is_plain(scores.matmul):
        return "the scores have a bias or an activation"
    return None


def _is_plain(op: MatmulOp) -> bool:
    return len(op.operands) == 2 and attr(op, "activation") is None


def _probabilities(softmax: SoftmaxOp, weights: WeightStore) -> tuple[SSAValue, bool]:
    """Return the probabilities that the second matmul reads, and whether rows of NaN were set to zero."""
    value = softmax.results[0]
    readers = users(value)
    test = next((op for op in readers if isinstance(op, IsNanOp)), None)
    choice = None if test is None else sole_user(test.results[0])
    if len(readers) != 2 or not isinstance(choice, WhereOp) or choice not in readers:
        return value, False
    condition, zero, other = choice.operands
    if test is None or condition is not test.results[0] or other is not value or not has_elements(zero, 0.0, weights):
        return value, False
    return choice.results[0], True


def _scores(value: SSAValue, weights: WeightStore, masks: int = MAX_MASKS) -> _Scores | None:
    """Return the scores that softmax takes; None if they are not made by a matmul for it alone."""
    found = _scaled(value, weights)
    if found is not None or masks == 0 or sole_user(value) is None:
        return found
    for scores, mask in masked(value, weights):
        found = _scores(scores, weights, masks - 1)
        if found is not None:
            return found._replace(masks=(*found.masks, *(() if mask is None else (mask,))))
    return None


def _scaled(value: SSAValue, weights: WeightStore) -> _Scores | None:
    scale = 1.0
    for _ in range(MAX_STEPS):
        op = value.owner
        if sole_user(value) is None:
            return None
        if isinstance(op, MatmulOp):
            return _Scores(op, scale, ())
        step = _constant_factor(value, weights)
        if step is None:
            return None
        value, scale = step[0], scale * step[1]
    return None


def _constant_factor(value: SSAValue, weights: WeightStore) -> tuple[SSAValue, float] | None:
    """Return what the value is a constant multiple of, and the constant; the shape is kept."""
    op = owner(value, MulOp, DivOp)
    if op is None:
        return None
    for inner, other in either_way(op) if isinstance(op, MulOp) else [tuple(op.operands)]:
        number = constant_scalar(other, weights)
        if number and inner.type == value.type:
            return inner, number if isinstance(op, MulOp) else 1.0 / number
    return None


def _factor(matmul: MatmulOp, index: int, weights: WeightStore) -> _Factor:
    value = matmul.operands[index]
    rank = len(shape_of(value))
    flag = attr(matmul, "transpose_a" if index == 0 else "transpose_b")
    perm: Sequence[int] = swap_last_two(rank) if flag else range(rank)
    scale = 1.0
    for _ in range(MAX_STEPS):
        step = _constant_factor(value, weights)
        if step is not None:
            value, scale = step[0], scale * step[1]
        elif isinstance(value.owner, TransposeOp):
            perm = composed(perm_of(value.owner), perm)
            value = value.owner.operands[0]
        else:
            break
    return _Factor(value, scale, tuple(perm))
