"""Ops that order elements, run along a dimension, or search."""

from __future__ import annotations

from typing import Any

import numpy as np

from ttc.dialects.core.ir.values import SSAValue
from ttc.dialects.core.shapes import axis_in
from ttc.importers.common.parts import element, part
from ttc.importers.common.tracking import MAX_ELEMENTS
from ttc.importers.common.unsupported import Unsupported
from ttc.importers.torch.builder import Operand, TorchBuilder
from ttc.importers.torch.elements import BOOL, INT64, is_float
from ttc.importers.torch.tables import Row, Rows

Pair = tuple[SSAValue, SSAValue]


def _numbers(b: TorchBuilder, x: SSAValue) -> SSAValue:
    return b.cast(x, np.dtype(np.uint8)) if b.dtype(x) == BOOL else x


def topk(b: TorchBuilder, x: SSAValue, k: int, dim: int, largest: bool, ordered: bool) -> Pair:
    """Return the k largest or smallest; unsorted results, which may have any order, are sorted too."""
    if not b.shape(x):
        return x, b.constant(np.zeros((), np.int64))
    values, places = b.nn_all("topk", _numbers(b, x), k=k, axis=axis_in(dim, b.rank(x)), largest=largest)
    return b.cast(values, b.dtype(x)), places


def sort(b: TorchBuilder, x: SSAValue, dim: int, descending: bool) -> Pair:
    """Sort along a dimension; of equal elements the first comes first."""
    return topk(b, x, b.shape(x)[dim] if b.shape(x) else 1, dim, descending, True)


def sort_stable(b: TorchBuilder, x: SSAValue, *, stable: bool | None, dim: int, descending: bool) -> Pair:
    return sort(b, x, dim, descending)


def argsort(b: TorchBuilder, x: SSAValue, dim: int, descending: bool) -> SSAValue:
    return sort(b, x, dim, descending)[1]


def argsort_stable(b: TorchBuilder, x: SSAValue, *, stable: bool, dim: int, descending: bool) -> SSAValue:
    return sort(b, x, dim, descending)[1]


def kthvalue(b: TorchBuilder, x: SSAValue, k: int, dim: int, keepdim: bool) -> Pair:
    """Return the k-th smallest element and its place."""
    if not b.shape(x):
        return x, b.constant(np.zeros((), np.int64))
    at = axis_in(dim, b.rank(x))
    found = (part(b, v, at, k - 1, 1) for v in b.nn_all("topk", _numbers(b, x), k=k, axis=at, largest=False))
    values, places = (v if keepdim else element(b, v, at, 0) for v in found)
    return b.cast(values, b.dtype(x)), places


