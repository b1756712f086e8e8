"""Parts of tensors: slices, margins, triangles, elements along an axis and their stacks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.values import SSAValue
from ttc.dialects.core.shapes import axis_in
from ttc.importers.common.builder import Builder

Ints: TypeAlias = tuple[int, ...]


def strided(b: Builder, x: SSAValue, starts: Ints, ends: Ints, axes: Ints | None, steps: Ints | None) -> SSAValue:
    """Return Python's slices of the axes named, or of the first ones: starts and ends clamp, negative ones count from the end."""
    shape = b.shape(x)
    axes = tuple(range(len(starts))) if axes is None else tuple(axis_in(a, len(shape)) for a in axes)
    steps = (1,) * len(starts) if steps is None else steps
    if not (len(starts) == len(ends) == len(axes) == len(steps) <= len(shape)) or len(set(axes)) != len(axes) or 0 in steps:
        raise Error("E0402", f"starts {starts}, ends {ends}, axes {axes} and steps {steps} do not fit each other and {b.spec(x)}")
    ranges = [range(size) for size in shape]
    for axis, start, end, step in zip(axes, starts, ends, steps, strict=True):
        ranges[axis] = range(*slice(start, end, step).indices(shape[axis]))
    return b.nn(
        "slice",
        x,
        starts=tuple(r.start if len(r) else 0 for r in ranges),
        sizes=tuple(len(r) for r in ranges),
        steps=tuple(r.step if len(r) > 1 else 1 for r in ranges),
    )


def part(b: Builder, x: SSAValue, axis: int, start: int, size: int, step: int = 1) -> SSAValue:
    """Return a regular part of one dimension; x itself if that is all of it."""
    shape = b.shape(x)
    if start == 0 and size == shape[axis] and (step == 1 or size < 2):
        return x
    return b.nn(
        "slice",
        x,
        starts=tuple(start if i == axis else 0 for i in range(len(shape))),
        sizes=tuple(size if i == axis else d for i, d in enumerate(shape)),
        steps=tuple(step if i == axis and size > 1 else 1 for i in range(len(shape))),
    )


def padded(b: Builder, x: SSAValue, before: Sequence[int], after: Sequence[int], value: float = 0.0, mode: str = "constant") -> SSAValue:
    """Return x with margins, an entry a dimension; negative ones crop.  mode: as nn.pad's."""
    x = _crop(b, x, before, after)
    before, after = [max(p, 0) for p in before], [max(p, 0) for p in after]
    if not any(before) and not any(after):
        return x
    return b.nn("pad", x, before=tuple(before), after=tuple(after), value=float(value), mode=mode)


def _crop(b: Builder, x: SSAValue, before: Sequence[int], after: Sequence[int]) -> SSAValue:
    if min((*before, *after), default=0) >= 0:
        return x
    starts = tuple(max(-p, 0) for p in before)
    sizes = tuple(d + min(p, 0) + min(q, 0) for d, p, q in zip(b.shape(x), before, after, strict=True))
    if min(sizes) < 0:
        raise Error("E0402", f"pads {list(before)} and {list(after)} crop more than {b.spec(x)} has")
    return b.nn("slice", x, starts=starts, sizes=sizes, steps=(1,) * len(sizes))


def triangle(b: Builder, x: SSAValue, offset: int, *, upper: bool) -> SSAValue:
    """Return the part of each matrix on and above (or below) the diagonal of that offset; 0 elsewhere."""
    shape = b.shape(x)
    if len(shape) < 2 or shape[-2] * shape[-1] > 1 << 24:
        raise Error("E0401", f"takes matrices of at most 16 M elements, not {b.spec(x)}")
    rows, columns = np.arange(shape[-2])[:, None], np.arange(shape[-1])[None, :]
    offset = min(max(offset, -shape[-2]), shape[-1])
    keep = columns - rows >= offset if upper else columns - rows <= offset
    return b.nn("where", b.constant(keep), x, b.scalar(0, x))


def element(b: Builder, x: SSAValue, axis: int, at: int) -> SSAValue:
    """Return one element along an axis, which the result lacks."""
    shape = b.shape(x)
    starts = tuple(at if i == axis else 0 for i in range(len(shape)))
    part = b.nn("slice", x, starts=starts, sizes=tuple(1 if i == axis else d for i, d in enumerate(shape)), steps=(1,) * len(shape))
    return b.reshape(part, *shape[:axis], *shape[axis + 1 :])


def stacked(b: Builder, values: Sequence[SSAValue], axis: int) -> SSAValue:
    """Return tensors of one shape along a new axis. Raises E0401 if they differ."""
    shape = b.shape(values[0])
    at = axis_in(axis, len(shape) + 1)
    if any(b.spec(v) != b.spec(values[0]) for v in values):
        raise Error("E0401", f"tensors of different types cannot be stacked: {', '.join(str(b.spec(v)) for v in values[:4])}")
    parts = [b.reshape(v, *shape[:at], 1, *shape[at:]) for v in values]
    return parts[0] if len(parts) == 1 else b.nn("concat", *parts, axis=at)
