"""Rows for PyTorch ops that write elements at computed places."""

from __future__ import annotations

from math import prod

import numpy as np

from ttc.dialects.core.ir.spec import DYNAMIC
from ttc.dialects.core.ir.values import SSAValue
from ttc.dialects.core.shapes import axis_in, broadcast_shapes
from ttc.importers.common.dynamic import expanded, listed, size_of, with_axes
from ttc.importers.common.unsupported import Unsupported
from ttc.importers.torch.builder import Operand, TorchBuilder
from ttc.importers.torch.elements import BOOL, INT64, times
from ttc.importers.torch.ops_index import Indices, joined_indices, placed
from ttc.importers.torch.tables import Rows

REDUCTIONS = {"sum": "add", "add": "add", "prod": "mul", "multiply": "mul", "mul": "mul", "amax": "max", "amin": "min"}


def index_put(b: TorchBuilder, x: SSAValue, indices: Indices, values: SSAValue, accumulate: bool, *_unsafe: bool) -> SSAValue:
    """Write x[indices] = values, or += : with the indexed dimensions in front, where index tuples write slices.

    Places in one dimension behind others are written where they are, as in caches of attention: x is not turned.
    """
    values = b.cast(values, b.dtype(x))
    first = indices[0] if indices else None
    if len(indices) == 1 and first is not None and b.dtype(first) == BOOL and b.known(first) is None:
        return _masked_put(b, x, first, values, accumulate)
    places = placed(b, indices)
    used = [i for i, v in enumerate(places) if v is not None]
    rank = b.rank(x)
    along = places[used[0]] if len(used) == 1 and used[0] > 0 else None
    if along is not None and b.rank(along) < 2 and b.spec(along).is_static and b.spec(x).is_static:
        return _put_along(b, x, used[0], along, values, accumulate)
    order = (*used, *(i for i in range(rank) if i not in used))
    front = x if order == tuple(range(rank)) else b.nn("transpose", x, perm=order)
    tuples = joined_indices(b, [v for v in places if v is not None])
    slices = b.shape(front)[len(used) :]
    updates = _updates(b, values, tuples, slices, used)
    found = b.nn("scatter_nd", front, tuples, updates, reduction="add" if accumulate else "none")
    return found if front is x else b.nn("transpose", found, perm=tuple(int(i) for i in np.argsort(order)))


def _put_along(b: TorchBuilder, x: SSAValue, axis: int, index: SSAValue, values: SSAValue, accumulate: bool) -> SSAValue:
    """Return values written at places of one dimension, which values have where the index has one."""
    shape = b.shape(x)
    wanted = (*shape[:axis], *b.shape(index), *shape[axis + 1 :])
    values = _trimmed(b, values, len(wanted))
    wide = values if b.shape(values) == wanted else b.nn("expand", values, shape=wanted)
    line, axis, at, slices = _slices(b, x, axis, index, wide)
    return _scattered(b, line, axis, at, slices, "add" if accumulate else "none")


def _updates(b: TorchBuilder, values: SSAValue, tuples: SSAValue, slices: tuple[int, ...], used: list[int]) -> SSAValue:
    """Return values broadcast to what x[indices] is, with the dimensions of the indices in front."""
    lead = b.spec(tuples).shape[:-1]
    together = used == list(range(used[0], used[0] + len(used)))
    at = used[0] if together else 0
    shape = (*slices[:at], *lead, *slices[at:])
    if DYNAMIC in lead:
        sizes = (*slices[:at], *(size_of(b, tuples, axis) for axis in range(len(lead))), *slices[at:])
        wide = expanded(b, _trimmed(b, values, len(shape)), listed(b, sizes), shape)
    else:
        wide = values if b.shape(values) == shape else b.nn("expand", _trimmed(b, values, len(shape)), shape=shape)
    if at == 0:
        return wide
    n = len(lead)
    return b.nn("transpose", wide, perm=(*range(at, at + n), *range(at), *range(at + n, len(shape))))


def _trimmed(b: TorchBuilder, values: SSAValue, rank: int) -> SSAValue:
    """Without leading dimensions of 1 beyond the rank."""
    if b.rank(values) <= rank:
        return values
    return b.reshape(values, *b.shape(values)[b.rank(values) - rank :])


def _masked_put(b: TorchBuilder, x: SSAValue, mask: SSAValue, values: SSAValue, accumulate: bool) -> SSAValue:
    """Return one value where the mask is true."""
    if b.spec(values).elements != 1:
        raise Unsupported("several values under a mask")
    mask = b.reshape(mask, *b.shape(mask), *(1,) * (b.rank(x) - b.rank(mask)))
    value = b.reshape(values)
    return b.nn("where", mask, b.nn("add", x, value) if accumulate else value, x)