def median(b: TorchBuilder, x: SSAValue, dim: int, keepdim: bool) -> Pair:
    """Return the lower of the two in the middle; NaN, and the first one's place, if there is one."""
    size = b.shape(x)[dim] if b.shape(x) else 1
    values, places = kthvalue(b, x, (size + 1) // 2, dim, keepdim)
    if not is_float(b, x) or not b.shape(x):
        return values, places
    at = axis_in(dim, b.rank(x))
    lost = b.nn("is_nan", x)
    some = b.nn("reduce_max", lost, axes=(at,), keepdims=keepdim)
    first = b.nn("argmax", b.cast(lost, np.dtype(np.int32)), axis=at, keepdims=keepdim, select_last=False)
    return b.nn("where", some, b.scalar(np.nan, x), values), b.nn("where", some, first, places)


def median_all(b: TorchBuilder, x: SSAValue) -> SSAValue:
    return median(b, b.reshape(x, b.spec(x).elements), 0, False)[0]


def nanmedian(b: TorchBuilder, x: SSAValue, dim: int, keepdim: bool) -> Pair:
    """Return the lower of the two in the middle of what is not NaN: the element at that place of the sorted ones, NaN last."""
    if not is_float(b, x) or not b.shape(x):
        return median(b, x, dim, keepdim)
    at = axis_in(dim, b.rank(x))
    values, places = sort(b, x, at, False)
    count = b.nn("reduce_sum", b.cast(b.nn("not", b.nn("is_nan", x)), INT64), axes=(at,), keepdims=True)
    one = b.constant(np.array(1))
    middle = b.nn("maximum", b.nn("sub", count, one), b.constant(np.array(0)))
    middle = b.nn("div", middle, b.constant(np.array(2)))
    found = (b.nn("gather_elements", v, middle, axis=at) for v in (values, places))
    value, place = (v if keepdim else element(b, v, at, 0) for v in found)
    return value, place


def nanmedian_all(b: TorchBuilder, x: SSAValue) -> SSAValue:
    return nanmedian(b, b.reshape(x, b.spec(x).elements), 0, False)[0]


def mode(b: TorchBuilder, x: SSAValue, dim: int, keepdim: bool) -> Pair:
    """Return the smallest of the most frequent elements, and its last place."""
    shape = b.shape(x)
    if not shape:
        return x, b.constant(np.zeros((), np.int64))
    at = axis_in(dim, len(shape))
    if shape[at] ** 2 > MAX_ELEMENTS:
        raise Unsupported(f"{shape[at]} elements along the dimension")
    rows, columns = (b.reshape(x, *shape[:at], *s, *shape[at + 1 :]) for s in ((shape[at], 1), (1, shape[at])))
    counts = b.nn("reduce_sum", b.cast(b.nn("equal", rows, columns), INT64), axes=(at + 1,), keepdims=False)
    often = b.nn("equal", counts, b.nn("reduce_max", counts, axes=(at,), keepdims=True))
    most = np.inf if is_float(b, x) else np.iinfo(b.dtype(x)).max
    value = b.nn("reduce_min", b.nn("where", often, x, b.scalar(most, x)), axes=(at,), keepdims=True)
    hits = b.cast(b.nn("equal", x, value), np.dtype(np.int32))
    place = b.nn("argmax", hits, axis=at, keepdims=keepdim, select_last=True)
    return value if keepdim else element(b, value, at, 0), place


def _running(op: str) -> Row:
    def row(b: TorchBuilder, x: SSAValue, dim: int, *, dtype: Any = None) -> SSAValue:
        x = b.cast(x, dtype) if dtype is not None else x if is_float(b, x) else b.cast(x, INT64)
        if not b.shape(x):
            return x
        return b.nn(op, x, axis=axis_in(dim, b.rank(x)), exclusive=False, reverse=False)

    return row


def _running_extreme(op: str, *, largest: bool) -> Row:
    """For each place the extreme up to it, and the last place where that is: by comparing all pairs of places."""

    def row(b: TorchBuilder, x: SSAValue, dim: int) -> Pair:
        shape = b.shape(x)
        if not shape:
            return x, b.constant(np.zeros((), np.int64))
        at = axis_in(dim, len(shape))
        size = shape[at]
        if size * size > MAX_ELEMENTS or b.dtype(x) == BOOL:
            raise Unsupported(f"{size} elements of {b.dtype(x)} along the dimension")
        wide = b.reshape(x, *shape[:at], 1, *shape[at:])
        tail = (1,) * (len(shape) - 1 - at)
        seen = b.constant(np.tri(size, dtype=np.bool_).reshape(size, size, *tail))
        limits = (-np.inf, np.inf) if is_float(b, x) else (np.iinfo(b.dtype(x)).min, np.iinfo(b.dtype(x)).max)
        table = b.nn("where", seen, wide, b.scalar(limits[0] if largest else limits[1], x))
        values = b.nn(op, table, axes=(at + 1,), keepdims=True)
        hit = b.nn("equal", table, values)
        if is_float(b, x):
            hit = b.nn("or", hit, b.nn("and", b.nn("is_nan", table), b.nn("is_nan", values)))
        hit = b.cast(b.nn("and", hit, seen), np.dtype(np.int32))
        places = b.nn("argmax", hit, axis=at + 1, keepdims=False, select_last=True)
        return b.reshape(values, *shape), places

    return row


def logcumsumexp(b: TorchBuilder, x: SSAValue, dim: int) -> SSAValue:
    """Return ln of the running sum of e^x, with the largest element taken out."""
    shape = b.shape(x)
    if not shape:
        return x
    at = axis_in(dim, len(shape))
    size = shape[at]
    if size * size > MAX_ELEMENTS:
        raise Unsupported(f"{size} elements along the dimension")
    seen = b.constant(np.tri(size, dtype=np.bool_).reshape(size, size, *(1,) * (len(shape) - 1 - at)))
    table = b.nn("where", seen, b.reshape(x, *shape[:at], 1, *shape[at:]), b.scalar(-np.inf, x))
    top = b.nn("reduce_max", table, axes=(at + 1,), keepdims=True)
    safe = b.nn("where", b.nn("is_inf", top), b.scalar(0, x), top)
    sums = b.nn("reduce_sum", b.nn("exp", b.nn("sub", table, safe)), axes=(at + 1,), keepdims=True)
    return b.reshape(b.nn("add", b.nn("log", sums), safe), *shape)


def _counted(b: TorchBuilder, boundaries: SSAValue, values: SSAValue, right: bool, out_int32: bool) -> SSAValue:
    """For each value how many boundaries are below it, or not above it if right."""
    below = b.nn("less_equal" if right else "less", boundaries, values)
    if is_float(b, values):  # NaN comes last
        below = b.nn("or", below, b.nn("is_nan", values))
    return b.nn("reduce_sum", b.cast(below, np.dtype(np.int32) if out_int32 else INT64), axes=(b.rank(below) - 1,), keepdims=False)


def bucketize(b: TorchBuilder, x: Operand, boundaries: SSAValue, *, out_int32: bool, right: bool) -> SSAValue:
    bounds, values = b.promoted(boundaries, x)
    return _counted(b, bounds, b.reshape(values, *b.shape(values), 1), right, out_int32)


def searchsorted(
    b: TorchBuilder, sequence: SSAValue, x: Operand, *, out_int32: bool, right: bool, side: str | None, sorter: SSAValue | None
) -> SSAValue:
    """Search in the rows of sequence, or in its only one."""
    if sorter is not None:
        sequence = b.nn("gather_elements", sequence, sorter, axis=b.rank(sequence) - 1)
    bounds, values = b.promoted(sequence, x)
    values = b.reshape(values, *b.shape(values), 1)
    if b.rank(bounds) > 1:
        bounds = b.reshape(bounds, *b.shape(bounds)[:-1], 1, b.shape(bounds)[-1])
    return _counted(b, bounds, values, right or side == "right", out_int32)


ROWS: Rows = {
    "aten.topk.default": topk,
    "aten.sort.default": sort,
    "aten.sort.stable": sort_stable,
    "aten.argsort.default": argsort,
    "aten.argsort.stable": argsort_stable,
    "aten.kthvalue.default": kthvalue,
    "aten.median.default": median_all,
    "aten.median.dim": median,
    "aten.nanmedian.default": nanmedian_all,
    "aten.nanmedian.dim": nanmedian,
    "aten.mode.default": mode,
    "aten.cumsum.default": _running("cumsum"),
    "aten.cumprod.default": _running("cumprod"),
    "aten.cummax.default": _running_extreme("reduce_max", largest=True),
    "aten.cummin.default": _running_extreme("reduce_min", largest=False),
    "aten.logcumsumexp.default": logcumsumexp,
    "aten.bucketize.Tensor": bucketize,
    "aten.bucketize.Scalar": bucketize,
    "aten.searchsorted.Tensor": searchsorted,
    "aten.searchsorted.Scalar": searchsorted,
}
