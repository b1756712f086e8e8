"""The pass that takes pieces of tensors before these are transposed or reshaped."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import prod
from typing import ClassVar

from xdsl.ir import Operation, SSAValue

from ttc.dialects.core.records import record
from ttc.dialects.nn.pieces import SliceOp, SplitOp
from ttc.dialects.nn.shape import ReshapeOp, TransposeOp
from ttc.passes.base import Pass, Rewriter, Unit
from ttc.passes.nn.match import attr, owner, perm_of, reshaped, shape_of, sole_user, sweep_entries, users
from ttc.passes.nn.rules import static


@record
class HoistPieces(Pass):
    """Take pieces of a tensor before it is reshaped, and transposed along their dimension, where nothing reads it whole.

    Queries, keys and values that one product computes thus are columns of its result, which keep their samples and rows.

    Before:
        (%x: tensor<4x6x24xf32>)
        %0 = nn.reshape(%x) {shape = [4, 6, 3, 2, 4]} : (tensor<4x6x24xf32>) -> tensor<4x6x3x2x4xf32>
        %1 = nn.transpose(%0) {perm = [2, 0, 3, 1, 4]} : (tensor<4x6x3x2x4xf32>) -> tensor<3x4x2x6x4xf32>
        %2, %3 = nn.split(%1) {axis = 0, sizes = [2, 1]} : (tensor<3x4x2x6x4xf32>) -> (tensor<2x4x2x6x4xf32>, tensor<1x4x2x6x4xf32>)
        return %2, %3 : tensor<2x4x2x6x4xf32>, tensor<1x4x2x6x4xf32>
    After:
        (%x: tensor<4x6x24xf32>)
        %0, %1 = nn.split(%x) {axis = 2, sizes = [16, 8]} : (tensor<4x6x24xf32>) -> (tensor<4x6x16xf32>, tensor<4x6x8xf32>)
        %2 = nn.reshape(%0) {shape = [4, 6, 2, 2, 4]} : (tensor<4x6x16xf32>) -> tensor<4x6x2x2x4xf32>
        %3 = nn.transpose(%2) {perm = [2, 0, 3, 1, 4]} : (tensor<4x6x2x2x4xf32>) -> tensor<2x4x2x6x4xf32>
        %4 = nn.reshape(%1) {shape = [4, 6, 2, 4]} : (tensor<4x6x8xf32>) -> tensor<4x6x2x4xf32>
        %5 = nn.transpose(%4) {perm = [0, 2, 1, 3]} : (tensor<4x6x2x4xf32>) -> tensor<4x2x6x4xf32>
        %6 = nn.reshape(%5) {shape = [1, 4, 2, 6, 4]} : (tensor<4x2x6x4xf32>) -> tensor<1x4x2x6x4xf32>
        return %3, %6 : tensor<2x4x2x6x4xf32>, tensor<1x4x2x6x4xf32>
    Missed:
        other ops read what is reshaped or transposed, or the pieces' dimension is made of several, or of the inner part of one.
    """

    name: ClassVar[str] = "hoist-pieces"

    def apply(self, unit: Unit, rewriter: Rewriter) -> None:
        def hoist(op: SliceOp | SplitOp) -> None:
            axis = _axis(op)
            views = [] if axis is None else _views(op, axis)
            if axis is not None and views and rewriter.allow(self.name, op):
                _hoist(op, axis, views, rewriter)

        sweep_entries(unit, rewriter, {SliceOp: hoist, SplitOp: hoist})


def _axis(op: Operation) -> int | None:
    """Return the dimension along which an op takes pieces; None if it is none, or takes less of several, or not each element."""
    if isinstance(op, SplitOp):
        return attr(op, "axis")
    if not isinstance(op, SliceOp) or any(step != 1 for step in attr(op, "steps")):
        return None
    cut = [i for i, (size, whole) in enumerate(zip(attr(op, "sizes"), shape_of(op.operands[0]), strict=True)) if size != whole]
    return cut[0] if len(cut) == 1 else None


def _views(op: Operation, axis: int) -> list[tuple[TransposeOp | ReshapeOp, int]]:
    """Return the views above an op that pieces can be taken before, the last first, with the dimension of pieces in what each reads."""
    value = op.operands[0]
    found: list[tuple[TransposeOp | ReshapeOp, int]] = []
    if any(_axis(user) != axis for user in users(value)):
        return []
    while (view := owner(value, TransposeOp, ReshapeOp)) is not None:
        before = _before(view, axis)
        if before is None or (sole_user(value) is None if found else isinstance(view, TransposeOp) and before == axis):
            break
        found.append((view, before))
        value, axis = view.operands[0], before
    return found


def _before(view: TransposeOp | ReshapeOp, axis: int) -> int | None:
    """Return the dimension of a view's operand whose pieces become those along `axis` of its result; None if there is none."""
    if isinstance(view, TransposeOp):
        return perm_of(view)[axis]
    x, y = shape_of(view.operands[0]), shape_of(view.results[0])
    if not (static(view.operands[0]) and static(view.results[0])) or 0 in y:
        return None
    outer = prod(y[:axis])
    before = next((i for i, size in enumerate(x) if size > 1 and prod(x[:i]) == outer), None)
    if before is None or not any(prod(y[axis : last + 1]) == x[before] for last in range(axis, len(y))):
        return None
    return before


