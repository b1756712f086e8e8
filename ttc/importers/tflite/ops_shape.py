"""Ops that change shape or order, join and cut tensors, and make tensors from sizes."""

from __future__ import annotations

import numpy as np

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.values import SSAValue
from ttc.dialects.core.shapes import axis_in, broadcast_shapes
from ttc.importers.common.builder import Builder
from ttc.importers.common.masked import resolved, reverse
from ttc.importers.common.parts import stacked
from ttc.importers.common.shapes import broadcast_args, elements, equal_parts, expanded, range_, sized_parts, sizes, squeezed
from ttc.importers.common.unsupported import Unsupported
from ttc.importers.tflite.building import TfliteBuilder
from ttc.importers.tflite.fused import fused
from ttc.importers.tflite.tables import CODES, Rows


def reshape(b: Builder, x: SSAValue, shape: SSAValue | None = None, *, new_shape: tuple[int, ...] | None) -> SSAValue:
    """Reshape; one -1 takes what is left. The operand counts, or the option where the operand is missing."""
    if shape is None and new_shape is None:
        raise Error("E0203", "a reshape has no shape")
    wanted = b.ints(shape, "shape") if shape is not None else new_shape or ()
    return b.nn("reshape", x, shape=resolved(b.shape(x), wanted))


def squeeze(b: Builder, x: SSAValue, *, squeeze_dims: tuple[int, ...] | None) -> SSAValue:
    return squeezed(b, x, squeeze_dims or ())


def expand_dims(b: TfliteBuilder, x: SSAValue, axis: SSAValue) -> SSAValue:
    return expanded(b, x, b.whole(axis, "axis"))


def transpose(b: Builder, x: SSAValue, perm: SSAValue) -> SSAValue:
    return b.nn("transpose", x, perm=tuple(axis_in(p, b.rank(x)) for p in b.ints(perm, "perm")))


def concatenation(b: Builder, x: SSAValue, *xs: SSAValue, axis: int) -> SSAValue:
    at = axis_in(axis, b.rank(x))
    return b.nn("concat", x, *xs, axis=at) if xs else x


def split(b: TfliteBuilder, axis: SSAValue, x: SSAValue, *, num_splits: int) -> tuple[SSAValue, ...]:
    _require_results(b, num_splits)
    return equal_parts(b, x, b.whole(axis, "axis"), num_splits)


def split_v(b: TfliteBuilder, x: SSAValue, size_splits: SSAValue, axis: SSAValue, *, num_splits: int) -> tuple[SSAValue, ...]:
    """Split into parts of given sizes, one of which may be -1: what is left."""
    given = b.ints(size_splits, "sizes")
    _require_results(b, len(given))
    return sized_parts(b, x, b.whole(axis, "axis"), given)


def pack(b: Builder, x: SSAValue, *xs: SSAValue, values_count: int, axis: int) -> SSAValue:
    return stacked(b, (x, *xs), axis)


def unpack(b: Builder, x: SSAValue, *, num: int, axis: int) -> tuple[SSAValue, ...]:
    _require_results(b, num)
    return elements(b, x, axis, num)


def _require_results(b: Builder, parts: int) -> None:
    if parts != len(b.outputs):
        raise Error("E0401", f"{parts} parts do not fit {len(b.outputs)} results")


def tile(b: Builder, x: SSAValue, multiples: SSAValue) -> SSAValue:
    return b.nn("repeat", x, repeats=b.ints(multiples, "multiples"))


def broadcast_to(b: Builder, x: SSAValue, shape: SSAValue) -> SSAValue:
    wanted = sizes(b.ints(shape, "shape"))
    if broadcast_shapes(b.shape(x), wanted) != wanted:
        raise Error("E0401", f"{b.spec(x)} does not broadcast to {list(wanted)}")
    return b.nn("expand", x, shape=wanted)


def reverse_v2(b: Builder, x: SSAValue, axes: SSAValue) -> SSAValue:
    return reverse(b, x, b.ints(axes, "axes"))


def shape(b: TfliteBuilder, x: SSAValue, *, out_type: str) -> SSAValue:
    return b.cast(b.nn("shape", x), b.declared[0])


def rank(b: TfliteBuilder, x: SSAValue) -> SSAValue:
    return b.constant(np.array(b.rank(x), b.declared[0]))


def zeros_like(b: Builder, x: SSAValue) -> SSAValue:
    return b.nn("expand", b.scalar(0, x), shape=b.shape(x))


def fill(b: Builder, dims: SSAValue, value: SSAValue) -> SSAValue:
    return b.nn("expand", b.reshape(value), shape=sizes(b.ints(dims, "dims")))


def embedding_lookup(b: Builder, ids: SSAValue, table: SSAValue) -> SSAValue:
    if not b.shape(table):
        raise Error("E0401", f"{b.spec(table)} is no table")
    return b.nn("gather", table, ids, axis=0)


def matrix_diag(b: Builder, diagonal: SSAValue) -> SSAValue:
    """Return matrices with the diagonals given."""
    size = _diagonal_size(b, diagonal)
    keep = b.constant(np.eye(size, dtype=bool))
    return b.nn("where", keep, b.reshape(diagonal, *b.shape(diagonal), 1), b.scalar(0, diagonal))


def matrix_set_diag(b: Builder, x: SSAValue, diagonal: SSAValue) -> SSAValue:
    """Return matrices with their diagonals replaced."""
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
    """Return the operand: sparse constants are spread out when they are read."""
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
CODES.update(
    {
        *("RESHAPE", "SQUEEZE", "EXPAND_DIMS", "TRANSPOSE", "CONCATENATION", "SPLIT", "SPLIT_V", "PACK", "UNPACK", "TILE"),
        *("BROADCAST_TO", "REVERSE_V2", "FILL", "EMBEDDING_LOOKUP", "DENSIFY"),
    }
)
