"""Elements told apart, counted, ordered into lists and put together again."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.values import SSAValue
from ttc.dialects.nn.binary import MaximumOp, MinimumOp
from ttc.importers.common.builder import Builder
from ttc.importers.tf.tables import Rows

Floats: TypeAlias = tuple[float, ...]
INT32, INT64 = np.dtype(np.int32), np.dtype(np.int64)
MAX_PARTITIONS = 1 << 10
MAX_BOUNDS = 4
"""The most minima and maxima inside each other that are looked at."""


def bucketize(b: Builder, input: SSAValue, *, boundaries: Floats) -> SSAValue:
    """Return how many of the boundaries, which rise, are not above each element."""
    if len(boundaries) > 1 << 12 or list(boundaries) != sorted(boundaries):
        raise Error("E0402", "boundaries that do not rise, or too many")
    real = b.cast(input, np.dtype(np.float64))
    limits = b.constant(np.array(boundaries, np.float64))
    reached = b.cast(b.nn("greater_equal", b.reshape(real, *b.shape(real), 1), limits), INT32)
    return b.nn("reduce_sum", reached, axes=(b.rank(real),), keepdims=False)


def _interval(b: Builder, x: SSAValue, depth: int = 0) -> tuple[float, float]:
    """Return the least and the largest number that x can be, as far as its bounds by known ones say."""
    known, op = b.known(x), x.owner
    if known is not None and known.size == 1:
        value = float(known.ravel()[0])
        return value, value
    if not isinstance(op, MinimumOp | MaximumOp) or depth > MAX_BOUNDS:
        return -np.inf, np.inf
    pairs = [_interval(b, v, depth + 1) for v in op.operands]
    choose = min if isinstance(op, MinimumOp) else max
    return choose(p[0] for p in pairs), choose(p[1] for p in pairs)


def dense_bincount(b: Builder, input: SSAValue, size: SSAValue, weights: SSAValue, *, binary_output: bool = False) -> SSAValue:
    """Return how often each number below the size occurs, in all or in each row, or the sum of the weights there; or whether it occurs."""
    least, most = _interval(b, size)
    count, rank = int(least if least == most else b.number(size, "size")), b.rank(input)
    if not 0 <= count <= 1 << 16 or rank not in (1, 2) or b.spec(weights).elements not in (0, b.spec(input).elements):
        raise Error("E0402", f"{count} counts, {b.spec(input)} and weights {b.spec(weights)} do not fit each other")
    places = b.constant(np.arange(count, dtype=b.dtype(input)))
    hits = b.cast(b.nn("equal", b.reshape(input, *b.shape(input), 1), places), b.dtype(weights))
    if binary_output:
        return b.nn("reduce_max", hits, axes=(rank - 1,), keepdims=False)
    if b.spec(weights).elements:
        hits = b.nn("mul", hits, b.reshape(weights, *b.shape(weights), 1))
    return b.nn("reduce_sum", hits, axes=(rank - 1,), keepdims=False)


def bounds(op: str) -> Callable[..., SSAValue]:
    """Return, for rows that rise, [n, m], and values [n, k], how many of the row are below each value, or not above it."""

    def apply(b: Builder, sorted_inputs: SSAValue, values: SSAValue, *, out_type: np.dtype = INT32) -> SSAValue:
        if b.rank(sorted_inputs) != 2 or b.rank(values) != 2 or b.shape(sorted_inputs)[0] != b.shape(values)[0]:
            raise Error("E0401", f"takes as many rows of numbers as of values, not {b.spec(sorted_inputs)} and {b.spec(values)}")
        (rows, count), wanted = b.shape(sorted_inputs), b.shape(values)[1]
        below = b.nn(op, b.reshape(sorted_inputs, rows, 1, count), b.reshape(values, rows, wanted, 1))
        return b.nn("reduce_sum", b.cast(below, out_type), axes=(2,), keepdims=False)

    return apply


def in_top_k(b: Builder, predictions: SSAValue, targets: SSAValue, k: SSAValue) -> SSAValue:
    """Return whether fewer than k of a row are above the one that the target names, which must be finite and exist."""
    if b.rank(predictions) != 2 or b.shape(targets) != b.shape(predictions)[:1]:
        raise Error("E0401", f"takes rows of numbers and a place for each, not {b.spec(predictions)} and {b.spec(targets)}")
    rows, classes = b.shape(predictions)
    places = b.cast(targets, INT64)
    zero, last = b.constant(np.array(0)), b.constant(np.array(classes))
    inside = b.nn("and", b.nn("greater_equal", places, zero), b.nn("less", places, last))
    safe = b.nn("where", inside, places, zero)
    chosen = b.nn("gather_elements", predictions, b.reshape(safe, rows, 1), axis=1)
    above = b.nn("reduce_sum", b.cast(b.nn("greater", predictions, chosen), INT64), axes=(1,), keepdims=False)
    wild = b.nn("or", b.nn("is_nan", chosen), b.nn("is_inf", chosen))
    fine = b.nn("and", inside, b.nn("not", b.reshape(wild, rows)))
    return b.nn("and", fine, b.nn("less", above, b.cast(b.reshape(k), INT64)))


def unique(b: Builder, x: SSAValue, axis: SSAValue | None = None, *, out_idx: np.dtype = INT32) -> tuple[SSAValue, SSAValue]:
    """Return different elements in order of first appearance, and for each element which of these it is."""
    return _unique(b, x, axis, out_idx)[:2]


def unique_with_counts(
    b: Builder, x: SSAValue, axis: SSAValue | None = None, *, out_idx: np.dtype = INT32
) -> tuple[SSAValue, SSAValue, SSAValue]:
    return _unique(b, x, axis, out_idx)


def _unique(b: Builder, x: SSAValue, axis: SSAValue | None, out_idx: np.dtype) -> tuple[SSAValue, SSAValue, SSAValue]:
    along = b.ints(axis, "axis") if axis is not None else ()
    if len(along) > 1:
        raise Error("E0402", f"axis is one number, not {list(along)[:8]}")
    values, _, inverse, counts = b.nn_all("unique", x, sorted=False, axis=along[0] if along else None)
    return values, b.cast(inverse, out_idx), b.cast(counts, out_idx)


def list_difference(b: Builder, x: SSAValue, y: SSAValue, *, out_idx: np.dtype = INT32) -> tuple[SSAValue, SSAValue]:
    """Return elements of x that y does not have, and their places."""
    if b.rank(x) != 1 or b.rank(y) != 1:
        raise Error("E0401", f"takes two lists, not {b.spec(x)} and {b.spec(y)}")
    (count,), (other,) = b.shape(x), b.shape(y)
    equal = b.cast(b.nn("equal", b.reshape(x, count, 1), b.reshape(y, 1, other)), INT32)
    missing = b.nn("equal", b.nn("reduce_sum", equal, axes=(1,), keepdims=False), b.constant(np.array(0, np.int32)))
    places = b.constant(np.arange(count).astype(out_idx))
    return b.nn("compress", x, missing, axis=0), b.nn("compress", places, missing, axis=0)


def dynamic_partition(b: Builder, data: SSAValue, partitions: SSAValue, *, num_partitions: int) -> tuple[SSAValue, ...]:
    """Return the slices of each partition, in order."""
    rank, count = b.rank(partitions), b.spec(partitions).elements
    if not 1 <= num_partitions <= MAX_PARTITIONS or b.shape(data)[:rank] != b.shape(partitions):
        raise Error("E0401", f"{num_partitions} partitions {b.spec(partitions)} do not fit {b.spec(data)}")
    flat, ids = b.reshape(data, count, *b.shape(data)[rank:]), b.reshape(partitions, count)
    return tuple(b.nn("compress", flat, b.nn("equal", ids, b.scalar(i, ids)), axis=0) for i in range(num_partitions))


def dynamic_stitch(b: Builder, *operands: SSAValue) -> SSAValue:
    """Join slices of all data at the places that the indices, known at import, say; of equal places the last counts."""
    half = len(operands) // 2
    if not half or len(operands) % 2:
        raise Error("E0203", f"takes as many indices as data, not {len(operands)} operands")
    places = [b.need(v, "indices").ravel() for v in operands[:half]]
    first, data = operands[:half], operands[half:]
    rows = [b.reshape(x, len(at), *b.shape(x)[b.rank(i) :]) for x, at, i in zip(data, places, first, strict=True)]
    joined = np.concatenate(places).astype(np.int64)
    if not joined.size or joined.min() < 0 or joined.max() >= 4 * joined.size + 4096:
        raise Error("E0402", f"indices {joined[:8].tolist()} are no places")
    source = np.full(int(joined.max()) + 1, -1, np.int64)
    source[joined] = np.arange(joined.size)
    whole = b.nn("concat", *rows, axis=0) if len(rows) > 1 else rows[0]
    if (source < 0).any():
        raise Error("E0402", f"nothing is put at place {int(np.flatnonzero(source < 0)[0])}")
    return b.nn("gather", whole, b.constant(source), axis=0)


def histogram(b: Builder, values: SSAValue, value_range: SSAValue, nbins: SSAValue, *, dtype: np.dtype = INT32) -> SSAValue:
    """Return counts in buckets of one width; the first and the last take all that lies outside."""
    count, limits = int(b.number(nbins, "nbins")), b.need(value_range, "value_range")
    if not 1 <= count <= 1 << 16 or limits.shape != (2,) or not limits[0] < limits[1]:
        raise Error("E0402", f"there are no {count} buckets between {limits.ravel()[:2].tolist()}")
    flat = b.reshape(values, b.spec(values).elements, 1)
    step = b.nn("div", b.nn("sub", flat, b.scalar(limits[0], flat)), b.scalar((limits[1] - limits[0]) / count, flat))
    place = b.cast(b.nn("clip", b.nn("floor", step), min=0.0, max=float(count - 1)), INT64)
    hits = b.cast(b.nn("equal", place, b.constant(np.arange(count))), dtype)
    return b.nn("reduce_sum", hits, axes=(0,), keepdims=False)


ROWS: Rows = {
    "Bucketize": bucketize,
    "DenseBincount": dense_bincount,
    "LowerBound": bounds("less"),
    "UpperBound": bounds("less_equal"),
    "InTopKV2": in_top_k,
    **dict.fromkeys(["Unique", "UniqueV2"], unique),
    **dict.fromkeys(["UniqueWithCounts", "UniqueWithCountsV2"], unique_with_counts),
    "ListDiff": list_difference,
    "DynamicPartition": dynamic_partition,
    **dict.fromkeys(["DynamicStitch", "ParallelDynamicStitch"], dynamic_stitch),
    "HistogramFixedWidth": histogram,
}
