"""Lowering of ops that only rearrange elements."""

from __future__ import annotations

from functools import lru_cache
from itertools import accumulate
from math import prod

import numpy as np
from xdsl.ir import SSAValue

from ttc.dialects.core.ir.attributes import LiteralAttr
from ttc.dialects.core.ir.leaves import ConstantOp
from ttc.dialects.core.ir.spec import spec_of, tensor_type
from ttc.dialects.core.shapes import axis_in
from ttc.dialects.nn.base import NNOp
from ttc.dialects.tile import shape as tile
from ttc.dialects.tile.base import Tile, tile_of
from ttc.passes.declined import Declined
from ttc.passes.nn_to_tile import TO_TILE
from ttc.passes.nn_to_tile.lowering import FunctionLowering, natural_fold, tiles_of

SPARSE = 4
"""The ratio of tiles from which on small matrices are rows of one matrix."""
MAX_COPIES = 16
"""The most copies of a tensor that is repeated by concatenation."""


@TO_TILE.rule("reshape")
def lower_reshape(op: NNOp, low: FunctionLowering) -> SSAValue:
    """Lower to tile.reshape, in the fold that its reader wants, or else that keeps the rows as they are."""
    x = low.tile(op.operands[0])
    shape, tile_ = spec_of(op.results[0].type).shape, tile_of(x)
    if shape == tile_.shape:
        return x
    fold = low.wish(op.results[0]) or _same_rows(tile_, shape) or natural_fold(shape)
    return low.emit(tile.ReshapeOp, x, shape=shape, fold=fold)


@TO_TILE.rule("transpose")
def lower_transpose(op: NNOp, low: FunctionLowering) -> SSAValue:
    """Lower to tile.transpose, in the fold that its reader wants, or else one matrix for every leading dimension.

    Small matrices, such as those of filters with 3 x 3 places, are rows of one matrix instead, as each would take a tile.
    """
    perm = op.plain_attrs()["perm"]
    x = low.tile(op.operands[0])
    if perm == tuple(range(len(perm))):
        return x
    shape = spec_of(op.results[0].type).shape
    natural = natural_fold(shape)
    apart = tiles_of(shape, 1) < SPARSE * tiles_of(shape, natural)
    return low.emit(tile.TransposeOp, x, perm=perm, fold=low.wish(op.results[0]) or (1 if apart else natural))


TO_TILE.add("expand", lambda op, low: _broadcast(op, low))


@TO_TILE.rule("repeat")
def lower_repeat(op: NNOp, low: FunctionLowering) -> SSAValue:
    """Lower to tile.broadcast where only dimensions of size 1 repeat, else to tile.concat of copies, or of many a broadcast between
    reshapes.
    """
    repeats: tuple[int, ...] = op.plain_attrs()["repeats"]
    spec = spec_of(op.operands[0].type)
    if all(n == 1 or d == 1 for n, d in zip(repeats, spec.shape, strict=True)):
        return _broadcast(op, low)
    x = low.tile(op.operands[0])
    for axis, count in enumerate(repeats):
        if count != 1:
            x = low.emit(tile.ConcatOp, *[x] * count, axis=axis) if 0 < count <= MAX_COPIES else _copies(x, axis, count, low)
    return x


def _copies(x: SSAValue, axis: int, count: int, low: FunctionLowering) -> SSAValue:
    """x, that many times one after another along an axis."""
    shape = tile_of(x).shape
    before, after = prod(shape[:axis]), prod(shape[axis:])
    apart = low.emit(tile.ReshapeOp, x, shape=(before, 1, after), fold=1)
    many = low.emit(tile.BroadcastOp, apart, shape=(before, count, after))
    return low.emit(tile.ReshapeOp, many, shape=(*shape[:axis], count * shape[axis], *shape[axis + 1 :]), fold=tile_of(x).fold)


@TO_TILE.rule("slice")
def lower_slice(op: NNOp, low: FunctionLowering) -> SSAValue:
    """Lower to tile.slice; accelerators have no kernel that runs backward."""
    attrs = op.plain_attrs()
    if low.unit.target.tile is not None and min(attrs["steps"], default=1) < 0:
        raise Declined("it runs backward")
    return low.emit(tile.SliceOp, low.tile(op.operands[0]), starts=attrs["starts"], sizes=attrs["sizes"], steps=attrs["steps"])


@TO_TILE.rule("split")
def lower_split(op: NNOp, low: FunctionLowering) -> list[SSAValue]:
    """Lower nn.split to one tile.slice for each part."""
    attrs = op.plain_attrs()
    shape = spec_of(op.operands[0].type).shape
    axis = axis_in(attrs["axis"], len(shape))
    x = low.tile(op.operands[0])
    ends = accumulate(attrs["sizes"])
    return [take(x, axis, end - size, size, low) for end, size in zip(ends, attrs["sizes"], strict=True)]