def _lines(b: TorchBuilder, x: SSAValue, dim: int, *others: SSAValue) -> tuple[SSAValue, int, list[SSAValue]]:
    """x of rank 1 or more, its axis, and the others with as many dimensions."""
    if b.shape(x):
        rank = b.rank(x)
        return x, axis_in(dim, rank), [b.reshape(v, *(1,) * rank) if not b.shape(v) else v for v in others]
    return b.reshape(x, 1), 0, [b.reshape(v, b.spec(v).elements) for v in others]


def _scattered(b: TorchBuilder, x: SSAValue, dim: int, indices: SSAValue, updates: SSAValue, reduction: str) -> SSAValue:
    """Return elements of updates that indices has a place for."""
    line, axis, (places, values) = _lines(b, x, dim, indices, updates)
    if b.shape(values) != b.shape(places):
        sizes = b.shape(places)
        values = b.nn("slice", values, starts=(0,) * len(sizes), sizes=sizes, steps=(1,) * len(sizes))
    found = b.nn("scatter_elements", line, places, b.cast(values, b.dtype(x)), axis=axis, reduction=reduction)
    return b.reshape(found, *b.shape(x))


def scatter(b: TorchBuilder, x: SSAValue, dim: int, index: SSAValue, source: Operand, *, reduce: str | None = None) -> SSAValue:
    """Write elements, or one number, at places."""
    if not isinstance(source, SSAValue):
        number = b.operand(source, b.dtype(x))
        source = number if not b.shape(index) else b.nn("expand", number, shape=b.shape(index))
    return _scattered(b, x, dim, index, source, "none" if reduce is None else _reduction(reduce))


def scatter_add(b: TorchBuilder, x: SSAValue, dim: int, index: SSAValue, source: SSAValue) -> SSAValue:
    return _scattered(b, x, dim, index, source, "add")


def _reduction(name: str) -> str:
    if name not in REDUCTIONS:
        raise Unsupported(f"reduce {name[:20]}")
    return REDUCTIONS[name]


def scatter_reduce(
    b: TorchBuilder, x: SSAValue, dim: int, index: SSAValue, source: SSAValue, reduce: str, *, include_self: bool
) -> SSAValue:
    """Return elements combined with x, or without x among themselves where there are any; mean: their sum over how many they are."""
    line, axis, (places, values) = _lines(b, x, dim, index, source)
    base = line if include_self else _without(b, line, places, axis, reduce)
    found = _scattered(b, base, axis, places, values, "add" if reduce == "mean" else _reduction(reduce))
    if reduce == "mean":
        ones = b.nn("expand", b.scalar(1, x), shape=b.shape(places))
        counts = b.nn("expand", b.scalar(1 if include_self else 0, x), shape=b.shape(line))
        counts = b.nn("scatter_elements", counts, places, ones, axis=axis, reduction="add")
        found = _over(b, found, b.nn("maximum", counts, b.scalar(1, x)))
    return b.reshape(found, *b.shape(x))


def _over(b: TorchBuilder, x: SSAValue, count: SSAValue) -> SSAValue:
    """Return the quotient, of integers rounded down."""
    if b.dtype(x).kind in "fV":
        return b.nn("div", x, count)
    return b.nn("div", b.nn("sub", x, b.nn("mod", x, count, fmod=False)), count)


def _without(b: TorchBuilder, x: SSAValue, places: SSAValue, axis: int, reduce: str) -> SSAValue:
    """x with what changes nothing where elements come."""
    dtype = b.dtype(x)
    floats = dtype.kind in "fV"
    least = -np.inf if floats else np.iinfo(dtype).min
    most = np.inf if floats else np.iinfo(dtype).max
    neutral = {"sum": 0, "mean": 0, "prod": 1, "amax": least, "amin": most}.get(reduce)
    if neutral is None:
        raise Unsupported(f"reduce {reduce[:20]}")
    values = b.nn("expand", b.scalar(neutral, x), shape=b.shape(places))
    return b.nn("scatter_elements", x, places, values, axis=axis, reduction="none")


def _slices(b: TorchBuilder, x: SSAValue, dim: int, index: SSAValue, source: SSAValue) -> tuple[SSAValue, int, SSAValue, SSAValue]:
    """x, its axis, index and source for writing slices: index[i] is the place of slice i of the source."""
    line, axis, (values,) = _lines(b, x, dim, source)
    count = b.spec(index).elements
    shape = tuple(count if i == axis else d for i, d in enumerate(b.shape(line)))
    column = b.reshape(b.cast(index, INT64), count, *(1,) * (len(shape) - 1 - axis))
    return line, axis, b.nn("expand", column, shape=shape), b.reshape(values, *shape)


