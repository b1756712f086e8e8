"""Shapes as TensorFlow and TFLite change them: dimensions of size 1, parts of one axis, ranges, sizes that broadcast."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.values import SSAValue
from ttc.dialects.core.shapes import axes_in, axis_in, broadcast_shapes
from ttc.importers.common.builder import MAX_RANK, Builder

Ints: TypeAlias = tuple[int, ...]
MAX_COUNT = 1 << 24
"""The most elements of a range made at import."""
MAX_PARTS = 1 << 16
"""The most parts that a tensor may be cut into."""


def squeezed(b: Builder, x: SSAValue, axes: Ints) -> SSAValue:
    """Return x without the dimensions named, which have size 1, or without all that have. Raises E0401, E0412."""
    shape = b.shape(x)
    dropped = axes_in(axes, len(shape)) if axes else tuple(i for i, d in enumerate(shape) if d == 1)
    if any(shape[i] != 1 for i in dropped):
        raise Error("E0401", f"dimensions {list(dropped)} of {b.spec(x)} are not all 1")
    return b.reshape(x, *(d for i, d in enumerate(shape) if i not in dropped))


def expanded(b: Builder, x: SSAValue, axis: int) -> SSAValue:
    """Return x with one more dimension, of size 1. Raises E0412."""
    shape = b.shape(x)
    at = axis_in(axis, len(shape) + 1)
    return b.reshape(x, *shape[:at], 1, *shape[at:])


def equal_parts(b: Builder, x: SSAValue, axis: int, count: int) -> tuple[SSAValue, ...]:
    """Return x cut along an axis into that many parts of one size. Raises E0402, E0412."""
    at = axis_in(axis, b.rank(x))
    size = b.shape(x)[at]
    if not 1 <= count <= MAX_PARTS or size % count:
        raise Error("E0402", f"{count} parts do not divide dimension {at} of {b.spec(x)}")
    return b.nn_all("split", x, axis=at, sizes=(size // count,) * count)


def sized_parts(b: Builder, x: SSAValue, axis: int, given: Ints) -> tuple[SSAValue, ...]:
    """Return x cut along an axis into parts of these sizes, one of which may be -1: what is left. Raises E0402, E0412."""
    at = axis_in(axis, b.rank(x))
    rest = b.shape(x)[at] - sum(s for s in given if s != -1)
    found = tuple(rest if s == -1 else s for s in given)
    if given.count(-1) > 1 or len(found) > MAX_PARTS or min(found, default=0) < 0 or sum(found) != b.shape(x)[at]:
        raise Error("E0402", f"parts of {list(given[:MAX_RANK])} do not make up dimension {at} of {b.spec(x)}")
    return b.nn_all("split", x, axis=at, sizes=found)


def elements(b: Builder, x: SSAValue, axis: int, count: int) -> tuple[SSAValue, ...]:
    """Return all elements along an axis, without it.  Raises E0402 if they are not that many, E0412."""
    shape = b.shape(x)
    at = axis_in(axis, len(shape))
    if shape[at] != count or count > MAX_PARTS:
        raise Error("E0402", f"dimension {at} of {b.spec(x)} as {count} elements; at most {MAX_PARTS} are taken apart")
    parts = b.nn_all("split", x, axis=at, sizes=(1,) * count) if count > 1 else (x,) * count
    return tuple(b.reshape(part, *shape[:at], *shape[at + 1 :]) for part in parts)


def range_(b: Builder, start: SSAValue, limit: SSAValue, delta: SSAValue) -> SSAValue:
    """Return start, start + delta, ... below limit (above, for a negative delta): made at import where the numbers are known. Raises
    E0402.
    """
    operands = [b.reshape(v) for v in (start, limit, delta)]
    known = [k.item() for k in map(b.known, operands) if k is not None]
    if len(known) < len(operands):
        return b.nn("range", *operands)
    first, last, step = known
    if not np.isfinite(known).all() or step == 0 or abs((last - first) / step) > MAX_COUNT:
        raise Error("E0402", f"a range from {first} to {last} in steps of {step} has no end, or more than {MAX_COUNT} elements")
    return b.constant(np.arange(first, last, step).astype(b.dtype(start)))


def broadcast_args(b: Builder, x: SSAValue, y: SSAValue) -> SSAValue:
    """Return the shape that two shapes, known at import, broadcast to.  Raises E0401, E0402."""
    first, second = (sizes(b.ints(v, "shape")) for v in (x, y))
    return b.constant(np.array(broadcast_shapes(first, second), b.dtype(x)))


def sizes(values: Ints) -> Ints:
    """Return the values, if they can be a shape.  Raises E0402."""
    if len(values) > MAX_RANK or min(values, default=0) < 0:
        raise Error("E0402", f"{list(values[:MAX_RANK])} is not a shape")
    return values
