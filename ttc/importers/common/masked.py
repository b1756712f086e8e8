"""Parts of tensors as TensorFlow and TFLite ask for them: slices under masks, gathers with batches, mirrored margins, shapes left open."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TypeAlias, TypeVar

import numpy as np

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.values import SSAValue
from ttc.dialects.core.records import record
from ttc.dialects.core.shapes import axis_in
from ttc.importers.common.builder import MAX_RANK, Builder
from ttc.importers.common.parts import padded, part

Ints: TypeAlias = tuple[int, ...]


@record
class Masks:
    """The masks of a strided slice; bit i is about entry i of its lists.

    Args:
        begin, end: the entry is ignored: as far as the dimension goes.
        ellipsis: the entry stands for all dimensions that no other entry is about.
        new_axis: a dimension of size 1 is inserted.
        shrink_axis: one element is taken, and the dimension dropped.
    """

    begin: int = 0
    end: int = 0
    ellipsis: int = 0
    new_axis: int = 0
    shrink_axis: int = 0


def strided_slice(b: Builder, x: SSAValue, begin: Ints, end: Ints, strides: Ints, masks: Masks) -> SSAValue:
    """Return Python's x[begin:end:strides, ...] under masks. Raises E0401, E0402."""
    shape = b.shape(x)
    ranges: list[range] = []
    result: list[int] = []
    for entry in entries(len(shape), begin, end, strides, masks):
        if entry is None:
            result.append(1)
            continue
        found = _range(shape[len(ranges)], *entry)
        ranges.append(found)
        if not entry[3]:
            result.append(len(found))
    y = b.nn(
        "slice",
        x,
        starts=tuple(r.start if len(r) else 0 for r in ranges),
        sizes=tuple(map(len, ranges)),
        steps=tuple(r.step if len(r) > 1 else 1 for r in ranges),
    )
    return b.reshape(y, *result)


Place = TypeVar("Place")
Entry: TypeAlias = tuple[Place | None, Place | None, int, bool]
"""An entry of a strided slice: first, end and step, None as far as it goes; whether one element is taken."""


def entries(rank: int, begin: Sequence[Place], end: Sequence[Place], strides: Sequence[int], masks: Masks) -> list[Entry[Place] | None]:
    """Return the entries of a strided slice: one for each dimension of a tensor, and None for each that is inserted, in order. Raises
    E0401, E0402.
    """
    if not len(begin) == len(end) == len(strides) <= MAX_RANK or 0 in strides or masks.ellipsis & (masks.ellipsis - 1):
        lists = f"{len(begin)} beginnings, {len(end)} ends, strides {list(strides[:MAX_RANK])}"
        raise Error("E0402", f"{lists} and {masks} do not fit each other")
    about = sum(not (masks.new_axis | masks.ellipsis) >> i & 1 for i in range(len(begin)))
    if about > rank:
        raise Error("E0401", f"{about} slices for a tensor of rank {rank}")
    whole: list[Entry[Place] | None] = [(None, None, 1, False)] * (rank - about)
    found: list[Entry[Place] | None] = []
    for i in range(len(begin)):
        first, last = (None if mask >> i & 1 else values[i] for mask, values in ((masks.begin, begin), (masks.end, end)))
        if masks.ellipsis >> i & 1:
            found += whole
            whole = []
        elif masks.new_axis >> i & 1:
            found.append(None)
        elif masks.shrink_axis >> i & 1:
            found.append((first, None, 1, True))
        else:
            found.append((first, last, strides[i], False))
    return found + whole


def _range(size: int, first: int | None, last: int | None, step: int, single: bool) -> range:
    if not single:
        return range(*slice(first, last, step).indices(size))
    at = first or 0
    if not -size <= at < size:
        raise Error("E0402", f"there is no element {at} along a dimension of {size}")
    return range(at % size, at % size + 1)


