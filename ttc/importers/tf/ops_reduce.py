"""Reductions, places of extremes, the largest elements, running sums."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.values import SSAValue
from ttc.dialects.core.shapes import axis_in
from ttc.importers.common.builder import Builder
from ttc.importers.tf.tables import Rows

INT32, INT64 = np.dtype(np.int32), np.dtype(np.int64)


def reduction(op: str) -> Callable[..., SSAValue]:
    """Return the nn op of that name over constant axes; over none it is the operand."""

    def apply(b: Builder, input: SSAValue, axis: SSAValue, *, keep_dims: bool = False) -> SSAValue:
        axes = tuple(sorted(set(_axes(b, axis, input))))
        return b.nn(op, input, axes=axes, keepdims=keep_dims) if axes else input

    return apply


def _axes(b: Builder, axis: SSAValue, x: SSAValue) -> tuple[int, ...]:
    """Counted from the front.  Raises E0412."""
    return tuple(axis_in(a, b.rank(x)) for a in b.ints(axis, "axis"))


def logical(op: str) -> Callable[..., SSAValue]:
    """Return all or any, as the least or largest of 0 and 1."""

    def apply(b: Builder, input: SSAValue, axis: SSAValue, *, keep_dims: bool = False) -> SSAValue:
        numbers = b.cast(input, np.dtype(np.int32))
        return b.cast(reduction(op)(b, numbers, axis, keep_dims=keep_dims), np.dtype(np.bool_))

    return apply


def mean(b: Builder, input: SSAValue, axis: SSAValue, *, keep_dims: bool = False) -> SSAValue:
    """Return the mean over axes; of integers the sum divided, rounded toward zero."""
    if b.dtype(input).kind in "fV":
        return reduction("reduce_mean")(b, input, axis, keep_dims=keep_dims)
    count = int(np.prod([b.shape(input)[a] for a in set(_axes(b, axis, input))], dtype=np.int64))
    return b.nn("div", reduction("reduce_sum")(b, input, axis, keep_dims=keep_dims), b.scalar(max(count, 1), input))


def euclidean_norm(b: Builder, input: SSAValue, axis: SSAValue, *, keep_dims: bool = False) -> SSAValue:
    return b.nn("sqrt", reduction("reduce_sum")(b, b.nn("mul", input, input), axis, keep_dims=keep_dims))


def extreme(op: str) -> Callable[..., SSAValue]:
    """Return the place of the first largest or smallest element along a constant axis."""

    def apply(b: Builder, input: SSAValue, dimension: SSAValue, *, output_type: np.dtype = INT64) -> SSAValue:
        axis = axis_in(int(b.number(dimension, "dimension")), b.rank(input))
        return b.cast(b.nn(op, input, axis=axis, keepdims=False, select_last=False), output_type)

    return apply


def top_k(b: Builder, input: SSAValue, k: SSAValue, *, sorted: bool = True, index_type: np.dtype = INT32) -> tuple[SSAValue, ...]:
    """Return the k largest along the last axis and their places."""
    shape, count = b.shape(input), int(b.number(k, "k"))
    if not shape or not 0 <= count <= shape[-1]:
        raise Error("E0402", f"there are no {count} largest along the last axis of {b.spec(input)}")
    values, places = b.nn_all("topk", input, k=count, axis=len(shape) - 1, largest=True)
    return values, b.cast(places, index_type)


def cumulative(op: str) -> Callable[..., SSAValue]:
    """Return a running sum or product along a constant axis."""

    def apply(b: Builder, x: SSAValue, axis: SSAValue, *, exclusive: bool = False, reverse: bool = False) -> SSAValue:
        along = axis_in(int(b.number(axis, "axis")), b.rank(x))
        return b.nn(op, x, axis=along, exclusive=exclusive, reverse=reverse)

    return apply


ROWS: Rows = {
    "Sum": reduction("reduce_sum"),
    "Mean": mean,
    "Max": reduction("reduce_max"),
    "Min": reduction("reduce_min"),
    "Prod": reduction("reduce_prod"),
    "All": logical("reduce_min"),
    "Any": logical("reduce_max"),
    "EuclideanNorm": euclidean_norm,
    "ArgMax": extreme("argmax"),
    "ArgMin": extreme("argmin"),
    "TopKV2": top_k,
    "Cumsum": cumulative("cumsum"),
    "Cumprod": cumulative("cumprod"),
}
