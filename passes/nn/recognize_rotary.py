"""The pass that recognizes rotary position embedding in what exporters make of it."""

from __future__ import annotations

from typing import ClassVar, NamedTuple

from xdsl.ir import Operation, SSAValue

from ttc.dialects.core.records import record
from ttc.dialects.nn.binary import AddOp, MulOp, SubOp
from ttc.dialects.nn.elementwise import FLOATING
from ttc.dialects.nn.pieces import ConcatOp, SliceOp, SplitOp
from ttc.dialects.nn.rotary import RotaryEmbeddingOp
from ttc.dialects.nn.shape import ReshapeOp
from ttc.dialects.nn.unary import NegOp
from ttc.passes.base import Pass, Rewriter, Unit
from ttc.passes.nn.match import attr, either_way, owner, shape_of, spec, sweep_entries


@record
class RecognizeRotary(Pass):
    """Find x * cos + rotated(x) * sin, where rotated exchanges the halves of the last dimension, or neighbours, and negates one of them.

    The form that computes both halves apart, x1 * cos - x2 * sin and x2 * cos + x1 * sin, is found too; its tables are doubled.

    Before:
        (%x: tensor<2x4x8xf32>, %c: tensor<4x8xf32>, %s: tensor<4x8xf32>)
        %0 = nn.mul(%x, %c) : (tensor<2x4x8xf32>, tensor<4x8xf32>) -> tensor<2x4x8xf32>
        %1 = nn.slice(%x) {sizes = [2, 4, 4], starts = [0, 0, 0], steps = [1, 1, 1]} : (tensor<2x4x8xf32>) -> tensor<2x4x4xf32>
        %2 = nn.slice(%x) {sizes = [2, 4, 4], starts = [0, 0, 4], steps = [1, 1, 1]} : (tensor<2x4x8xf32>) -> tensor<2x4x4xf32>
        %3 = nn.neg(%2) : (tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
        %4 = nn.concat(%3, %1) {axis = 2} : (tensor<2x4x4xf32>, tensor<2x4x4xf32>) -> tensor<2x4x8xf32>
        %5 = nn.mul(%4, %s) : (tensor<2x4x8xf32>, tensor<4x8xf32>) -> tensor<2x4x8xf32>
        %6 = nn.add(%0, %5) : (tensor<2x4x8xf32>, tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
        return %6 : tensor<2x4x8xf32>
    After:
        (%x: tensor<2x4x8xf32>, %c: tensor<4x8xf32>, %s: tensor<4x8xf32>)
        %6 = nn.rotary_embedding(%x, %c, %s) {interleaved = false}
            : (tensor<2x4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<2x4x8xf32>
        return %6 : tensor<2x4x8xf32>
    Missed:
        x is rotated, but what is added to it is no multiple of x of the same shape.
    """

    name: ClassVar[str] = "recognize-rotary"

    def apply(self, unit: Unit, rewriter: Rewriter) -> None:
        sweep_entries(unit, rewriter, {AddOp: lambda op: _whole(op, rewriter), ConcatOp: lambda op: _by_halves(op, rewriter)})


class _Rotated(NamedTuple):
    """What is rotated, and which features are a pair."""

    x: SSAValue
    interleaved: bool


class _Part(NamedTuple):
    """Every step-th element of the last dimension of x, from start on: a half of all."""

    x: SSAValue
    start: int
    step: int


def _whole(add: AddOp, rewriter: Rewriter) -> None:
    for plain, turned in either_way(add):
        product, other = owner(turned, MulOp), owner(plain, MulOp)
        for candidate, sin in [] if product is None else either_way(product):
            rotated = _rotated(candidate)
            if rotated is None:
                continue
            cos = None if other is None else next((b for a, b in either_way(other) if a is rotated.x), None)
            if cos is None or add.results[0].type != rotated.x.type:
                rewriter.missed(add, "a rotated value is no part of a rotary embedding")
                return
            _replace(add, rotated, cos, sin, (candidate.owner, product, other), rewriter)
            return


def _rotated(value: SSAValue) -> _Rotated | None:
    """x, if the value is (-second half, first half) of its last dimension, or (-x[1], x[0], -x[3], ...)."""
    reshape = owner(value, ReshapeOp)
    concat = owner(value if reshape is None else reshape.operands[0], ConcatOp)
    if concat is None or len(concat.operands) != 2 or attr(concat, "axis") % len(shape_of(concat.results[0])) != _last(concat.results[0]):
        return None
    negated = owner(_flat(concat.operands[0], reshape), NegOp)
    first = _part(_flat(concat.operands[1], reshape))
    second = None if negated is None else _part(_flat(negated.operands[0], reshape))
    if first is None or second is None or first.x is not second.x or shape_of(first.x) != shape_of(value):
        return None
    half = shape_of(first.x)[-1] // 2
    if reshape is None:
        return _Rotated(first.x, interleaved=False) if (first[1:], second[1:]) == ((0, 1), (half, 1)) else None
    paired = shape_of(concat.results[0]) == (*shape_of(value)[:-1], half, 2)
    return _Rotated(first.x, interleaved=True) if paired and (first[1:], second[1:]) == ((0, 2), (1, 2)) else None


