"""Ops that give the same elements another shape or order, repeat, pad or join them; a device calls them tile manipulations."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
from numpy.typing import DTypeLike

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.values import SSAValue
from ttc.dialects.core.shapes import axis_in
from ttc.importers.common import resampling
from ttc.importers.common.builder import Builder
from ttc.importers.common.parts import stacked
from ttc.ops.arrays import array_of
from ttc.ops.tracing import Operand, Tensor, made

_MODES = {"constant": "constant", "replicate": "edge", "reflect": "reflect", "edge": "edge", "wrap": "wrap"}


def constant(value: object, *, dtype: DTypeLike | None = None, name: str | None = None) -> Tensor:
    """Return a tensor of values that are known: a number, which is float32, or an array.  Raises E0403."""
    array = np.array(value, np.float32) if isinstance(value, bool | int | float) else array_of(value)
    return made("constant", name, [array if dtype is None else array.astype(dtype)], lambda b, x: x)


def reshape(x: Operand, shape: Sequence[int], *, name: str | None = None) -> Tensor:
    """Return the elements in another shape, in which one size may be -1.  Raises E0402."""

    def rule(b: Builder, x: SSAValue) -> SSAValue:
        known = prod(size for size in shape if size != -1)
        count = b.spec(x).elements
        if list(shape).count(-1) == 1 and known and count % known == 0:
            return b.reshape(x, *(count // known if size == -1 else size for size in shape))
        return b.reshape(x, *shape)

    return made("reshape", name, [x], rule)


def transpose(x: Operand, perm: Sequence[int] | None = None, *, name: str | None = None) -> Tensor:
    """Return x with its dimensions in another order; default: the last two change places.  Raises E0402, E0412."""

    def rule(b: Builder, x: SSAValue) -> SSAValue:
        rank = b.rank(x)
        order = (*range(rank - 2), rank - 1, rank - 2) if perm is None and rank > 1 else tuple(perm or range(rank))
        return b.nn("transpose", x, perm=tuple(axis_in(axis, rank) for axis in order))

    return made("transpose", name, [x], rule)


def swap(x: Operand, axis0: int, axis1: int, *, name: str | None = None) -> Tensor:
    """Return x with two dimensions in each other's place.  Raises E0412."""

    def rule(b: Builder, x: SSAValue) -> SSAValue:
        order, one, two = list(range(b.rank(x))), axis_in(axis0, b.rank(x)), axis_in(axis1, b.rank(x))
        order[one], order[two] = two, one
        return b.nn("transpose", x, perm=tuple(order))

    return made("swap", name, [x], rule)


def unsqueeze(x: Operand, axis: int, *, name: str | None = None) -> Tensor:
    """Return x with a new dimension of size 1.  Raises E0412."""

    def rule(b: Builder, x: SSAValue) -> SSAValue:
        at, shape = axis_in(axis, b.rank(x) + 1), b.shape(x)
        return b.reshape(x, *shape[:at], 1, *shape[at:])

    return made("unsqueeze", name, [x], rule)


def squeeze(x: Operand, axis: int, *, name: str | None = None) -> Tensor:
    """Return x without a dimension of size 1.  Raises E0402, E0412."""

    def rule(b: Builder, x: SSAValue) -> SSAValue:
        at, shape = axis_in(axis, b.rank(x)), b.shape(x)
        if shape[at] != 1:
            raise Error("E0402", f"dimension {at} of {b.spec(x)} is not of size 1")
        return b.reshape(x, *shape[:at], *shape[at + 1 :])

    return made("squeeze", name, [x], rule)


def expand(x: Operand, shape: Sequence[int], *, name: str | None = None) -> Tensor:
    """Return x broadcast to a shape.  Raises E0401."""
    return made("expand", name, [x], lambda b, x: b.nn("expand", x, shape=tuple(shape)))


def broadcast(x: Operand, axis: int, size: int, *, name: str | None = None) -> Tensor:
    """Return x with a dimension of size 1 broadcast to a size.  Raises E0401, E0412."""

    def rule(b: Builder, x: SSAValue) -> SSAValue:
        at = axis_in(axis, b.rank(x))
        return b.nn("expand", x, shape=tuple(size if i == at else d for i, d in enumerate(b.shape(x))))

    return made("broadcast", name, [x], rule)


