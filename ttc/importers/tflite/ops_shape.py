"""Ops that change shape or order, join and cut tensors, and make tensors from sizes."""

from __future__ import annotations

import numpy as np
from xdsl.ir import SSAValue

from ttc.dialects.core.errors import Error
from ttc.dialects.nn.base import axes_in, axis_in, broadcast_shapes
from ttc.importers.common.builder import MAX_RANK, Builder
from ttc.importers.common.masked import resolved, reverse
from ttc.importers.common.parts import stacked
from ttc.importers.common.unsupported import Unsupported
from ttc.importers.tflite.building import TfliteBuilder
from ttc.importers.tflite.fused import fused
from ttc.importers.tflite.tables import Rows


def reshape(b: Builder, x: SSAValue, shape: SSAValue | None = None, *, new_shape: tuple[int, ...] | None) -> SSAValue:
    """One -1 takes what is left.  The operand counts, the option where that is missing."""
    if shape is None and new_shape is None:
        raise Error("E0203", "a reshape without a shape")
    wanted = b.ints(shape, "shape") if shape is not None else new_shape or ()
    return b.nn("reshape", x, shape=resolved(b.shape(x), wanted))


def squeeze(b: Builder, x: SSAValue, *, squeeze_dims: tuple[int, ...] | None) -> SSAValue:
    """Drop dimensions of size 1: those named, or all."""
    shape = b.shape(x)
    dropped = axes_in(squeeze_dims, len(shape)) if squeeze_dims else tuple(i for i, d in enumerate(shape) if d == 1)
    if any(shape[i] != 1 for i in dropped):
        raise Error("E0401", f"dimensions {list(dropped)} of {list(shape)} are not all 1")
    return b.reshape(x, *(d for i, d in enumerate(shape) if i not in dropped))


def expand_dims(b: TfliteBuilder, x: SSAValue, axis: SSAValue) -> SSAValue:
    shape = b.shape(x)
    at = axis_in(b.whole(axis, "axis"), len(shape) + 1)
    return b.reshape(x, *shape[:at], 1, *shape[at:])


def transpose(b: Builder, x: SSAValue, perm: SSAValue) -> SSAValue:
    return b.nn("transpose", x, perm=tuple(axis_in(p, b.rank(x)) for p in b.ints(perm, "perm")))


def concatenation(b: Builder, x: SSAValue, *xs: SSAValue, axis: int) -> SSAValue:
    at = axis_in(axis, b.rank(x))
    return b.nn("concat", x, *xs, axis=at) if xs else x


