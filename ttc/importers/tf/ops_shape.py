"""Shapes: reshapes, transposes, parts put together and taken apart, sizes as values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn, TypeAlias

import numpy as np

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.values import SSAValue
from ttc.dialects.core.shapes import axes_in, axis_in
from ttc.importers.common import dynamic
from ttc.importers.common.builder import Builder
from ttc.importers.common.masked import resolved
from ttc.importers.common.parts import stacked
from ttc.importers.common.shapes import broadcast_args, elements, equal_parts, expanded, range_, sized_parts, squeezed
from ttc.importers.tf import computed
from ttc.importers.tf.tables import Rows

Ints: TypeAlias = tuple[int, ...]
INT32 = np.dtype(np.int32)


def reshape(b: Builder, tensor: SSAValue, shape: SSAValue) -> SSAValue:
    """Reshape; one size may be -1, which then follows from the others."""
    known = computed.ints(b, "shape", shape)
    if known is not None and b.spec(tensor).is_static:
        return b.nn("reshape", tensor, shape=resolved(b.shape(tensor), known[0]))
    return dynamic.reshaped(b, tensor, computed.numbers(b, shape) if known is None else known[0])


def squeeze(b: Builder, input: SSAValue, *, squeeze_dims: Ints = ()) -> SSAValue:
    if not b.spec(input).is_static and squeeze_dims:
        return dynamic.without_axes(b, input, axes_in(tuple(set(squeeze_dims)), b.rank(input)))
    return squeezed(b, input, tuple(set(squeeze_dims)))


def expand_dims(b: Builder, input: SSAValue, dim: SSAValue) -> SSAValue:
    at = int(b.number(dim, "dim"))
    return expanded(b, input, at) if b.spec(input).is_static else dynamic.with_axes(b, input, (at,))


def transpose(b: Builder, x: SSAValue, perm: SSAValue) -> SSAValue:
    order = tuple(axis_in(p, b.rank(x)) for p in b.ints(perm, "perm"))
    return b.nn("transpose", x, perm=order)


def concat(b: Builder, *operands: SSAValue) -> SSAValue:
    """Concatenate values along an axis, which is the last operand."""
    *values, axis = operands or _lacking()
    return _concat(b, values, axis)


def concat_old(b: Builder, *operands: SSAValue) -> SSAValue:
    """Concatenate values along an axis, which is the first operand."""
    axis, *values = operands or _lacking()
    return _concat(b, values, axis)


def _lacking() -> NoReturn:
    raise Error("E0203", "needs an axis and at least one value")


def _concat(b: Builder, values: Sequence[SSAValue], axis: SSAValue) -> SSAValue:
    along = axis_in(int(b.number(axis, "axis")), b.rank(values[0])) if values else _lacking()
    return b.nn("concat", *values, axis=along) if len(values) > 1 else values[0]


def split(b: Builder, split_dim: SSAValue, value: SSAValue, *, num_split: int) -> tuple[SSAValue, ...]:
    """Split into parts of one size."""
    return equal_parts(b, value, int(b.number(split_dim, "split_dim")), num_split)


def split_v(b: Builder, value: SSAValue, size_splits: SSAValue, split_dim: SSAValue, *, num_split: int) -> tuple[SSAValue, ...]:
    """Split into parts of given sizes, one of which may be -1."""
    sizes = b.ints(size_splits, "size_splits")
    if len(sizes) != num_split:
        raise Error("E0402", f"{len(sizes)} sizes do not fit {num_split} parts")
    return sized_parts(b, value, int(b.number(split_dim, "split_dim")), sizes)


def pack(b: Builder, *values: SSAValue, axis: int = 0) -> SSAValue:
    if not values:
        raise Error("E0203", "needs at least one value")
    return stacked(b, values, axis)


def unpack(b: Builder, value: SSAValue, *, num: int, axis: int = 0) -> tuple[SSAValue, ...]:
    return elements(b, value, axis, num)


def tile(b: Builder, input: SSAValue, multiples: SSAValue) -> SSAValue:
    times = b.ints(multiples, "multiples")
    if len(times) != b.rank(input) or min(times, default=0) < 0:
        raise Error("E0402", f"multiples {list(times)} do not fit {b.spec(input)}")
    return b.nn("repeat", input, repeats=times) if set(times) - {1} else input


def broadcast_to(b: Builder, input: SSAValue, shape: SSAValue) -> SSAValue:
    sizes = b.ints(shape, "shape")
    return input if sizes == b.shape(input) else b.nn("expand", input, shape=sizes)


def shape_of(b: Builder, input: SSAValue, *, out_type: np.dtype = INT32) -> SSAValue:
    return b.cast(b.nn("shape", input), out_type)


def shape_n(b: Builder, *input: SSAValue, out_type: np.dtype = INT32) -> tuple[SSAValue, ...]:
    return tuple(shape_of(b, x, out_type=out_type) for x in input)


def size(b: Builder, input: SSAValue, *, out_type: np.dtype = INT32) -> SSAValue:
    if b.spec(input).is_static:
        return b.constant(np.array(b.spec(input).elements, out_type))
    return b.cast(b.nn("reduce_prod", b.nn("shape", input), axes=(0,), keepdims=False), out_type)


def rank(b: Builder, input: SSAValue) -> SSAValue:
    return b.constant(np.array(b.rank(input), np.int32))


def fill(b: Builder, dims: SSAValue, value: SSAValue) -> SSAValue:
    known = computed.ints(b, "dims", dims)
    if known is None:
        return dynamic.expanded(b, b.reshape(value), dims, dynamic.known_of(b, dims))
    (sizes,) = known
    return b.nn("expand", b.reshape(value), shape=sizes) if sizes else b.reshape(value)


def empty(b: Builder, shape: SSAValue, *, dtype: np.dtype, init: bool = False) -> SSAValue:
    """Return zeros for a tensor whose content nobody may rely on."""
    return fill(b, shape, b.constant(np.zeros((), dtype)))


def zeros_like(b: Builder, x: SSAValue) -> SSAValue:
    return _filled(b, x, 0)


def ones_like(b: Builder, x: SSAValue) -> SSAValue:
    return _filled(b, x, 1)


def _filled(b: Builder, x: SSAValue, value: int) -> SSAValue:
    if not b.spec(x).is_static:
        return dynamic.expanded(b, b.scalar(value, x), b.nn("shape", x), b.spec(x).shape)
    return b.nn("expand", b.scalar(value, x), shape=b.shape(x)) if b.shape(x) else b.scalar(value, x)


def linspace(b: Builder, start: SSAValue, stop: SSAValue, num: SSAValue) -> SSAValue:
    count = int(b.number(num, "num"))
    if not 1 <= count <= 1 << 24:
        raise Error("E0402", f"num is from 1 to {1 << 24}, not {count}")
    return b.constant(np.linspace(b.number(start, "start"), b.number(stop, "stop"), count).astype(b.dtype(start)))


ROWS: Rows = {
    "Reshape": reshape,
    "Squeeze": squeeze,
    "ExpandDims": expand_dims,
    "Transpose": transpose,
    "ConcatV2": concat,
    "Concat": concat_old,
    "Split": split,
    "SplitV": split_v,
    "Pack": pack,
    "Unpack": unpack,
    "Tile": tile,
    "BroadcastTo": broadcast_to,
    "Shape": shape_of,
    "ShapeN": shape_n,
    "Size": size,
    "Rank": rank,
    "Fill": fill,
    "Empty": empty,
    "ZerosLike": zeros_like,
    "OnesLike": ones_like,
    "Range": range_,
    "BroadcastArgs": broadcast_args,
    "LinSpace": linspace,
}
