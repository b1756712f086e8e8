"""Keys and values that several heads of queries share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, NamedTuple

from xdsl.ir import Operation, SSAValue

from ttc.dialects.core.records import record
from ttc.dialects.nn.attention import AttentionOp
from ttc.dialects.nn.shape import ExpandOp, ReshapeOp
from ttc.passes.base import Pass, Rewriter, Unit
from ttc.passes.nn.match import owner, rebuilt, reshaped, shape_of, sweep_entries


@record
class GroupHeads(Pass):
    """Let attention share keys and values between heads, instead of repeating them: the queries' heads become groups of heads.

    Before:
        (%q: tensor<2x4x5x8xf32>, %k: tensor<2x2x1x6x8xf32>, %v: tensor<2x2x1x6x3xf32>)
        %0 = nn.expand(%k) {shape = [2, 2, 2, 6, 8]} : (tensor<2x2x1x6x8xf32>) -> tensor<2x2x2x6x8xf32>
        %1 = nn.reshape(%0) {shape = [2, 4, 6, 8]} : (tensor<2x2x2x6x8xf32>) -> tensor<2x4x6x8xf32>
        %2 = nn.expand(%v) {shape = [2, 2, 2, 6, 3]} : (tensor<2x2x1x6x3xf32>) -> tensor<2x2x2x6x3xf32>
        %3 = nn.reshape(%2) {shape = [2, 4, 6, 3]} : (tensor<2x2x2x6x3xf32>) -> tensor<2x4x6x3xf32>
        %4 = nn.attention(%q, %1, %3, _) {scale = 0.5, zero_masked = false}
            : (tensor<2x4x5x8xf32>, tensor<2x4x6x8xf32>, tensor<2x4x6x3xf32>) -> tensor<2x4x5x3xf32>
        return %4 : tensor<2x4x5x3xf32>
    After:
        (%q: tensor<2x4x5x8xf32>, %k: tensor<2x2x1x6x8xf32>, %v: tensor<2x2x1x6x3xf32>)
        %0 = nn.reshape(%q) {shape = [2, 2, 2, 5, 8]} : (tensor<2x4x5x8xf32>) -> tensor<2x2x2x5x8xf32>
        %1 = nn.attention(%0, %k, %v, _) {scale = 0.5, zero_masked = false}
            : (tensor<2x2x2x5x8xf32>, tensor<2x2x1x6x8xf32>, tensor<2x2x1x6x3xf32>) -> tensor<2x2x2x5x3xf32>
        %4 = nn.reshape(%1) {shape = [2, 4, 5, 3]} : (tensor<2x2x2x5x3xf32>) -> tensor<2x4x5x3xf32>
        return %4 : tensor<2x4x5x3xf32>
    Missed:
        keys are repeated and values are not, or in another number.
    """

    name: ClassVar[str] = "group-heads"

    def apply(self, unit: Unit, rewriter: Rewriter) -> None:
        sweep_entries(unit, rewriter, {AttentionOp: lambda op: _group(op, rewriter)})


class _Shared(NamedTuple):
    """Keys or values before they were repeated.

    Args:
        value: tensor[..., h, 1, t, d]; with one head for all, tensor[..., 1, t, d].
        heads: h.
        repeats: how many heads of queries share one.
    """

    value: SSAValue
    heads: int
    repeats: int


def _group(op: AttentionOp, rewriter: Rewriter) -> None:
    q, k, v, mask = op.named_operands()
    keys, values = (None if x is None else _shared(x) for x in (k, v))
    if q is None or (keys is None and values is None):
        return
    if keys is None or values is None or keys[1:] != values[1:]:
        rewriter.missed(op, "keys and values are not repeated alike")
        return
    if len(shape_of(q)) != len(shape_of(op.results[0])) or shape_of(q)[-3] != keys.heads * keys.repeats:
        rewriter.missed(op, "queries have fewer heads than keys and values")
        return
    if not rewriter.allow("group-heads", op):
        return
    if keys.heads == 1:
        shared = [
            reshaped(rewriter, op, x.value, (*shape_of(x.value)[: len(shape_of(q)) - 3], 1, *shape_of(x.value)[-2:]))
            for x in (keys, values)
        ]
        new = rebuilt(rewriter, op, op, (q, *shared, mask), (op,)).results[0]
    else:
        new = _grouped(op, q, keys, values, mask, rewriter)
    rewriter.applied(op, f"{keys.heads} heads of keys and values, shared by {keys.repeats} heads of queries each")
    feeding = [x.owner for x in op.operands]
    rewriter.replace(op, new)
    for owner_ in feeding:
        if isinstance(owner_, Operation):
            rewriter.erase_dead(owner_)


def _grouped(op: AttentionOp, q: SSAValue, keys: _Shared, values: _Shared, mask: SSAValue | None, rewriter: Rewriter) -> SSAValue:
    groups = (keys.heads, keys.repeats)
    shape = shape_of(q)
    queries = reshaped(rewriter, op, q, (*shape[:-3], *groups, *shape[-2:]))
    added = None if mask is None else _mask(op, mask, groups, rewriter)
    made = rebuilt(rewriter, op, op, (queries, keys.value, values.value, added), (op,)).results[0]
    return reshaped(rewriter, op, made, shape_of(op.results[0]))


def _mask(op: AttentionOp, mask: SSAValue, groups: Sequence[int], rewriter: Rewriter) -> SSAValue:
    """The mask for groups of heads.  One of each sample is repeated for the heads of keys, so that samples and heads stay one dimension."""
    shape = shape_of(mask)
    if len(shape) < 3:
        return mask
    if shape[-3] != 1:
        return reshaped(rewriter, op, mask, (*shape[:-3], *groups, *shape[-2:]))
    wide = reshaped(rewriter, op, mask, (*shape[:-3], 1, 1, *shape[-2:]))
    if all(size == 1 for size in shape[:-3]):
        return wide
    return rewriter.build(op, ExpandOp, wide, shape=(*shape[:-3], groups[0], 1, *shape[-2:])).results[0]


def _shared(value: SSAValue) -> _Shared | None:
    """Return what repeated keys or values were before; None if they are not repeated."""
    whole = shape_of(value)
    if len(whole) < 3:
        return None
    expand = owner(value, ExpandOp)
    if expand is not None:
        x = expand.operands[0]
        shared = shape_of(x) == (*whole[:-3], 1, *whole[-2:]) and whole[-3] > 1
        return _Shared(x, 1, whole[-3]) if shared else None
    reshape = owner(value, ReshapeOp)
    expand = None if reshape is None else owner(reshape.operands[0], ExpandOp)
    if expand is None:
        return None
    x, wide = expand.operands[0], shape_of(expand.results[0])
    if len(wide) != len(whole) + 1 or (*wide[:-4], wide[-4] * wide[-3], *wide[-2:]) != whole:
        return None
    return _Shared(x, wide[-4], wide[-3]) if shape_of(x) == (*wide[:-3], 1, *wide[-2:]) and wide[-3] > 1 else None