def take(x: SSAValue, axis: int, start: int, size: int, low: FunctionLowering, step: int = 1) -> SSAValue:
    """Return a range of one dimension of a tile."""
    shape = tile_of(x).shape
    starts = tuple(start if i == axis else 0 for i in range(len(shape)))
    sizes = tuple(size if i == axis else d for i, d in enumerate(shape))
    steps = tuple(step if i == axis else 1 for i in range(len(shape)))
    return low.emit(tile.SliceOp, x, starts=starts, sizes=sizes, steps=steps)


@TO_TILE.rule("concat")
def lower_concat(op: NNOp, low: FunctionLowering) -> SSAValue:
    """Lower to tile.concat, in the fold of the first operand that is computed."""
    computed = [x for x in op.operands if low.leaf(x) is None] or list(op.operands)
    fold = low.fold(computed[0])
    return low.emit(tile.ConcatOp, *[low.tile(x, fold) for x in op.operands], axis=op.plain_attrs()["axis"])


@TO_TILE.rule("pad")
def lower_pad(op: NNOp, low: FunctionLowering) -> SSAValue:
    """Lower to tile.pad with a constant; other margins are slices of x, one dimension after the other."""
    attrs = op.plain_attrs()
    x = low.tile(op.operands[0])
    if attrs["mode"] == "constant":
        return low.emit(tile.PadOp, x, before=attrs["before"], after=attrs["after"], value=attrs["value"])
    for axis, margins in enumerate(zip(attrs["before"], attrs["after"], strict=True)):
        if any(margins):
            x = _with_margins(x, axis, margins, attrs["mode"], low)
    return x


def _with_margins(x: SSAValue, axis: int, margins: tuple[int, int], mode: str, low: FunctionLowering) -> SSAValue:
    """x between what a mode other than constant repeats of it."""
    (before, after), size = margins, tile_of(x).shape[axis]
    margin = {"edge": _edge, "reflect": _mirrored, "wrap": _other_end}[mode]
    left = [margin(x, axis, 0, before, low)] if before else []
    right = [margin(x, axis, size - 1, after, low)] if after else []
    return low.emit(tile.ConcatOp, *left, x, *right, axis=axis)


def _edge(x: SSAValue, axis: int, at: int, count: int, low: FunctionLowering) -> SSAValue:
    """Copies of the element at one end."""
    shape = tile_of(x).shape
    return low.emit(tile.BroadcastOp, take(x, axis, at, 1, low), shape=(*shape[:axis], count, *shape[axis + 1 :]), fold=tile_of(x).fold)


def _other_end(x: SSAValue, axis: int, at: int, count: int, low: FunctionLowering) -> SSAValue:
    """Return what lies at the end across from `at`."""
    return take(x, axis, tile_of(x).shape[axis] - count if at == 0 else 0, count, low)


def _mirrored(x: SSAValue, axis: int, at: int, count: int, low: FunctionLowering) -> SSAValue:
    """Return what lies beside the element at one end, backward; element by element where slices only run forward."""
    first = count if at == 0 else at - 1
    if not low.has_tiles:
        return take(x, axis, first, count, low, step=-1)
    if count > MAX_COPIES:
        raise Declined(f"it mirrors {count} elements")
    parts = [take(x, axis, first - i, 1, low) for i in range(count)]
    return parts[0] if count == 1 else low.emit(tile.ConcatOp, *parts, axis=axis)


@TO_TILE.rule("shape")
def lower_shape(op: NNOp, low: FunctionLowering) -> SSAValue:
    """Lower the shape of a tensor to a literal: shapes are static here."""
    array = np.array(spec_of(op.operands[0].type).shape, np.int64)
    type_ = tensor_type(spec_of(op.results[0].type))
    leaf = ConstantOp.make((), {"value": LiteralAttr.of(array)}, (type_,), op.location)
    low.add_leaf(op.results[0], leaf)
    return low.tile(op.results[0])


def _broadcast(op: NNOp, low: FunctionLowering) -> SSAValue:
    shape = spec_of(op.results[0].type).shape
    fold = low.wish(op.results[0]) or natural_fold(shape)
    return low.emit(tile.BroadcastOp, low.tile(op.operands[0]), shape=shape, fold=fold)


@lru_cache(maxsize=1 << 12)
def _same_rows(x: Tile, shape: tuple[int, ...]) -> int | None:
    """Return the fold in which a shape has the rows and columns of x, if there is one."""
    found = (fold for fold in range(1, len(shape)) if Tile(shape, x.format, x.tile, fold).matrix() == x.matrix())
    return next(found, None)