def gather(b: Builder, x: SSAValue, indices: SSAValue, axis: int, batch_dims: int) -> SSAValue:
    """Return slices of x along an axis; the leading batch_dims dimensions of x and indices go together. Raises E0401, E0412."""
    rank, depth = b.rank(x), b.rank(indices)
    axis = axis_in(axis, rank)
    batch = batch_dims + depth if batch_dims < 0 else batch_dims
    if not 0 <= batch <= min(axis, depth) or b.shape(x)[:batch] != b.shape(indices)[:batch]:
        raise Error("E0401", f"{b.spec(x)} and {b.spec(indices)} do not have {batch_dims} batch dimensions before axis {axis}")
    if str(b.dtype(indices)) not in ("int32", "int64"):
        indices = b.cast(indices, np.dtype(np.int64))
    if not batch:
        return b.nn("gather", x, indices, axis=axis)
    if axis != batch:
        x = b.nn("transpose", x, perm=(*range(batch), axis, *range(batch, axis), *range(axis + 1, rank)))
    y = b.nn("gather_nd", x, b.reshape(indices, *b.shape(indices), 1), batch_dims=batch)
    if axis == batch:
        return y
    moved = axis - batch
    return b.nn(
        "transpose",
        y,
        perm=(*range(batch), *range(depth, depth + moved), *range(batch, depth), *range(depth + moved, b.rank(y))),
    )


def mirror_pad(b: Builder, x: SSAValue, before: Ints, after: Ints, *, with_border: bool) -> SSAValue:
    """Return x with margins that are mirror images, with the border itself or without. Raises E0402."""
    shape = b.shape(x)
    if not len(before) == len(after) == len(shape) or min((*before, *after), default=0) < 0:
        raise Error("E0402", f"margins {list(before)} and {list(after)} do not fit {b.spec(x)}")
    if not with_border:
        return padded(b, x, before, after, mode="reflect")
    for axis, (size, low, high) in enumerate(zip(shape, before, after, strict=True)):
        if max(low, high) > size:
            raise Error("E0402", f"margins {low} and {high} are wider than dimension {axis} of {b.spec(x)}")
        mirrored = [part(b, x, axis, start, count, -1) for start, count in ((low - 1, low), (size - 1, high)) if count]
        pieces = [*mirrored[: bool(low)], x, *mirrored[bool(low) :]]
        x = b.nn("concat", *pieces, axis=axis) if len(pieces) > 1 else x
    return x


def reverse(b: Builder, x: SSAValue, axes: Ints) -> SSAValue:
    """Return the elements along the axes in reverse order.  Raises E0412."""
    for axis in sorted({axis_in(a, b.rank(x)) for a in axes}):
        size = b.shape(x)[axis]
        x = part(b, x, axis, size - 1, size, -1) if size > 1 else x
    return x


def one_hot(b: Builder, indices: SSAValue, depth: int, on: SSAValue, off: SSAValue, axis: int) -> SSAValue:
    """Return `on` at each index along a new axis of that depth, `off` elsewhere; an index outside marks nothing. Raises E0402, E0412."""
    shape, wide = b.shape(indices), np.dtype(np.int64)
    at = axis_in(axis, len(shape) + 1)
    if not 0 <= depth <= 1 << 20:
        raise Error("E0402", f"depth is from 0 to {1 << 20}, not {depth}")
    steps = b.constant(np.arange(depth, dtype=np.int64).reshape(depth, *(1,) * (len(shape) - at)))
    places = b.reshape(b.cast(indices, wide), *shape[:at], 1, *shape[at:])
    return b.nn("where", b.nn("equal", places, steps), b.reshape(on), b.reshape(off))


def resolved(old: Ints, wanted: Ints) -> Ints:
    """Return a shape for as many elements as another's, its one -1 filled in.  Raises E0401, E0402."""
    if min(wanted, default=0) < -1 or wanted.count(-1) > 1 or len(wanted) > MAX_RANK:
        raise Error("E0402", f"{list(wanted[:MAX_RANK])} is not a shape")
    known = prod(size for size in wanted if size != -1)
    found = tuple(prod(old) // max(known, 1) if size == -1 else size for size in wanted)
    if prod(found) != prod(old) or (-1 in wanted and not known):
        raise Error("E0401", f"{list(old)} cannot be reshaped to {list(wanted)}")
    return found