def _hoist(op: SliceOp | SplitOp, axis: int, views: Sequence[tuple[TransposeOp | ReshapeOp, int]], rewriter: Rewriter) -> None:
    whole, (top, first) = shape_of(op.operands[0])[axis], views[-1]
    x = top.operands[0]
    each = shape_of(x)[first] // whole
    if isinstance(op, SplitOp):
        sizes = tuple(size * each for size in attr(op, "sizes"))
        pieces: Sequence[SSAValue] = rewriter.build(op, SplitOp, x, axis=first, sizes=sizes).results
    else:
        starts = tuple(attr(op, "starts")[axis] * each if i == first else 0 for i in range(len(shape_of(x))))
        wanted = tuple(attr(op, "sizes")[axis] * each if i == first else size for i, size in enumerate(shape_of(x)))
        pieces = rewriter.build(op, SliceOp, x, starts=starts, sizes=wanted, steps=(1,) * len(wanted)).results
    rewriter.applied(pieces[0].owner, f"pieces are taken before {len(views)} views of the tensor")
    shares = [Fraction(shape_of(result)[axis], whole) for result in op.results]
    made = [_seen(op, piece, share, axis, views, rewriter) for piece, share in zip(pieces, shares, strict=True)]
    rewriter.replace(op, made)
    for view, _ in views:
        rewriter.erase_dead(view)


def _seen(
    op: Operation, piece: SSAValue, share: Fraction, axis: int, views: Sequence[tuple[TransposeOp | ReshapeOp, int]], rewriter: Rewriter
) -> SSAValue:
    """Return a piece through all views; where it has one place of its dimension, transposes leave that out.

    share: of the dimension, which is `axis` in what the last view gives, that is in the piece.
    """
    axes, left_out = [axis, *(before for _, before in views)], False
    for place in reversed(range(len(views))):
        (view, before), after = views[place], axes[place]
        shape = [int(share * size) if i == after else size for i, size in enumerate(shape_of(view.results[0]))]
        narrow = [size for i, size in enumerate(shape) if i != after]
        is_one = shape[after] == 1
        if isinstance(view, ReshapeOp):
            left_out = is_one and place > 0
            piece = reshaped(rewriter, op, piece, narrow if left_out else shape)
        elif is_one:
            if not left_out:
                piece = reshaped(rewriter, op, piece, [size for i, size in enumerate(shape_of(piece)) if i != before])
            perm = tuple(i - (i > before) for i in perm_of(view) if i != before)
            piece, left_out = rewriter.build(op, TransposeOp, piece, sources=(view,), perm=perm).results[0], True
        else:
            piece = rewriter.build(op, TransposeOp, piece, sources=(view,), perm=perm_of(view)).results[0]
        if place == 0:
            piece = reshaped(rewriter, op, piece, shape)
    return piece
