"""Ops whose result has as many elements as the data decides, counts in bins, and bags of embeddings."""

from __future__ import annotations

from typing import Any

import numpy as np

from ttc.dialects.core.ir.values import SSAValue
from ttc.importers.common.parts import part
from ttc.importers.common.tracking import MAX_ELEMENTS
from ttc.importers.common.unsupported import Unsupported
from ttc.importers.torch.builder import TorchBuilder
from ttc.importers.torch.elements import INT64
from ttc.importers.torch.tables import Rows


def _maybe(b: TorchBuilder, value: SSAValue, wanted: bool) -> SSAValue:
    """Return the value, or nothing where it is not asked for."""
    return value if wanted else b.constant(np.zeros(0, np.int64))


def unique(b: TorchBuilder, x: SSAValue, ordered: bool, inverse: bool, counts: bool) -> tuple[SSAValue, ...]:
    """Return different elements in rising order; for each of x its number; how often each appears."""
    values, _, places, often = b.nn_all("unique", b.reshape(x, b.spec(x).elements), sorted=True, axis=None)
    return values, _maybe(b, b.reshape(places, *b.shape(x)), inverse), _maybe(b, often, counts)


def unique_dim(b: TorchBuilder, x: SSAValue, dim: int, ordered: bool, inverse: bool, counts: bool) -> tuple[SSAValue, ...]:
    """Return the distinct slices along a dimension, in order."""
    values, _, places, often = b.nn_all("unique", x, sorted=True, axis=dim % b.rank(x))
    return values, _maybe(b, places, inverse), _maybe(b, often, counts)


def unique_consecutive(b: TorchBuilder, x: SSAValue, inverse: bool, counts: bool, dim: int | None) -> tuple[SSAValue, ...]:
    """Return slices that differ from the one before: their numbers count the changes up to each."""
    shape = b.shape(x)
    line = b.reshape(x, b.spec(x).elements) if dim is None else x
    at = 0 if dim is None else dim % len(shape)
    size = b.shape(line)[at]
    if size == 0:
        raise Unsupported("no elements")
    rest = tuple(i for i in range(b.rank(line)) if i != at)
    moved = b.nn("not_equal", part(b, line, at, 1, size - 1), part(b, line, at, 0, size - 1))
    moved = b.nn("reduce_max", moved, axes=rest, keepdims=False) if rest else moved
    first = b.nn("concat", b.constant(np.array([True])), moved, axis=0)
    number = b.nn("cumsum", b.cast(first, INT64), axis=0, exclusive=False, reverse=False)
    number = b.nn("sub", number, b.constant(np.array(1)))
    often = b.nn_all("unique", number, sorted=True, axis=None)[3]
    places = b.reshape(number, *shape) if dim is None else number
    return (
        b.nn("compress", line, first, axis=at),
        _maybe(b, places, inverse or dim is not None),
        _maybe(b, often, counts or dim is not None),
    )


def nonzero_static(b: TorchBuilder, x: SSAValue, *, size: int, fill_value: int) -> SSAValue:
    """Return [size, rank]: places of what is not 0, the first ones; filled up where there are fewer: each by its rank among the others."""
    count, rank = b.spec(x).elements, b.rank(x)
    if not count or not rank:
        return b.constant(np.full((size, rank), fill_value, np.int64))
    if count * max(size, 1) > MAX_ELEMENTS:
        raise Unsupported(f"{size} places of {b.spec(x)}")
    flat = b.reshape(x, count)
    hit = b.nn("not_equal", flat, b.scalar(0, flat)) if b.dtype(x) != np.bool_ else flat
    number = b.nn("cumsum", b.cast(hit, INT64), axis=0, exclusive=True, reverse=False)
    mine = b.nn("and", b.nn("equal", b.constant(np.arange(size)[:, None]), number), hit)
    coordinates = np.stack(np.unravel_index(np.arange(count), b.shape(x)), -1).astype(np.int64)
    found = b.nn("matmul", b.cast(mine, INT64), b.constant(coordinates), None, transpose_a=False, transpose_b=False)
    some = b.nn("reduce_max", mine, axes=(1,), keepdims=True)
    return b.nn("where", some, found, b.constant(np.array(fill_value)))


def histogram(b: TorchBuilder, x: SSAValue, bins: int, low: float, high: float) -> SSAValue:
    """Return how many elements lie in each of equal bins, the last of which has its end; without limits from the least to the largest."""
    count = b.spec(x).elements
    if count * bins > MAX_ELEMENTS:
        raise Unsupported(f"{bins} bins of {count} elements")
    flat = b.reshape(x, count)
    start, end = b.scalar(low, flat), b.scalar(high, flat)
    if low == high and count:
        start, end = (b.nn(op, flat, axes=(0,), keepdims=False) for op in ("reduce_min", "reduce_max"))
        same = b.nn("equal", start, end)
        one = b.scalar(1, flat)
        start, end = b.nn("where", same, b.nn("sub", start, one), start), b.nn("where", same, b.nn("add", end, one), end)
    width = b.nn("sub", end, start)
    place = b.nn("floor", b.nn("div", b.nn("mul", b.nn("sub", flat, start), b.scalar(bins, flat)), width))
    place = b.nn("minimum", place, b.scalar(bins - 1, flat))
    inside = b.nn("and", b.nn("greater_equal", flat, start), b.nn("less_equal", flat, end))
    hit = b.nn("and", b.nn("equal", place, b.constant(np.arange(bins)[:, None].astype(b.dtype(x)))), inside)
    return b.nn("reduce_sum", b.cast(hit, b.dtype(x)), axes=(1,), keepdims=False)


