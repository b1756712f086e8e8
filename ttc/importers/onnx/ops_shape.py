"""Ops that change shape or order, and nothing else."""

from __future__ import annotations

from math import prod

import numpy as np

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.values import SSAValue
from ttc.dialects.core.shapes import axes_in, axis_in, broadcast_shapes
from ttc.importers.common.builder import MAX_RANK, Builder
from ttc.importers.common.dynamic import expanded, known_of, repeated, reshaped, size_of, with_axes, without_axes
from ttc.importers.common.parts import part
from ttc.importers.common.unsupported import Unsupported
from ttc.importers.onnx.ops_activation import split_product
from ttc.importers.onnx.tables import MAPPINGS


@MAPPINGS.rule("Reshape-5")
def reshape_5(b: Builder, x: SSAValue, shape: SSAValue, *, allowzero: int = 0) -> SSAValue:
    """Reshape; 0 copies a dimension (unless allowzero), one -1 takes what is left."""
    try:
        wanted = b.ints(shape, "shape")
    except Unsupported:
        if not b.is_of_data(shape):
            raise
        return _reshape_by(b, x, shape, copy_zero=not allowzero)
    return reshape_to(b, x, wanted, copy_zero=not allowzero)


def _reshape_by(b: Builder, x: SSAValue, shape: SSAValue, *, copy_zero: bool) -> SSAValue:
    """By a shape that is computed."""
    known, length = list(known_of(b, shape)), b.shape(shape)[0]
    if copy_zero:
        sizes = b.nn("shape", x)
        rest = max(length - b.rank(x), 0)
        if rest:
            sizes = b.nn("concat", sizes, b.constant(np.zeros(rest, np.int64)), axis=0)
        wanted = b.cast(shape, np.dtype(np.int64))
        shape = b.nn("where", b.nn("equal", wanted, b.scalar(0, wanted)), part(b, sizes, 0, 0, length), wanted)
        known = [b.spec(x).shape[i] if size == 0 and i < b.rank(x) else size for i, size in enumerate(known)]
    return b.nn("dynamic_reshape", x, shape, sizes=tuple(known))


def reshape_to(b: Builder, x: SSAValue, wanted: tuple[int, ...], *, copy_zero: bool) -> SSAValue:
    """Return x in a shape in ONNX's notation. Raises E0401."""
    if not b.spec(x).is_static:
        return reshaped(b, x, [size_of(b, x, i) if s == 0 and copy_zero and i < b.rank(x) else s for i, s in enumerate(wanted)])
    return b.nn("reshape", x, shape=_resolved(b.shape(x), wanted, copy_zero=copy_zero))


def _resolved(old: tuple[int, ...], wanted: tuple[int, ...], *, copy_zero: bool) -> tuple[int, ...]:
    sizes = [old[i] if size == 0 and copy_zero and i < len(old) else size for i, size in enumerate(wanted)]
    open_at = [i for i, size in enumerate(sizes) if size == -1]
    known = prod(size for size in sizes if size != -1)
    if min(sizes, default=0) < -1 or len(open_at) > 1 or (open_at and (known == 0 or prod(old) % known)):
        raise Error("E0401", f"{list(old)} cannot be reshaped to {list(wanted)}")
    for at in open_at:
        sizes[at] = prod(old) // known
    if prod(sizes) != prod(old):
        raise Error("E0401", f"{list(old)} cannot be reshaped to {list(wanted)}")
    return tuple(sizes)


@MAPPINGS.rule("Flatten-1")
def flatten_1(b: Builder, x: SSAValue, *, axis: int = 1) -> SSAValue:
    return b.nn("reshape", x, shape=split_product(b.shape(x), axis))


@MAPPINGS.rule("Squeeze-1")
def squeeze_1(b: Builder, x: SSAValue, *, axes: tuple[int, ...] | None = None) -> SSAValue:
    """Drop dimensions of size 1: those named, or all."""
    if axes is not None and not b.spec(x).is_static:
        return without_axes(b, x, axes_in(axes, b.rank(x)))
    shape = b.shape(x)
    dropped = tuple(i for i, d in enumerate(shape) if d == 1) if axes is None else axes_in(axes, len(shape))
    if any(shape[i] != 1 for i in dropped):
        raise Error("E0401", f"dimensions {list(dropped)} of {list(shape)} are not all 1")
    return b.nn("reshape", x, shape=tuple(d for i, d in enumerate(shape) if i not in dropped))