def _flat(value: SSAValue, reshape: ReshapeOp | None) -> SSAValue:
    """In the interleaved form, the value before a dimension of size 1 was added for the neighbours."""
    op = None if reshape is None else owner(value, ReshapeOp)
    return value if op is None or (*shape_of(op.operands[0]), 1) != shape_of(value) else op.operands[0]


def _part(value: SSAValue) -> _Part | None:
    op = owner(value, SliceOp, SplitOp)
    if op is None:
        return None
    x = op.operands[0]
    last, size = _last(x), shape_of(x)[-1]
    if size % 2:
        return None
    if isinstance(op, SplitOp):
        halves = attr(op, "axis") % (last + 1) == last and attr(op, "sizes") == (size // 2, size // 2)
        return _Part(x, size // 2 * op.results.index(value), 1) if halves else None  # pyright: ignore[reportArgumentType]
    sizes, starts, steps = attr(op, "sizes"), attr(op, "starts"), attr(op, "steps")
    whole = sizes[:-1] == shape_of(x)[:-1] and all(step == 1 for step in steps[:-1])
    return _Part(x, starts[-1], steps[-1]) if whole and sizes[-1] == size // 2 else None


def _by_halves(concat: ConcatOp, rewriter: Rewriter) -> None:
    """concat(x1 * cos - x2 * sin, x2 * cos + x1 * sin)."""
    if len(concat.operands) != 2 or attr(concat, "axis") % len(shape_of(concat.results[0])) != _last(concat.results[0]):
        return
    sub, add = owner(concat.operands[0], SubOp), owner(concat.operands[1], AddOp)
    left, right = (None, None) if sub is None else (owner(v, MulOp) for v in sub.operands)
    if add is None or left is None or right is None:
        return
    for first, cos in either_way(left):
        for second, sin in either_way(right):
            one, two = _part(first), _part(second)
            halves = one is not None and two is not None and (one.x, one[1:], two[1:]) == (two.x, (0, 1), (shape_of(one.x)[-1] // 2, 1))
            if one is None or not halves or not _crossed(add, (second, cos), (first, sin)):
                continue
            if one.x.type != concat.results[0].type or not _fits(cos, first) or not _fits(sin, first):
                continue
            wide_cos, wide_sin = _doubled(concat, cos, rewriter), _doubled(concat, sin, rewriter)
            _replace(concat, _Rotated(one.x, interleaved=False), wide_cos, wide_sin, (sub, add), rewriter)
            return


def _crossed(add: AddOp, left: tuple[SSAValue, SSAValue], right: tuple[SSAValue, SSAValue]) -> bool:
    """Return whether a sum is that of two products."""
    products = [owner(v, MulOp) for v in add.operands]
    found = [None if p is None else frozenset(p.operands) for p in products]
    return set(found) == {frozenset(left), frozenset(right)}


def _fits(table: SSAValue, half: SSAValue) -> bool:
    return shape_of(table)[-1:] == shape_of(half)[-1:] and len(shape_of(table)) <= len(shape_of(half))


def _doubled(anchor: Operation, table: SSAValue, rewriter: Rewriter) -> SSAValue:
    """Return a table of one number a pair, with one a feature."""
    return rewriter.build(anchor, ConcatOp, table, table, axis=_last(table)).results[0]


def _replace(root: Operation, rotated: _Rotated, cos: SSAValue, sin: SSAValue, inner: tuple[object, ...], rewriter: Rewriter) -> None:
    if spec(root.results[0]).dtype.kind not in FLOATING or not rewriter.allow("recognize-rotary", root):
        return
    sources = [*(op for op in inner if isinstance(op, Operation)), root]
    new = rewriter.build(root, RotaryEmbeddingOp, rotated.x, cos, sin, sources=sources, interleaved=rotated.interleaved)
    rewriter.applied(new, f"rotary embedding recognized, {'neighbours' if rotated.interleaved else 'halves'} are pairs")
    feeding = list(root.operands)
    rewriter.replace(root, new.results[0])
    for value in feeding:
        if isinstance(value.owner, Operation):
            rewriter.erase_dead(value.owner)


def _last(value: SSAValue) -> int:
    return len(shape_of(value)) - 1
