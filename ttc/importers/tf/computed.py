"""Parts of tensors at places, or of sizes, that are computed: what is known of them stays in the types."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.spec import DYNAMIC
from ttc.dialects.core.ir.values import SSAValue
from ttc.dialects.nn.pieces import ConcatOp
from ttc.dialects.nn.shape import ReshapeOp
from ttc.dialects.nn.unary import CastOp
from ttc.importers.common import dynamic
from ttc.importers.common.builder import MAX_RANK, Builder
from ttc.importers.common.masked import Entry, Masks, entries
from ttc.importers.common.parts import part
from ttc.importers.common.unsupported import Unsupported

Number: TypeAlias = "int | SSAValue"
"""A known integer, or a tensor of rank 0."""
INT64 = np.dtype(np.int64)
END = np.iinfo(np.int64).max
MAX_DEPTH = 8
"""The most casts, reshapes and joins, one behind the other, that lists of numbers are looked through."""


def numbers(b: Builder, values: SSAValue, depth: int = 0) -> list[Number]:
    """Return the integers of a list, each known or computed; joined lists are looked into, some levels deep.  Raises E0402."""
    found, op, count = b.known(values), values.owner, b.spec(values).elements
    if not b.spec(values).is_static or count > MAX_RANK:
        raise Error("E0402", f"{b.spec(values)} is no list of numbers for dimensions")
    if found is not None:
        return [int(v) for v in found.ravel()]
    if isinstance(op, ConcatOp) and depth < MAX_DEPTH:
        return [n for x in op.operands for n in numbers(b, x, depth + 1)]
    if isinstance(op, CastOp | ReshapeOp) and b.spec(op.operands[0]).is_static and depth < MAX_DEPTH:
        return numbers(b, op.operands[0], depth + 1)
    flat = b.reshape(values, count)
    return [b.reshape(part(b, flat, 0, i, 1)) for i in range(count)]


def ints(b: Builder, what: str, *values: SSAValue) -> list[tuple[int, ...]] | None:
    """Return the integers of lists that are known, or follow from values of inputs that are given; None if one of them is computed."""
    try:
        return [b.ints(v, what) for v in values]
    except Unsupported:
        return None


def taken(b: Builder, x: SSAValue, axis: int, first: Number, size: int) -> SSAValue:
    """Take a number of elements along an axis, from a place on: a gather, which checks that they are there."""
    if isinstance(first, int):
        places = b.constant(np.arange(first, first + size))
    else:
        places = b.nn("add", b.reshape(b.cast(first, INT64), 1), b.constant(np.arange(size)))
    return b.nn("gather", x, places, axis=axis)


def slice_(b: Builder, x: SSAValue, begin: Sequence[Number], size: Sequence[Number]) -> SSAValue:
    """Return a part of given sizes; -1 reaches to the end.  Raises E0402."""
    rank = b.rank(x)
    if not len(begin) == len(size) == rank:
        raise Error("E0402", f"{len(begin)} beginnings and {len(size)} sizes do not fit {b.spec(x)}")
    for axis, (first, count) in enumerate(zip(begin, size, strict=True)):
        whole = b.spec(x).shape[axis]
        if first == 0 and count in (-1, whole):
            continue
        if isinstance(count, int) and count >= 0:
            x = taken(b, x, axis, first, count)
        else:
            last = END if count == -1 else _sum(b, first, count)
            x = _ranged(b, x, axis, first, last, 1)
    return x


def _sum(b: Builder, x: Number, y: Number) -> Number:
    if isinstance(x, int) and isinstance(y, int):
        return x + y
    return b.nn("add", _scalar(b, x), _scalar(b, y))


def _scalar(b: Builder, x: Number) -> SSAValue:
    return b.constant(np.array(x, np.int64)) if isinstance(x, int) else b.reshape(b.cast(x, INT64))


def _ranged(b: Builder, x: SSAValue, axis: int, first: Number, last: Number, step: int) -> SSAValue:
    starts, ends = (dynamic.listed(b, [v]) for v in (first, last))
    return dynamic.sliced(b, x, starts, ends, (axis,), b.constant(np.array([step])))


def strided_slice(
    b: Builder, x: SSAValue, begin: Sequence[Number], end: Sequence[Number], strides: Sequence[int], masks: Masks
) -> SSAValue:
    """Return Python's x[begin:end:strides, ...] under masks. Raises E0401, E0402."""
    added: list[int] = []
    dropped: list[int] = []
    axis, place = 0, 0
    for entry in entries(b.rank(x), begin, end, strides, masks):
        if entry is None:
            added.append(place)
            place += 1
            continue
        x = _along(b, x, axis, entry)
        *_, single = entry
        dropped += [axis] if single else []
        place += not single
        axis += 1
    x = dynamic.without_axes(b, x, dropped) if dropped else x
    return dynamic.with_axes(b, x, added) if added else x


def _along(b: Builder, x: SSAValue, axis: int, entry: Entry[Number]) -> SSAValue:
    first, last, step, single = entry
    if single:
        return taken(b, x, axis, 0 if first is None else first, 1)
    if first in (None, 0) and last is None and step == 1:
        return x
    size = b.spec(x).shape[axis]
    if size != DYNAMIC and not isinstance(first, SSAValue) and not isinstance(last, SSAValue):
        places = range(*slice(first, last, step).indices(size))
        return b.nn("gather", x, b.constant(np.array(places, np.int64)), axis=axis)
    start = (0 if step > 0 else END) if first is None else first
    stop = (END if step > 0 else -END) if last is None else last
    return _ranged(b, x, axis, start, stop, step)
