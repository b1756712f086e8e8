"""Ops that rearrange elements and are no tile manipulation: whole rows move by sparse matmuls, columns between two transposes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import gcd, inf, prod

from xdsl.ir import SSAValue

from ttc.dialects.core.shapes import axis_in
from ttc.dialects.tile.base import tile_of
from ttc.dialects.tile.shape import (
    BroadcastOp,
    ConcatOp,
    HsliceOp,
    HstackOp,
    PadOp,
    ReshapeOp,
    SliceOp,
    TransposeOp,
)
from ttc.passes.tile.expand import EXPANSIONS
from ttc.passes.tile.expand.expansion import Expansion
from ttc.passes.tile.expand.selection import Selection, along, permuted

TILE_WIDTH = 32


EXPANSIONS.add("relayout", lambda op, to: to.move(op.x, to.result.shape, to.result.fold))


@EXPANSIONS.rule("reshape")
def expand_reshape(op: ReshapeOp, to: Expansion) -> SSAValue:
    """Expand a reshape: rows are cut into the pieces that both shapes are made of, put in order, and joined."""
    x, y = tile_of(op.x), to.result
    (t, rows, old), (new_t, new_rows, new) = x.matrix(), y.matrix()
    if old == new:
        return to.move(op.x, y.shape, y.fold)
    width = gcd(old, new)
    value = op.x
    if old > width:
        count = old // width
        pieces = split_columns(to.matrices(value), count, to)
        value = to.select(pieces, permuted((t, count, rows), (0, 2, 1)), (t * rows * count, width))
    if new > width:
        count = new // width
        pieces = to.select(value, permuted((new_t, new_rows, count), (0, 2, 1)), (new_t * count, new_rows, width))
        value = join_columns(pieces, count, to)
    return to.reshape(value, y.shape, y.fold)


def split_columns(x: SSAValue, count: int, to: Expansion) -> SSAValue:
    """Return [t, rows, count * width] as [t * count, rows, width]."""
    t, rows, columns = tile_of(x).shape
    width = columns // count
    if width % TILE_WIDTH == 0:
        return to.reshape(to.emit(HsliceOp, x, n=count, fold=1), (t * count, rows, width))
    return to.swap(to.reshape(to.swap(x), (t * count, width, rows)))


def join_columns(x: SSAValue, count: int, to: Expansion) -> SSAValue:
    """Return [t * count, rows, width] as [t, rows, count * width]."""
    parts, rows, width = tile_of(x).shape
    t = parts // count
    if width % TILE_WIDTH == 0:
        return to.emit(HstackOp, to.reshape(x, (t, count, rows, width)), n=count, fold=1)
    return to.swap(to.reshape(to.swap(x), (t, count * width, rows)))


@EXPANSIONS.rule("hslice")
def expand_hslice(op: HsliceOp, to: Expansion) -> SSAValue:
    """Expand an hslice: columns are cut between transposes."""
    *lead, rows, columns = tile_of(op.x).shape
    pieces = split_columns(to.reshape(op.x, (prod(lead), rows, columns)), op.plain_attrs()["n"], to)
    return to.reshape(pieces, to.result.shape, to.result.fold)


@EXPANSIONS.rule("hstack")
def expand_hstack(op: HstackOp, to: Expansion) -> SSAValue:
    """Expand an hstack: columns are joined between transposes."""
    *lead, rows, width = tile_of(op.x).shape
    joined = join_columns(to.reshape(op.x, (prod(lead), rows, width)), op.plain_attrs()["n"], to)
    return to.reshape(joined, to.result.shape, to.result.fold)


@EXPANSIONS.rule("transpose")
def expand_transpose(op: TransposeOp, to: Expansion) -> SSAValue:
    """Expand a transpose: rows are put in order; if the last dimension moves, its new neighbour first comes beside it, and the two are
    exchanged.
    """
    shape, perm = tile_of(op.x).shape, op.plain_attrs()["perm"]
    last = len(shape) - 1
    if perm[-1] == last:
        return _in_order(op.x, shape[:-1], perm[:-1], to)
    others = [p for p in perm if p not in (last, perm[-1])]
    order = [*others, perm[-1]]
    sizes = [shape[p] for p in others]
    matrices = (prod(sizes), shape[perm[-1]], shape[last])
    value = to.swap(to.select(op.x, permuted(shape[:-1], order), matrices))
    now = [*others, last]
    return _in_order(value, [shape[p] for p in now], [now.index(p) for p in perm[:-1]], to)


def _in_order(x: SSAValue, lead: Sequence[int], perm: Sequence[int], to: Expansion) -> SSAValue:
    """Return rows of x, a grid of those dimensions, in another order, as the result."""
    return to.select(x, permuted(lead, perm), to.result.shape, to.result.fold)


@EXPANSIONS.rule("broadcast")
def expand_broadcast(op: BroadcastOp, to: Expansion) -> SSAValue:
    """Expand a broadcast: rows are repeated; columns are a tile manipulation."""
    x, y = tile_of(op.x).shape, to.result
    full = (*([1] * (len(y.shape) - len(x))), *x)
    lead, rank = full[:-1], len(full) - 1
    steps = tuple(tuple(int(j == d and lead[d] > 1) for j in range(rank)) for d in range(rank))
    selection = Selection(lead, y.shape[:-1], steps, (0,) * rank, (1,) * rank)
    rows = to.select(op.x, selection, (*y.shape[:-1], full[-1]), y.fold)
    return rows if full[-1] == y.shape[-1] else to.emit(BroadcastOp, rows, shape=y.shape, fold=y.fold)


@EXPANSIONS.rule("slice")
def expand_slice(op: SliceOp, to: Expansion) -> SSAValue:
    """Expand a slice: rows are selected, then columns."""
    attrs, shape = op.plain_attrs(), tile_of(op.x).shape
    starts, sizes, steps = attrs["starts"], attrs["sizes"], attrs["steps"]
    rows = to.select(op.x, along(shape[:-1], sizes[:-1], starts[:-1], steps[:-1]), (*sizes[:-1], shape[-1]), to.result.fold)
    if (sizes[-1], steps[-1]) == (shape[-1], 1):
        return to.reshape(rows, to.result.shape, to.result.fold)
    return _columns_of(rows, along(shape[-1:], sizes[-1:], starts[-1:], steps[-1:]), to)


@EXPANSIONS.rule("pad")
def expand_pad(op: PadOp, to: Expansion) -> SSAValue:
    """Expand a pad: zero rows and columns around x; another value is added where they are."""
    attrs, y = op.plain_attrs(), to.result
    shape = tile_of(op.x).shape
    before = tuple(-b for b in attrs["before"])
    lead, columns = along(shape[:-1], y.shape[:-1], before[:-1]), along(shape[-1:], y.shape[-1:], before[-1:])
    value: float = attrs["value"]
    padded = op.x
    if not lead.is_identity:
        padded = _filled(lambda x: to.select(x, lead, (*y.shape[:-1], tile_of(x).shape[-1]), y.fold), padded, value, (*shape[:-1], 1), to)
    if not columns.is_identity:
        padded = _filled(lambda x: _columns_of(x, columns, to), padded, value, (1, shape[-1]), to)
    return to.reshape(padded, y.shape, y.fold)


def _columns_of(x: SSAValue, selection: Selection, to: Expansion) -> SSAValue:
    """Return columns of x by a selection with one dimension; the other dimensions stay."""
    shape, fold = tile_of(x).shape, tile_of(x).fold
    t, rows, columns = tile_of(x).matrix()
    whole = along((t, columns), (t, *selection.sizes), (0, *selection.offsets), (1, selection.steps[0][0]))
    value = to.swap(to.select(to.swap(to.matrices(x)), whole, (t, selection.sizes[0], rows)))
    return to.reshape(value, (*shape[:-1], selection.sizes[0]), fold)


def _filled(select: Callable[[SSAValue], SSAValue], x: SSAValue, value: float, mask: Sequence[int], to: Expansion) -> SSAValue:
    """Return what `select` makes of x, plus the value where it makes zeros of ones; mask: shape of those ones."""
    padded, format_ = select(x), tile_of(x).format
    if value == 0:
        return padded
    inside = select(to.ones(mask, format_))
    if abs(value) == inf:  # log 1 = 0, log 0 = -inf
        outside = to.map("log", inside, format=format_)
        outside = outside if value < 0 else to.map("mul", outside, -1.0, format=format_)
    else:
        outside = to.map("mul", to.map("sub", inside, 1.0, format=format_), -value, format=format_)
    return to.map("add", padded, outside, format=format_)


@EXPANSIONS.rule("concat")
def expand_concat(op: ConcatOp, to: Expansion) -> SSAValue:
    """Expand a concat: of rows, each operand between zeros, all added; of columns, whole tiles are spliced, others are rows between
    transposes.
    """
    rank = len(to.result.shape)
    axis = axis_in(op.plain_attrs()["axis"], rank)
    widths = [tile_of(x).shape[axis] for x in op.xs]
    if axis < rank - 1:
        return _stacked_rows(op.xs, axis, to)
    if all(width % TILE_WIDTH == 0 for width in widths):
        return _spliced_columns(op.xs, gcd(*widths), to)
    transposed = [to.swap(to.matrices(to.reshape(x, tile_of(x).shape, to.result.fold))) for x in op.xs]
    t, rows, columns = to.result.matrix()
    parts: list[SSAValue] = []
    for x, start in zip(transposed, _starts(widths), strict=True):
        selection = along((t, tile_of(x).shape[1]), (t, columns), (0, -start))
        parts.append(to.select(x, selection, (t, columns, rows)))
    return to.reshape(to.swap(_sum(parts, to)), to.result.shape, to.result.fold)


def _starts(widths: Sequence[int]) -> list[int]:
    return [sum(widths[:i]) for i in range(len(widths))]


def _sum(parts: Sequence[SSAValue], to: Expansion) -> SSAValue:
    total = parts[0]
    for part in parts[1:]:
        total = to.map("add", total, part, format=to.result.format)
    return total


def _stacked_rows(xs: Sequence[SSAValue], axis: int, to: Expansion) -> SSAValue:
    shape, fold = to.result.shape, to.result.fold
    parts: list[SSAValue] = []
    for x, start in zip(xs, _starts([tile_of(x).shape[axis] for x in xs]), strict=True):
        starts = tuple(-start if i == axis else 0 for i in range(len(shape) - 1))
        parts.append(to.select(x, along(tile_of(x).shape[:-1], shape[:-1], starts), shape, fold))
    return _sum(parts, to)


def _spliced_columns(xs: Sequence[SSAValue], width: int, to: Expansion) -> SSAValue:
    """Matrices cut into columns of tiles, those of all operands one after another, laid side by side."""
    t, rows, columns = to.result.matrix()
    parts: list[SSAValue] = []
    for x in xs:
        matrices = to.reshape(to.reshape(x, tile_of(x).shape, to.result.fold), (t, rows, tile_of(x).shape[-1]))
        parts.append(to.emit(HsliceOp, matrices, n=tile_of(x).shape[-1] // width, fold=1))
    stack = to.emit(ConcatOp, *parts, axis=1, fold=1)
    return to.reshape(to.emit(HstackOp, stack, n=columns // width, fold=1), to.result.shape, to.result.fold)