def repeat(x: Operand, repeats: Sequence[int], *, name: str | None = None) -> Tensor:
    """Return x repeated so often along each dimension, as numpy.tile does.  Raises E0402."""
    return made("repeat", name, [x], lambda b, x: b.nn("repeat", x, repeats=tuple(repeats)))


def pad(
    x: Operand, before: Sequence[int], after: Sequence[int], *, mode: str = "constant", value: float = 0.0, name: str | None = None
) -> Tensor:
    """Return x with elements in front of and behind each dimension.

    mode: constant, replicate (edge), reflect or wrap; value: of mode constant.
    Raises: E0402.
    """
    margins = {"before": tuple(before), "after": tuple(after)}
    kind = _MODES.get(mode, mode)
    return made("pad", name, [x], lambda b, x: b.nn("pad", x, **margins, value=float(value), mode=kind))


def pad_to(x: Operand, axis: int, multiple: int = 32, *, name: str | None = None) -> Tensor:
    """Return x with zeros at the end of one dimension, up to a multiple: 32 fills tiles.  Raises E0402, E0412."""

    def rule(b: Builder, x: SSAValue) -> SSAValue:
        if multiple < 1:
            raise Error("E0402", f"multiple is at least 1, not {multiple}")
        rank, at = b.rank(x), axis_in(axis, b.rank(x))
        after = tuple(-b.shape(x)[at] % multiple if i == at else 0 for i in range(rank))
        return b.nn("pad", x, before=(0,) * rank, after=after, value=0.0, mode="constant") if any(after) else x

    return made("pad_to", name, [x], rule)


def concat(*operands: Operand, axis: int, name: str | None = None) -> Tensor:
    """Return tensors joined along an axis.  Raises E0401, E0412."""
    return made("concat", name, operands, lambda b, *xs: b.nn("concat", *xs, axis=axis_in(axis, b.rank(xs[0]))))


def stack(*operands: Operand, axis: int = 0, name: str | None = None) -> Tensor:
    """Return tensors of one shape along a new axis.  Raises E0401, E0412."""
    return made("stack", name, operands, lambda b, *xs: stacked(b, xs, axis))


