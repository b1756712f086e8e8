"""Lowering of ops that only rearrange elements."""

from __future__ import annotations

from itertools import accumulate

import numpy as np
from xdsl.ir import SSAValue

from ttc.dialects.core.attributes import LiteralAttr
from ttc.dialects.core.leaves import ConstantOp
from ttc.dialects.core.spec import spec_of, tensor_type
from ttc.dialects.nn.base import NNOp, axis_in
from ttc.dialects.tile import shape as tile
from ttc.dialects.tile.base import Tile, tile_of
from ttc.passes.nn_to_tile.lowering import Lowering, natural_fold
from ttc.passes.rule_tables import Declined

MAX_COPIES = 16
"""Of a tensor that is repeated by concatenation."""


def lower_reshape(op: NNOp, low: Lowering) -> SSAValue:
    """tile.reshape, in the fold that its reader wants, or else that keeps the rows as they are."""
    x = low.tile(op.operands[0])
    shape = spec_of(op.results[0].type).shape
    if shape == tile_of(x).shape:
        return x
    fold = low.wish(op.results[0]) or _same_rows(tile_of(x), shape) or natural_fold(shape)
    return low.emit(tile.ReshapeOp, x, shape=shape, fold=fold)


def lower_transpose(op: NNOp, low: Lowering) -> SSAValue:
    """tile.transpose, in the fold that its reader wants, or else one matrix for every leading dimension."""
    perm = op.plain_attrs()["perm"]
    x = low.tile(op.operands[0])
    if perm == tuple(range(len(perm))):
        return x
    return low.emit(tile.TransposeOp, x, perm=perm, fold=low.wish(op.results[0]) or 1)


def lower_expand(op: NNOp, low: Lowering) -> SSAValue:
    """tile.broadcast."""
    return _broadcast(op, low)


def lower_repeat(op: NNOp, low: Lowering) -> SSAValue:
    """tile.broadcast where only dimensions of size 1 repeat, else tile.concat of copies."""
    repeats: tuple[int, ...] = op.plain_attrs()["repeats"]
    spec = spec_of(op.operands[0].type)
    if all(n == 1 or d == 1 for n, d in zip(repeats, spec.shape, strict=True)):
        return _broadcast(op, low)
    if max(repeats) > MAX_COPIES:
        raise Declined(f"it repeats {max(repeats)} times")
    x = low.tile(op.operands[0])
    for axis, count in enumerate(repeats):
        x = x if count == 1 else low.emit(tile.ConcatOp, *[x] * count, axis=axis)
    return x


def lower_slice(op: NNOp, low: Lowering) -> SSAValue:
    """tile.slice; accelerators have no kernel that runs backward."""
    attrs = op.plain_attrs()
    if low.unit.target.tile is not None and min(attrs["steps"], default=1) < 0:
        raise Declined("it runs backward")
    return low.emit(tile.SliceOp, low.tile(op.operands[0]), starts=attrs["starts"], sizes=attrs["sizes"], steps=attrs["steps"])


def lower_split(op: NNOp, low: Lowering) -> list[SSAValue]:
    """A tile.slice a part."""
    attrs = op.plain_attrs()
    shape = spec_of(op.operands[0].type).shape
    axis = axis_in(attrs["axis"], len(shape))
    x = low.tile(op.operands[0])
    ends = accumulate(attrs["sizes"])
    return [take(x, axis, end - size, size, low) for end, size in zip(ends, attrs["sizes"], strict=True)]


def take(x: SSAValue, axis: int, start: int, size: int, low: Lowering) -> SSAValue:
    """A range of one dimension of a tile."""
    shape = tile_of(x).shape
    starts = tuple(start if i == axis else 0 for i in range(len(shape)))
    sizes = tuple(size if i == axis else d for i, d in enumerate(shape))
    return low.emit(tile.SliceOp, x, starts=starts, sizes=sizes, steps=(1,) * len(shape))


def lower_concat(op: NNOp, low: Lowering) -> SSAValue:
    """tile.concat, in the fold of the first operand that is computed."""
    computed = [x for x in op.operands if low.leaf(x) is None] or list(op.operands)
    fold = low.fold(computed[0])
    return low.emit(tile.ConcatOp, *[low.tile(x, fold) for x in op.operands], axis=op.plain_attrs()["axis"])


def lower_pad(op: NNOp, low: Lowering) -> SSAValue:
    """tile.pad, which pads with a constant."""
    attrs = op.plain_attrs()
    if attrs["mode"] != "constant":
        raise Declined(f"padding by '{attrs['mode']}' has no tile op")
    return low.emit(tile.PadOp, low.tile(op.operands[0]), before=attrs["before"], after=attrs["after"], value=attrs["value"])


def lower_shape(op: NNOp, low: Lowering) -> SSAValue:
    """A literal: shapes are static here."""
    array = np.array(spec_of(op.operands[0].type).shape, np.int64)
    type_ = tensor_type(spec_of(op.results[0].type))
    leaf = ConstantOp.make((), {"value": LiteralAttr.of(array)}, (type_,), op.location)
    low.add_leaf(op.results[0], leaf)
    return low.tile(op.results[0])


def _broadcast(op: NNOp, low: Lowering) -> SSAValue:
    shape = spec_of(op.results[0].type).shape
    fold = low.wish(op.results[0]) or natural_fold(shape)
    return low.emit(tile.BroadcastOp, low.tile(op.operands[0]), shape=shape, fold=fold)


def _same_rows(x: Tile, shape: tuple[int, ...]) -> int | None:
    """The fold in which a shape has the rows and columns of x, if there is one."""
    found = (fold for fold in range(1, len(shape)) if Tile(shape, x.format, x.tile, fold).matrix() == x.matrix())
    return next(found, None)