NEUTRAL = {"max": -np.inf, "min": np.inf, "sum": 0.0, "mean": 0.0, "prod": 1.0}
REDUCTIONS = {"max": "reduce_max", "min": "reduce_min", "sum": "reduce_sum", "mean": "reduce_sum", "prod": "reduce_prod"}


def segment_reduce(
    b: TorchBuilder,
    x: SSAValue,
    reduce: str,
    *,
    lengths: SSAValue | None,
    indices: SSAValue | None,
    offsets: SSAValue | None,
    axis: int,
    unsafe: bool,
    initial: float | None,
) -> SSAValue:
    """Combine pieces along a dimension, of given lengths or between offsets, with the initial value, which means divide, too."""
    lead, (size, *rest) = b.shape(x)[:axis], b.shape(x)[axis:]
    ends = lengths if lengths is not None else offsets
    if ends is None or indices is not None or reduce not in NEUTRAL or b.shape(ends)[:-1] != lead:
        raise Unsupported("segments by indices, or of other dimensions")
    ends, last = b.cast(ends, INT64), b.rank(ends) - 1
    if lengths is not None:
        starts = b.nn("cumsum", ends, axis=last, exclusive=True, reverse=False)
        ends = b.nn("add", starts, ends)
    else:
        count = b.shape(ends)[-1] - 1
        starts, ends = part(b, ends, last, 0, count), part(b, ends, last, 1, count)
    count = b.shape(starts)[-1]
    if b.spec(x).elements * count > MAX_ELEMENTS:
        raise Unsupported(f"{count} segments of {b.spec(x)}")
    starts, ends = (b.reshape(v, *lead, count, 1) for v in (starts, ends))
    steps = b.constant(np.arange(size))
    member = b.nn("and", b.nn("less_equal", starts, steps), b.nn("less", steps, ends))
    member = b.reshape(member, *lead, count, size, *(1,) * len(rest))
    table = b.nn("where", member, b.reshape(x, *lead, 1, size, *rest), b.scalar(NEUTRAL[reduce], x))
    found = b.nn(REDUCTIONS[reduce], table, axes=(len(lead) + 1,), keepdims=False)
    if initial is not None:
        op = {"max": "maximum", "min": "minimum", "prod": "mul"}.get(reduce, "add")
        found = b.nn(op, found, b.scalar(initial, x))
    if reduce != "mean":
        return found
    sizes = b.reshape(b.cast(b.nn("sub", ends, starts), b.dtype(x)), *lead, count, *(1,) * len(rest))
    none = b.nn("equal", sizes, b.scalar(0, x))
    means = b.nn("div", found, b.nn("where", none, b.scalar(1, x), sizes))
    return means if initial is not None else b.nn("where", none, b.scalar(np.nan, x), means)


def embedding_bag(
    b: TorchBuilder,
    weight: SSAValue,
    indices: SSAValue,
    offsets: SSAValue,
    scale_grad: bool,
    mode: int,
    sparse: bool,
    weights: SSAValue | None,
    include_last: bool,
    padding_idx: int,
) -> tuple[Any, ...]:
    """Return sums, means or maxima of the rows between offsets: the bag of an index is the number of offsets that are not above its
    place.
    """
    bags = b.spec(offsets).elements - int(include_last)
    count, width = b.spec(indices).elements, b.shape(weight)[-1]
    if bags * count * (width if mode == 2 else 1) > MAX_ELEMENTS or any(b.outputs[1:]) or not count:
        raise Unsupported("bags of this size, or what their gradient needs")
    starts = b.cast(part(b, offsets, 0, 0, bags), INT64)
    above = b.nn("less_equal", b.reshape(starts, bags, 1), b.constant(np.arange(count)))
    bag = b.nn("sub", b.nn("reduce_sum", b.cast(above, INT64), axes=(0,), keepdims=False), b.constant(np.array(1)))
    member = b.nn("equal", b.constant(np.arange(bags)[:, None]), bag)
    if include_last:
        end = b.cast(part(b, offsets, 0, bags, 1), INT64)
        member = b.nn("and", member, b.nn("less", b.constant(np.arange(count)), end))
    if padding_idx >= 0:
        member = b.nn("and", member, b.nn("not_equal", indices, b.scalar(padding_idx, indices)))
    rows = b.nn("gather", weight, indices, axis=0)
    if weights is not None:
        rows = b.nn("mul", rows, b.reshape(weights, count, 1))
    shares = b.cast(member, b.dtype(weight))
    size = b.nn("reduce_sum", shares, axes=(1,), keepdims=True)
    if mode == 2:
        table = b.nn("where", b.reshape(member, bags, count, 1), rows, b.scalar(-np.inf, rows))
        found = b.nn("reduce_max", table, axes=(1,), keepdims=False)
        return b.nn("where", b.nn("equal", size, b.scalar(0, size)), b.scalar(0, size), found), None, None, None
    found = b.nn("matmul", shares, rows, None, transpose_a=False, transpose_b=False)
    return (b.nn("div", found, b.nn("maximum", size, b.scalar(1, size))) if mode == 1 else found), None, None, None


ROWS: Rows = {
    "aten._unique2.default": unique,
    "aten.unique_dim.default": unique_dim,
    "aten.unique_consecutive.default": unique_consecutive,
    "aten.nonzero_static.default": nonzero_static,
    "aten.histc.default": histogram,
    "aten.segment_reduce.default": segment_reduce,
    "aten._embedding_bag_forward_only.default": embedding_bag,
    "aten._embedding_bag.default": embedding_bag,
}
