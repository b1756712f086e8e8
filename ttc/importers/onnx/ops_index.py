"""Parts of tensors: slices, pads, gathers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from xdsl.ir import SSAValue

from ttc.dialects.core.errors import Error
from ttc.dialects.nn.base import axis_in
from ttc.importers.common.builder import Builder
from ttc.importers.common.unsupported import Unsupported

Ints: TypeAlias = tuple[int, ...]


def slice_1(b: Builder, x: SSAValue, *, axes: Ints | None = None, ends: Ints, starts: Ints) -> SSAValue:
    return _slice(b, x, starts, ends, axes, None)


def slice_10(
    b: Builder, x: SSAValue, starts: SSAValue, ends: SSAValue, axes: SSAValue | None = None, steps: SSAValue | None = None
) -> SSAValue:
    along = None if axes is None else b.ints(axes, "axes")
    by = None if steps is None else b.ints(steps, "steps")
    return _slice(b, x, b.ints(starts, "starts"), b.ints(ends, "ends"), along, by)


def _slice(b: Builder, x: SSAValue, starts: Ints, ends: Ints, axes: Ints | None, steps: Ints | None) -> SSAValue:
    """Python's slices of the axes named: starts and ends clamp, negative ones count from the end."""
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


def pad_2(b: Builder, x: SSAValue, *, mode: str = "constant", pads: Ints, value: float = 0.0) -> SSAValue:
    return _pad(b, x, pads, value, None, mode)


def pad_11(b: Builder, x: SSAValue, pads: SSAValue, value: SSAValue | None = None, *, mode: str = "constant") -> SSAValue:
    return pad_18(b, x, pads, value, mode=mode)


def pad_18(
    b: Builder, x: SSAValue, pads: SSAValue, value: SSAValue | None = None, axes: SSAValue | None = None, *, mode: str = "constant"
) -> SSAValue:
    along = None if axes is None else b.ints(axes, "axes")
    if value is not None and b.known(value) is None:
        inside = b.nn("expand", b.constant(np.array(True)), shape=b.shape(x))
        margins = b.ints(pads, "pads")
        return b.nn("where", _pad(b, inside, margins, 0.0, along, mode), _pad(b, x, margins, 0.0, along, mode), b.reshape(value))
    filler = 0.0 if value is None else b.number(value, "constant_value")
    return _pad(b, x, b.ints(pads, "pads"), filler, along, mode)


def _pad(b: Builder, x: SSAValue, pads: Ints, value: float, axes: Ints | None, mode: str) -> SSAValue:
    """pads: all beginnings, then all ends, of the axes; negative ones crop."""
    shape = b.shape(x)
    if mode not in ("constant", "reflect", "edge", "wrap"):
        raise Unsupported(f"mode {mode[:20]}")
    at = range(len(shape)) if axes is None else [axis_in(a, len(shape)) for a in axes]
    if len(pads) != 2 * len(at) or len(set(at)) != len(at):
        raise Error("E0402", f"{len(pads)} pads do not fit axes {list(at)}")
    before, after = [0] * len(shape), [0] * len(shape)
    for axis, low, high in zip(at, pads[: len(at)], pads[len(at) :], strict=True):
        before[axis], after[axis] = low, high
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


def gather_1(b: Builder, x: SSAValue, indices: SSAValue, *, axis: int = 0) -> SSAValue:
    return b.nn("gather", x, indices, axis=axis_in(axis, len(b.shape(x))))


def gather_elements_11(b: Builder, x: SSAValue, indices: SSAValue, *, axis: int = 0) -> SSAValue:
    return b.nn("gather_elements", x, indices, axis=axis_in(axis, len(b.shape(x))))


def gather_nd_11(b: Builder, x: SSAValue, indices: SSAValue, *, batch_dims: int = 0) -> SSAValue:
    return b.nn("gather_nd", x, indices, batch_dims=batch_dims)


def one_hot_9(b: Builder, indices: SSAValue, depth: SSAValue, values: SSAValue, *, axis: int = -1) -> SSAValue:
    """values[1] where a new axis of that depth counts to the index (negative ones from the end), values[0] elsewhere."""
    if b.dtype(depth).kind not in "iu" and b.known(depth) is None:
        return b.nn("one_hot", indices, b.reshape(depth), values, axis=axis)
    size = int(b.number(depth, "depth"))
    rank = len(b.shape(indices)) + 1
    at = axis_in(axis, rank)
    if not 0 < size <= 1 << 20 or b.shape(values) != (2,):
        raise Error("E0402", f"depth {size} and values {list(b.shape(values))} do not fit")
    shape = b.shape(indices)
    wide = b.reshape(b.cast(indices, np.dtype(np.int64)), *shape[:at], 1, *shape[at:])
    count = b.constant(np.array(size, np.int64))
    wide = b.nn("where", b.nn("less", wide, b.constant(np.array(0, np.int64))), b.nn("add", wide, count), wide)
    steps = b.constant(np.arange(size, dtype=np.int64).reshape(size, *(1,) * (rank - 1 - at)))
    off, on = (b.nn("slice", values, starts=(i,), sizes=(1,), steps=(1,)) for i in (0, 1))
    return b.nn("where", b.nn("equal", wide, steps), b.reshape(on), b.reshape(off))


def trilu_14(b: Builder, x: SSAValue, k: SSAValue | None = None, *, upper: int = 1) -> SSAValue:
    """The part of each matrix on and above (or below) the diagonal k; 0 elsewhere."""
    shape = b.shape(x)
    offset = 0 if k is None else int(b.number(k, "k"))
    if len(shape) < 2 or shape[-2] * shape[-1] > 1 << 24:
        raise Error("E0401", f"takes matrices of at most 16 M elements, not {b.spec(x)}")
    rows, columns = np.arange(shape[-2])[:, None], np.arange(shape[-1])[None, :]
    offset = min(max(offset, -shape[-2]), shape[-1])
    keep = columns - rows >= offset if upper else columns - rows <= offset
    return b.nn("where", b.constant(keep), x, b.scalar(0, x))