def interleave(*operands: Operand, axis: int, stride: int = 1, name: str | None = None) -> Tensor:
    """Return tensors of one shape joined along an axis in turns: `stride` elements of the first, then of the second.  Raises E0402."""

    def rule(b: Builder, *xs: SSAValue) -> SSAValue:
        at, shape = axis_in(axis, b.rank(xs[0])), b.shape(xs[0])
        if stride < 1 or shape[at] % stride:
            raise Error("E0402", f"a stride of {stride} does not divide {shape[at]} elements")
        split = (*shape[:at], shape[at] // stride, stride, *shape[at + 1 :])
        turns = stacked(b, [b.reshape(x, *split) for x in xs], at + 1)
        return b.reshape(turns, *shape[:at], shape[at] * len(xs), *shape[at + 1 :])

    return made("interleave", name, operands, rule)


def _third(b: Builder, x: SSAValue) -> tuple[tuple[int, ...], int, int, int]:
    """Leading dimensions, and the last three sizes, z, rows and columns.  Raises E0401."""
    shape = b.shape(x)
    if len(shape) < 2:
        raise Error("E0401", f"needs rank 2 or more, not {b.spec(x)}")
    *lead, z, rows, columns = shape if len(shape) > 2 else (1, *shape)
    return tuple(lead), z, rows, columns


def hslice(x: Operand, slices: int, *, name: str | None = None) -> Tensor:
    """Cut columns into pieces that stand one after another along z: [..., z, r, c] -> [..., z * slices, r, c / slices].  Raises E0402."""

    def rule(b: Builder, x: SSAValue) -> SSAValue:
        lead, z, rows, columns = _third(b, x)
        _require_pieces(columns, slices)
        n = len(lead)
        parts = b.reshape(x, *lead, z, rows, slices, columns // slices)
        moved = b.nn("transpose", parts, perm=(*range(n), n, n + 2, n + 1, n + 3))
        return b.reshape(moved, *lead, z * slices, rows, columns // slices)

    return made("hslice", name, [x], rule)


def hstack(x: Operand, slices: int | None = None, *, name: str | None = None) -> Tensor:
    """Put pieces along z beside each other: [..., z, r, c] -> [..., z / slices, r, c * slices]; default: all of z.  Raises E0402."""

    def rule(b: Builder, x: SSAValue) -> SSAValue:
        lead, z, rows, columns = _third(b, x)
        count = z if slices is None else slices
        _require_pieces(z, count)
        n = len(lead)
        moved = b.nn("transpose", b.reshape(x, *lead, z // count, count, rows, columns), perm=(*range(n), n, n + 2, n + 1, n + 3))
        return b.reshape(moved, *lead, z // count, rows, columns * count)

    return made("hstack", name, [x], rule)


def vslice(x: Operand, slices: int, *, name: str | None = None) -> Tensor:
    """Cut rows into pieces that stand one after another along z: [..., z, r, c] -> [..., z * slices, r / slices, c].  Raises E0402."""

    def rule(b: Builder, x: SSAValue) -> SSAValue:
        lead, z, rows, columns = _third(b, x)
        _require_pieces(rows, slices)
        return b.reshape(x, *lead, z * slices, rows // slices, columns)

    return made("vslice", name, [x], rule)


def vstack(x: Operand, slices: int | None = None, *, name: str | None = None) -> Tensor:
    """Put pieces along z below each other: [..., z, r, c] -> [..., z / slices, r * slices, c]; default: all of z.  Raises E0402."""

    def rule(b: Builder, x: SSAValue) -> SSAValue:
        lead, z, rows, columns = _third(b, x)
        count = z if slices is None else slices
        _require_pieces(z, count)
        return b.reshape(x, *lead, z // count, rows * count, columns)

    return made("vstack", name, [x], rule)


def _require_pieces(size: int, pieces: int) -> None:
    if pieces < 1 or size % pieces:
        raise Error("E0402", f"{size} elements do not fall into {pieces} pieces")


def pixel_shuffle(x: Operand, factor: int, *, name: str | None = None) -> Tensor:
    """Rearrange x[..., c factor^2, h, w] as [..., c, h factor, w factor].  Raises E0402."""
    return made("pixel_shuffle", name, [x], lambda b, x: resampling.pixel_shuffle(b, x, factor))


def pixel_unshuffle(x: Operand, factor: int, *, name: str | None = None) -> Tensor:
    """Rearrange x[..., c, h factor, w factor] as [..., c factor^2, h, w].  Raises E0402."""
    return made("pixel_unshuffle", name, [x], lambda b, x: resampling.pixel_unshuffle(b, x, factor))


def resize(
    x: Operand,
    sizes: Sequence[int],
    *,
    mode: str = "nearest",
    align_corners: bool = False,
    channel_last: bool = False,
    name: str | None = None,
) -> Tensor:
    """Sample x[n, c, spatial...], or channels last, anew to spatial sizes.

    mode: nearest, linear or cubic.  align_corners: the corners of both are the same points; of mode nearest it is ignored.
    Raises: E0402.
    """
    coordinates = "asymmetric" if mode == "nearest" else "align_corners" if align_corners else "half_pixel"

    def rule(b: Builder, x: SSAValue) -> SSAValue:
        rank = b.rank(x)
        if mode not in ("nearest", "linear", "cubic"):
            raise Error("E0402", f"mode is nearest, linear or cubic, not '{mode}'")
        if not channel_last:
            return resampling.resized(b, x, tuple(sizes), (), mode, coordinates)
        first = b.nn("transpose", x, perm=(0, rank - 1, *range(1, rank - 1)))
        return b.nn("transpose", resampling.resized(b, first, tuple(sizes), (), mode, coordinates), perm=(0, *range(2, rank), 1))

    return made("resize", name, [x], rule)