@MAPPINGS.rule("Squeeze-13")
def squeeze_13(b: Builder, x: SSAValue, axes: SSAValue | None = None) -> SSAValue:
    return squeeze_1(b, x, axes=None if axes is None else b.ints(axes, "axes"))


@MAPPINGS.rule("Unsqueeze-1")
def unsqueeze_1(b: Builder, x: SSAValue, *, axes: tuple[int, ...]) -> SSAValue:
    """Insert dimensions of size 1 at the axes of the result."""
    if len(axes) > MAX_RANK:
        raise Error("E0412", f"{len(axes)} axes are too many")
    if not b.spec(x).is_static:
        return with_axes(b, x, axes)
    shape = b.shape(x)
    added = axes_in(axes, len(shape) + len(axes))
    rest = iter(shape)
    return b.nn("reshape", x, shape=tuple(1 if i in added else next(rest) for i in range(len(shape) + len(axes))))


@MAPPINGS.rule("Unsqueeze-13")
def unsqueeze_13(b: Builder, x: SSAValue, axes: SSAValue) -> SSAValue:
    return unsqueeze_1(b, x, axes=b.ints(axes, "axes"))


@MAPPINGS.rule("Transpose-1")
def transpose_1(b: Builder, x: SSAValue, *, perm: tuple[int, ...] | None = None) -> SSAValue:
    rank = b.rank(x)
    return b.nn("transpose", x, perm=tuple(reversed(range(rank))) if perm is None else tuple(axis_in(p, rank) for p in perm))


@MAPPINGS.rule("Shape-1")
def shape_1(b: Builder, x: SSAValue) -> SSAValue:
    return b.nn("shape", x)


@MAPPINGS.rule("Shape-15")
def shape_15(b: Builder, x: SSAValue, *, start: int = 0, end: int | None = None) -> SSAValue:
    """Return dimensions start to end, both clamped."""
    first, last, _ = slice(start, end).indices(b.rank(x))
    whole = b.nn("shape", x)
    if (first, last) == (0, b.rank(x)):
        return whole
    return b.nn("slice", whole, starts=(first if last > first else 0,), sizes=(max(last - first, 0),), steps=(1,))


@MAPPINGS.rule("Size-1")
def size_1(b: Builder, x: SSAValue) -> SSAValue:
    if b.spec(x).is_static:
        return b.constant(np.array(b.spec(x).elements, np.int64))
    return b.nn("reduce_prod", b.nn("shape", x), axes=(0,), keepdims=False)


@MAPPINGS.rule("Expand-8")
def expand_8(b: Builder, x: SSAValue, shape: SSAValue) -> SSAValue:
    """Broadcast both ways: a 1 in the wanted shape keeps the operand's dimension."""
    try:
        wanted = b.ints(shape, "shape")
    except Unsupported:
        if not b.is_of_data(shape):
            raise
        return expanded(b, x, shape, known_of(b, shape))
    if min(wanted, default=0) < 0:
        raise Error("E0402", f"{list(wanted)} is not a shape")
    if not b.spec(x).is_static:
        return expanded(b, x, shape, wanted)
    return b.nn("expand", x, shape=broadcast_shapes(b.shape(x), wanted))


@MAPPINGS.rule("Tile-6")
def tile_6(b: Builder, x: SSAValue, repeats: SSAValue) -> SSAValue:
    try:
        return b.nn("repeat", x, repeats=b.ints(repeats, "repeats"))
    except Unsupported:
        if not b.is_of_data(repeats):
            raise
        return repeated(b, x, repeats)


@MAPPINGS.rule("Concat-4")
def concat_4(b: Builder, *inputs: SSAValue, axis: int) -> SSAValue:
    return b.nn("concat", *inputs, axis=axis_in(axis, b.rank(inputs[0])))