def index_add(b: TorchBuilder, x: SSAValue, dim: int, index: SSAValue, source: SSAValue, *, alpha: float) -> SSAValue:
    if not b.spec(index).is_static and b.rank(x) == b.rank(source) and axis_in(dim, b.rank(x)) == 0:
        added = times(b, b.cast(source, b.dtype(x)), alpha)
        return b.nn("scatter_nd", x, with_axes(b, b.cast(index, INT64), (1,)), added, reduction="add")
    line, axis, places, values = _slices(b, x, dim, index, source)
    return b.reshape(_scattered(b, line, axis, places, times(b, b.cast(values, b.dtype(x)), alpha), "add"), *b.shape(x))


def index_copy(b: TorchBuilder, x: SSAValue, dim: int, index: SSAValue, source: SSAValue) -> SSAValue:
    line, axis, places, values = _slices(b, x, dim, index, source)
    return b.reshape(_scattered(b, line, axis, places, values, "none"), *b.shape(x))


def index_reduce(b: TorchBuilder, x: SSAValue, dim: int, index: SSAValue, source: SSAValue, reduce: str, *, include_self: bool) -> SSAValue:
    line, axis, places, values = _slices(b, x, dim, index, source)
    return b.reshape(scatter_reduce(b, line, axis, places, values, reduce, include_self=include_self), *b.shape(x))


def index_fill(b: TorchBuilder, x: SSAValue, dim: int, index: SSAValue, value: Operand) -> SSAValue:
    """Return one number in the slices, chosen where a place is named: its gradient counts each place once, however often it is named."""
    line, axis, _ = _lines(b, x, dim)
    count, shape = b.spec(index).elements, b.shape(line)
    places = b.reshape(b.cast(index, INT64), count, 1)
    none, ones = (b.constant(np.full(size, value)) for size, value in ((shape[axis], 0), (count, 1)))
    named = b.nn("equal", b.nn("scatter_nd", none, places, ones, reduction="none"), b.constant(np.array(1)))
    wide = b.reshape(named, *(size if i == axis else 1 for i, size in enumerate(shape)))
    return b.reshape(b.nn("where", wide, b.reshape(b.operand(value, b.dtype(x))), line), *b.shape(x))


def put(b: TorchBuilder, x: SSAValue, index: SSAValue, source: SSAValue, accumulate: bool) -> SSAValue:
    """Write at places of the flattened x."""
    count = b.spec(index).elements
    places = b.reshape(b.cast(index, INT64), count, 1)
    flat, values = b.reshape(x, b.spec(x).elements), b.reshape(source, count)
    return b.reshape(b.nn("scatter_nd", flat, places, values, reduction="add" if accumulate else "none"), *b.shape(x))


def masked_scatter(b: TorchBuilder, x: SSAValue, mask: SSAValue, source: SSAValue) -> SSAValue:
    """Return where the mask is true the next element of the source: the one that as many true ones come before."""
    shape = broadcast_shapes(b.shape(x), b.shape(mask))
    wide = mask if b.shape(mask) == shape else b.nn("expand", mask, shape=shape)
    flat = b.cast(b.reshape(wide, prod(shape)), INT64)
    places = b.nn("cumsum", flat, axis=0, exclusive=True, reverse=False)
    last = b.constant(np.array(max(b.spec(source).elements - 1, 0)))
    found = b.nn("gather", b.reshape(source, b.spec(source).elements), b.nn("minimum", places, last), axis=0)
    return b.nn("where", wide, b.reshape(found, *shape), x)


ROWS: Rows = {
    "aten.index_put.default": index_put,
    "aten._unsafe_index_put.default": index_put,
    "aten._index_put_impl.default": index_put,
    "aten.scatter.src": scatter,
    "aten.scatter.value": scatter,
    "aten.scatter.reduce": scatter,
    "aten.scatter.value_reduce": scatter,
    "aten.scatter_add.default": scatter_add,
    "aten.scatter_reduce.two": scatter_reduce,
    "aten.index_add.default": index_add,
    "aten.index_copy.default": index_copy,
    "aten.index_reduce.default": index_reduce,
    "aten.index_fill.int_Scalar": index_fill,
    "aten.index_fill.int_Tensor": index_fill,
    "aten.put.default": put,
    "aten.masked_scatter.default": masked_scatter,
}