def split(b: TfliteBuilder, axis: SSAValue, x: SSAValue, *, num_splits: int) -> tuple[SSAValue, ...]:
    at = axis_in(b.whole(axis, "axis"), b.rank(x))
    size = b.shape(x)[at]
    if num_splits != len(b.outputs) or num_splits < 1 or size % num_splits:
        raise Error("E0401", f"{size} elements in {num_splits} parts for {len(b.outputs)} results")
    return b.nn_all("split", x, axis=at, sizes=(size // num_splits,) * num_splits)


def split_v(b: TfliteBuilder, x: SSAValue, size_splits: SSAValue, axis: SSAValue, *, num_splits: int) -> tuple[SSAValue, ...]:
    """One size may be -1: what is left."""
    at = axis_in(b.whole(axis, "axis"), b.rank(x))
    sizes = b.ints(size_splits, "sizes")
    if len(sizes) != len(b.outputs) or sizes.count(-1) > 1:
        raise Error("E0401", f"sizes {list(sizes)[:40]} for {len(b.outputs)} results")
    rest = b.shape(x)[at] - sum(s for s in sizes if s != -1)
    return b.nn_all("split", x, axis=at, sizes=tuple(rest if s == -1 else s for s in sizes))


def pack(b: Builder, x: SSAValue, *xs: SSAValue, values_count: int, axis: int) -> SSAValue:
    return stacked(b, (x, *xs), axis)


def unpack(b: Builder, x: SSAValue, *, num: int, axis: int) -> tuple[SSAValue, ...]:
    shape = b.shape(x)
    at = axis_in(axis, len(shape))
    if not num == shape[at] == len(b.outputs):
        raise Error("E0401", f"{shape[at]} elements for {len(b.outputs)} results")
    parts = b.nn_all("split", x, axis=at, sizes=(1,) * num) if num > 1 else (x,)
    return tuple(b.reshape(p, *shape[:at], *shape[at + 1 :]) for p in parts)


def tile(b: Builder, x: SSAValue, multiples: SSAValue) -> SSAValue:
    return b.nn("repeat", x, repeats=b.ints(multiples, "multiples"))


def broadcast_to(b: Builder, x: SSAValue, shape: SSAValue) -> SSAValue:
    wanted = _sizes(b.ints(shape, "shape"))
    if broadcast_shapes(b.shape(x), wanted) != wanted:
        raise Error("E0401", f"{b.spec(x)} does not broadcast to {list(wanted)}")
    return b.nn("expand", x, shape=wanted)


def broadcast_args(b: Builder, x: SSAValue, y: SSAValue) -> SSAValue:
    """The shape that two shapes broadcast to."""
    first, second = (_sizes(b.ints(v, "shape")) for v in (x, y))
    return b.constant(np.array(broadcast_shapes(first, second), b.dtype(x)))


def _sizes(values: tuple[int, ...]) -> tuple[int, ...]:
    if len(values) > MAX_RANK or min(values, default=0) < 0:
        raise Error("E0402", f"{list(values[:MAX_RANK])} is not a shape")
    return values


def reverse_v2(b: Builder, x: SSAValue, axes: SSAValue) -> SSAValue:
    return reverse(b, x, b.ints(axes, "axes"))


def shape(b: TfliteBuilder, x: SSAValue, *, out_type: str) -> SSAValue:
    return b.cast(b.nn("shape", x), b.declared[0])


def rank(b: TfliteBuilder, x: SSAValue) -> SSAValue:
    return b.constant(np.array(b.rank(x), b.declared[0]))


def zeros_like(b: Builder, x: SSAValue) -> SSAValue:
    return b.nn("expand", b.scalar(0, x), shape=b.shape(x))


def fill(b: Builder, dims: SSAValue, value: SSAValue) -> SSAValue:
    return b.nn("expand", b.reshape(value), shape=_sizes(b.ints(dims, "dims")))


def range_(b: Builder, start: SSAValue, limit: SSAValue, delta: SSAValue) -> SSAValue:
    operands = [b.reshape(v) for v in (start, limit, delta)]
    known = [k.item() for k in map(b.known, operands) if k is not None]
    if len(known) < len(operands):
        return b.nn("range", *operands)
    first, last, step = known
    if not np.isfinite(known).all() or step == 0 or abs((last - first) / step) > 1 << 24:
        raise Error("E0402", f"a range from {first} to {last} in steps of {step}")
    return b.constant(np.arange(first, last, step).astype(b.dtype(start)))


def embedding_lookup(b: Builder, ids: SSAValue, table: SSAValue) -> SSAValue:
    if not b.shape(table):
        raise Error("E0401", f"{b.spec(table)} is no table")
    return b.nn("gather", table, ids, axis=0)


def matrix_diag(b: Builder, diagonal: SSAValue) -> SSAValue:
    """Matrices with the diagonals given."""
    size = _diagonal_size(b, diagonal)
    keep = b.constant(np.eye(size, dtype=bool))
    return b.nn("where", keep, b.reshape(diagonal, *b.shape(diagonal), 1), b.scalar(0, diagonal))


def matrix_set_diag(b: Builder, x: SSAValue, diagonal: SSAValue) -> SSAValue:
    """Matrices with their diagonals replaced."""
    shape = b.shape(x)
    if len(shape) < 2 or b.shape(diagonal) != (*shape[:-2], min(shape[-2:])) or shape[-2] * shape[-1] > 1 << 24:
        raise Error("E0401", f"{b.spec(diagonal)} is no diagonal of {b.spec(x)}")
    keep = b.constant(np.eye(shape[-2], shape[-1], dtype=bool))
    rows = b.reshape(diagonal, *shape[:-2], min(shape[-2:]), 1)
    if shape[-2] > shape[-1]:
        margin = (*(0,) * (len(shape) - 2), shape[-2] - shape[-1], 0)
        rows = b.nn("pad", rows, before=(0,) * len(shape), after=margin, value=0.0, mode="constant")
    return b.nn("where", keep, rows, x)


def densify(b: Builder, x: SSAValue) -> SSAValue:
    """Sparse constants are spread out when they are read."""
    return x


def _diagonal_size(b: Builder, diagonal: SSAValue) -> int:
    shape = b.shape(diagonal)
    if not shape or shape[-1] > 1 << 12:
        raise Unsupported(f"a diagonal of {b.spec(diagonal)}")
    return shape[-1]


ROWS: Rows = {
    "RESHAPE": reshape,
    "SQUEEZE": squeeze,
    "EXPAND_DIMS": expand_dims,
    "TRANSPOSE": transpose,
    "CONCATENATION": fused(concatenation),
    "SPLIT": split,
    "SPLIT_V": split_v,
    "PACK": pack,
    "UNPACK": unpack,
    "TILE": tile,
    "BROADCAST_TO": broadcast_to,
    "BROADCAST_ARGS": broadcast_args,
    "REVERSE_V2": reverse_v2,
    "SHAPE": shape,
    "RANK": rank,
    "ZEROS_LIKE": zeros_like,
    "FILL": fill,
    "RANGE": range_,
    "EMBEDDING_LOOKUP": embedding_lookup,
    "DENSIFY": densify,
    "MATRIX_DIAG": matrix_diag,
    "MATRIX_SET_DIAG": matrix_set_diag,
}
CODES = frozenset(
    {
        *("RESHAPE", "SQUEEZE", "EXPAND_DIMS", "TRANSPOSE", "CONCATENATION", "SPLIT", "SPLIT_V", "PACK", "UNPACK", "TILE"),
        *("BROADCAST_TO", "REVERSE_V2", "FILL", "EMBEDDING_LOOKUP", "DENSIFY"),
    }
)