@MAPPINGS.rule("Split-2")
def split_2(b: Builder, x: SSAValue, *, axis: int = 0, split: tuple[int, ...] | None = None) -> tuple[SSAValue, ...]:
    """Split into the sizes given, or evenly into as many parts as the node has outputs."""
    at = axis_in(axis, b.rank(x))
    sizes = _even(b.sizes(x, at, at + 1)[0], len(b.outputs)) if split is None else split
    if len(sizes) != len(b.outputs):
        raise Error("E0203", f"Split has {len(b.outputs)} outputs but {len(sizes)} sizes")
    return b.nn_all("split", x, axis=at, sizes=tuple(sizes))


@MAPPINGS.rule("Split-13")
def split_13(b: Builder, x: SSAValue, split: SSAValue | None = None, *, axis: int = 0) -> tuple[SSAValue, ...]:
    return split_2(b, x, axis=axis, split=None if split is None else b.ints(split, "split"))


@MAPPINGS.rule("Split-18")
def split_18(
    b: Builder, x: SSAValue, split: SSAValue | None = None, *, axis: int = 0, num_outputs: int | None = None
) -> tuple[SSAValue, ...]:
    """Split as before opset 18; num_outputs repeats the number of outputs, and the last part may be smaller."""
    if num_outputs is not None and num_outputs != len(b.outputs):
        raise Error("E0203", f"Split has {len(b.outputs)} outputs but num_outputs = {num_outputs}")
    return split_13(b, x, split, axis=axis)


def _even(size: int, parts: int) -> tuple[int, ...]:
    """Return parts of equal size, the last one smaller where it does not divide."""
    each = -(-size // parts)
    return tuple(max(min(each, size - i * each), 0) for i in range(parts))


@MAPPINGS.rule("DepthToSpace-1")
def depth_to_space_1(b: Builder, x: SSAValue, *, blocksize: int, mode: str = "DCR") -> SSAValue:
    """Return x[n, c, h, w] as [n, c / block^2, h block, w block]; DCR: block indices come before the channel, CRD: after it."""
    n, c, h, w = _blocks(b, x, blocksize)
    if c % blocksize**2 or mode not in ("DCR", "CRD"):
        raise Error("E0402", f"{c} channels, blocksize {blocksize}, mode '{mode[:20]}' do not fit")
    depth = c // blocksize**2
    if mode == "DCR":
        split = b.nn("transpose", b.reshape(x, n, blocksize, blocksize, depth, h, w), perm=(0, 3, 4, 1, 5, 2))
    else:
        split = b.nn("transpose", b.reshape(x, n, depth, blocksize, blocksize, h, w), perm=(0, 1, 4, 2, 5, 3))
    return b.reshape(split, n, depth, h * blocksize, w * blocksize)


@MAPPINGS.rule("SpaceToDepth-1")
def space_to_depth_1(b: Builder, x: SSAValue, *, blocksize: int, mode: str = "DCR") -> SSAValue:
    """Return x[n, c, h, w] as [n, c block^2, h / block, w / block]; DCR: block indices come before the channel, CRD: after it."""
    n, c, h, w = _blocks(b, x, blocksize)
    if mode not in ("DCR", "CRD"):
        raise Error("E0402", f"mode '{mode[:20]}' is unknown")
    if h % blocksize or w % blocksize:
        raise Error("E0402", f"blocksize {blocksize} does not divide {h} x {w}")
    split = b.reshape(x, n, c, h // blocksize, blocksize, w // blocksize, blocksize)
    moved = b.nn("transpose", split, perm=(0, 3, 5, 1, 2, 4) if mode == "DCR" else (0, 1, 3, 5, 2, 4))
    return b.reshape(moved, n, c * blocksize**2, h // blocksize, w // blocksize)


def _blocks(b: Builder, x: SSAValue, blocksize: int) -> tuple[int, ...]:
    if b.rank(x) != 4 or not 1 <= blocksize < 1 << 16:
        raise Error("E0402", f"takes rank 4 and a positive blocksize, not {b.spec(x)} and {blocksize}")
    return b.shape(x)
