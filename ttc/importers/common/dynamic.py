"""Views of tensors whose sizes are known, in part, or only when they run: what is known stays in types, the rest is computed."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TypeAlias

import numpy as np

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.spec import DYNAMIC
from ttc.dialects.core.ir.values import SSAValue
from ttc.dialects.core.shapes import axes_in, broadcast_shapes
from ttc.dialects.nn.pieces import ConcatOp
from ttc.dialects.nn.shape import ReshapeOp
from ttc.dialects.nn.unary import CastOp
from ttc.importers.common.builder import Builder
from ttc.importers.common.parts import part

Size: TypeAlias = "int | SSAValue"
"""A size that is known, or one integer of any shape that is computed."""


def size_of(b: Builder, x: SSAValue, axis: int) -> Size:
    """Return the size of a dimension."""
    known = b.spec(x).shape[axis]
    return known if known != DYNAMIC else b.reshape(part(b, b.nn("shape", x), 0, axis, 1))


def listed(b: Builder, sizes: Sequence[Size]) -> SSAValue:
    """Return sizes as one tensor, [sizes] of int64."""
    int64 = np.dtype(np.int64)
    items = [b.constant(np.array([s], int64)) if isinstance(s, int) else b.cast(b.reshape(s, 1), int64) for s in sizes]
    return b.nn("concat", *items, axis=0) if len(items) > 1 else items[0] if items else b.constant(np.zeros(0, int64))


def known_of(b: Builder, values: SSAValue) -> tuple[int, ...]:
    """Return the known integers of a list; -1 stands for the others. Joined lists are looked into."""
    found = b.part(values)
    if found is not None:
        return tuple(int(v) if known else DYNAMIC for v, known in zip(found.values.ravel(), found.known.ravel(), strict=True))
    op = values.owner
    if isinstance(op, ConcatOp):
        return tuple(v for x in op.operands for v in known_of(b, x))
    if isinstance(op, CastOp | ReshapeOp):
        return known_of(b, op.operands[0])
    return (DYNAMIC,) * b.spec(values).elements


def reshaped(b: Builder, x: SSAValue, sizes: Sequence[Size]) -> SSAValue:
    """Return x in another shape; one of the sizes may be -1: what remains."""
    known = tuple(s if isinstance(s, int) else DYNAMIC for s in sizes)
    plain = all(isinstance(s, int) for s in sizes)
    if plain and b.spec(x).is_static:
        rest = prod(s for s in known if s != DYNAMIC)
        return b.reshape(x, *(b.spec(x).elements // max(rest, 1) if s == DYNAMIC else s for s in known))
    if plain and known.count(DYNAMIC) == 1:
        return b.nn("reshape", x, shape=known)
    return b.nn("dynamic_reshape", x, listed(b, sizes), sizes=known)


def with_axes(b: Builder, x: SSAValue, axes: Sequence[int]) -> SSAValue:
    """Return x with dimensions of size 1 at these places of the result. Raises E0412."""
    rank = b.rank(x) + len(axes)
    added = axes_in(axes, rank)
    places = [i for i in range(rank) if i not in added]
    sizes: list[Size] = [1] * rank
    for axis, place in enumerate(places):
        sizes[place] = size_of(b, x, axis)
    return reshaped(b, x, _one_open(sizes))


def without_axes(b: Builder, x: SSAValue, axes: Sequence[int]) -> SSAValue:
    """Return x without dimensions of size 1; a dynamic one must turn out to have that size."""
    return reshaped(b, x, _one_open([size_of(b, x, axis) for axis in range(b.rank(x)) if axis not in axes]))


def _one_open(sizes: list[Size]) -> list[Size]:
    """Return the only computed size, where there is one, as -1, which needs no computation."""
    computed = [i for i, s in enumerate(sizes) if not isinstance(s, int)]
    if len(computed) == 1 and 0 not in sizes:
        sizes[computed[0]] = -1
    return sizes


def sliced(b: Builder, x: SSAValue, starts: SSAValue, ends: SSAValue, axes: Sequence[int], steps: SSAValue) -> SSAValue:
    """Return Python's slices of the axes, with bounds that are computed."""
    return b.nn("dynamic_slice", x, starts, ends, steps, axes=tuple(axes))


def expanded(b: Builder, x: SSAValue, shape: SSAValue, known: Sequence[int]) -> SSAValue:
    """Return x broadcast with a shape that is computed.  known: its known sizes, -1 elsewhere."""
    return b.nn("dynamic_expand", x, shape, sizes=broadcast_shapes(b.spec(x).shape, tuple(known)))


def repeated(b: Builder, x: SSAValue, repeats: SSAValue) -> SSAValue:
    """Return whole copies of x side by side, as many along each dimension as a list of integers says that is computed. Raises E0402."""
    known, rank = known_of(b, repeats), b.rank(x)
    if len(known) != rank or b.rank(repeats) != 1:
        raise Error("E0402", f"repeats of {b.spec(repeats)} do not fit {rank} dimensions")
    split: list[Size] = []
    counts: list[Size] = []
    merged: list[Size] = []
    for axis, count in enumerate(known):
        size = size_of(b, x, axis)
        times: Size = count if count != DYNAMIC else b.reshape(part(b, repeats, 0, axis, 1))
        split += [1, size]
        counts += [times, 1]
        merged.append(_product(b, size, times))
    copies = expanded(b, reshaped(b, x, split), listed(b, counts), tuple(c if isinstance(c, int) else DYNAMIC for c in counts))
    return reshaped(b, copies, merged)


def _product(b: Builder, x: Size, y: Size) -> Size:
    if isinstance(x, int) and isinstance(y, int):
        return x * y
    return b.reshape(b.nn("mul", listed(b, [x]), listed(b, [y])))
