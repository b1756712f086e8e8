"""Parts of tensors: slices, pads, gathers."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.values import SSAValue
from ttc.dialects.core.shapes import axis_in
from ttc.importers.common.builder import Builder
from ttc.importers.common.parts import padded, strided, triangle
from ttc.importers.common.unsupported import Unsupported
from ttc.importers.onnx.tables import MAPPINGS

Ints: TypeAlias = tuple[int, ...]

MAX_DEPTH = 1 << 20
"""The most entries of the axis that OneHot adds: each is a constant of the program."""


@MAPPINGS.rule("Slice-1")
def slice_1(b: Builder, x: SSAValue, *, axes: Ints | None = None, ends: Ints, starts: Ints) -> SSAValue:
    return _strided(b, x, starts, ends, axes, None)


def _strided(b: Builder, x: SSAValue, starts: Ints, ends: Ints, axes: Ints | None, steps: Ints | None) -> SSAValue:
    """Python's slices, but that one which runs backward from before the first element starts at it."""
    along = range(len(starts)) if axes is None else axes
    if steps is not None and len(starts) == len(along) == len(steps):
        shape = b.shape(x)
        sizes = [shape[axis_in(axis, len(shape))] for axis in along]
        starts = tuple(max(s, -n) if step < 0 else s for s, n, step in zip(starts, sizes, steps, strict=True))
    return strided(b, x, starts, ends, axes, steps)


@MAPPINGS.rule("Slice-10")
def slice_10(
    b: Builder, x: SSAValue, starts: SSAValue, ends: SSAValue, axes: SSAValue | None = None, steps: SSAValue | None = None
) -> SSAValue:
    """Map Slice; bounds that are computed, or of a dimension that is computed, are for the run."""
    along = tuple(range(*b.shape(starts))) if axes is None else b.ints(axes, "axes")
    by = None
    try:
        by = None if steps is None else b.ints(steps, "steps")
        first, last = b.ints(starts, "starts"), b.ints(ends, "ends")
        if b.spec(x).is_static:
            return _strided(b, x, first, last, along, by)
    except Unsupported:
        if not any(b.is_of_data(v) for v in (starts, ends, steps) if v is not None):
            raise
    if steps is not None and (by is None or min(by, default=1) < 0):
        starts = _from_the_first(b, x, starts, along, steps)
    steps = b.constant(np.ones(len(along), np.int64)) if steps is None else steps
    return b.nn("dynamic_slice", x, starts, ends, steps, axes=along)


def _from_the_first(b: Builder, x: SSAValue, starts: SSAValue, axes: Ints, steps: SSAValue) -> SSAValue:
    """Starts of slices; those that run backward from before the first element start at it."""
    places = np.array([axis_in(axis, b.rank(x)) for axis in axes], np.int64)
    sizes = b.cast(b.nn("gather", b.nn("shape", x), b.constant(places), axis=0), b.dtype(starts))
    inside = b.nn("maximum", starts, b.nn("neg", sizes))
    return b.nn("where", b.nn("less", steps, b.scalar(0, steps)), inside, starts)


@MAPPINGS.rule("Pad-2")
def pad_2(b: Builder, x: SSAValue, *, mode: str = "constant", pads: Ints, value: float = 0.0) -> SSAValue:
    return _pad(b, x, pads, value, None, mode)


@MAPPINGS.rule("Pad-11")
def pad_11(b: Builder, x: SSAValue, pads: SSAValue, value: SSAValue | None = None, *, mode: str = "constant") -> SSAValue:
    return pad_18(b, x, pads, value, mode=mode)


@MAPPINGS.rule("Pad-18")
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
    if mode not in ("constant", "reflect", "edge", "wrap"):
        raise Unsupported(f"mode {mode[:20]}")
    at = range(b.rank(x)) if axes is None else [axis_in(a, b.rank(x)) for a in axes]
    if len(pads) != 2 * len(at) or len(set(at)) != len(at):
        raise Error("E0402", f"{len(pads)} pads do not fit axes {list(at)}")
    before, after = [0] * b.rank(x), [0] * b.rank(x)
    for axis, low, high in zip(at, pads[: len(at)], pads[len(at) :], strict=True):
        before[axis], after[axis] = low, high
    return padded(b, x, before, after, value, mode)


@MAPPINGS.rule("Gather-1")
def gather_1(b: Builder, x: SSAValue, indices: SSAValue, *, axis: int = 0) -> SSAValue:
    return b.nn("gather", x, indices, axis=axis_in(axis, b.rank(x)))


@MAPPINGS.rule("GatherElements-11")
def gather_elements_11(b: Builder, x: SSAValue, indices: SSAValue, *, axis: int = 0) -> SSAValue:
    return b.nn("gather_elements", x, indices, axis=axis_in(axis, b.rank(x)))


@MAPPINGS.rule("GatherND-11")
def gather_nd_11(b: Builder, x: SSAValue, indices: SSAValue, *, batch_dims: int = 0) -> SSAValue:
    return b.nn("gather_nd", x, indices, batch_dims=batch_dims)


@MAPPINGS.rule("OneHot-9")
def one_hot_9(b: Builder, indices: SSAValue, depth: SSAValue, values: SSAValue, *, axis: int = -1) -> SSAValue:
    """Return values[1] where a new axis of that depth counts to the index (negative ones from the end), values[0] elsewhere."""
    if b.dtype(depth).kind not in "iu" and b.known(depth) is None:
        return b.nn("one_hot", indices, b.reshape(depth), values, axis=axis)
    size = int(b.number(depth, "depth"))
    rank = b.rank(indices) + 1
    at = axis_in(axis, rank)
    if b.shape(values) != (2,):
        raise Error("E0402", f"values must be the two of off and on, not of shape {list(b.shape(values))}")
    if not 0 < size <= MAX_DEPTH:
        raise Error("E0402", f"a depth of {size}; 1 to {MAX_DEPTH} are possible")
    shape = b.shape(indices)
    wide = b.reshape(b.cast(indices, np.dtype(np.int64)), *shape[:at], 1, *shape[at:])
    count = b.constant(np.array(size, np.int64))
    wide = b.nn("where", b.nn("less", wide, b.constant(np.array(0, np.int64))), b.nn("add", wide, count), wide)
    steps = b.constant(np.arange(size, dtype=np.int64).reshape(size, *(1,) * (rank - 1 - at)))
    off, on = (b.nn("slice", values, starts=(i,), sizes=(1,), steps=(1,)) for i in (0, 1))
    return b.nn("where", b.nn("equal", wide, steps), b.reshape(on), b.reshape(off))


@MAPPINGS.rule("Trilu-14")
def trilu_14(b: Builder, x: SSAValue, k: SSAValue | None = None, *, upper: int = 1) -> SSAValue:
    """Return the part of each matrix on and above (or below) the diagonal k; 0 elsewhere."""
    return triangle(b, x, 0 if k is None else int(b.number(k, "k")), upper=bool(upper))
