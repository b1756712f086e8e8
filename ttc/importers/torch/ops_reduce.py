"""Rows for PyTorch's reductions over dimensions."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from ttc.dialects.core.ir.values import SSAValue
from ttc.dialects.core.shapes import axes_in
from ttc.importers.common.unsupported import Unsupported
from ttc.importers.torch.builder import TorchBuilder
from ttc.importers.torch.elements import BOOL, INT64, floating, is_float, truth
from ttc.importers.torch.tables import Row, Rows

Dims: TypeAlias = tuple[int, ...] | int | None


def axes_of(b: TorchBuilder, x: SSAValue, dim: Dims) -> tuple[int, ...]:
    """Return the dimensions named, or all; a value without dimensions has none to name."""
    rank = b.rank(x)
    named = (dim,) if isinstance(dim, int) else tuple(dim or ())
    return axes_in(named, rank) if named and rank else tuple(range(rank))


def _wide(b: TorchBuilder, x: SSAValue, dtype: np.dtype | None) -> SSAValue:
    """In the dtype of sums: integers and truth values as int64."""
    if dtype is not None:
        return b.cast(x, dtype)
    return x if is_float(b, x) else b.cast(x, INT64)


def total(b: TorchBuilder, x: SSAValue, dim: Dims = None, keepdim: bool = False, *, dtype: Any = None) -> SSAValue:
    return b.nn("reduce_sum", _wide(b, x, dtype), axes=axes_of(b, x, dim), keepdims=keepdim)


def nansum(b: TorchBuilder, x: SSAValue, dim: Dims, keepdim: bool, *, dtype: Any = None) -> SSAValue:
    """Return the sum over dimensions, where NaN counts as 0."""
    if is_float(b, x):
        x = b.nn("where", b.nn("is_nan", x), b.scalar(0, x), x)
    return total(b, x, dim, keepdim, dtype=dtype)


def product(b: TorchBuilder, x: SSAValue, dim: Dims = None, keepdim: bool = False, *, dtype: Any = None) -> SSAValue:
    return b.nn("reduce_prod", _wide(b, x, dtype), axes=axes_of(b, x, dim), keepdims=keepdim)


def mean(b: TorchBuilder, x: SSAValue, dim: Dims = None, keepdim: bool = False, *, dtype: Any = None) -> SSAValue:
    return b.nn("reduce_mean", x if dtype is None else b.cast(x, dtype), axes=axes_of(b, x, dim), keepdims=keepdim)


def _extreme(op: str) -> Row:
    def row(b: TorchBuilder, x: SSAValue, dim: Dims = None, keepdim: bool = False) -> SSAValue:
        return b.nn(op, x, axes=axes_of(b, x, dim), keepdims=keepdim)

    return row


largest, smallest = _extreme("reduce_max"), _extreme("reduce_min")


def aminmax(b: TorchBuilder, x: SSAValue, *, dim: int | None, keepdim: bool) -> tuple[SSAValue, SSAValue]:
    return smallest(b, x, dim, keepdim), largest(b, x, dim, keepdim)


def _place(op: str) -> Row:
    """Return a row for the place of the first extreme; without a dimension, its place in the flattened x."""

    def row(b: TorchBuilder, x: SSAValue, dim: int | None, keepdim: bool) -> SSAValue:
        x = b.cast(x, np.dtype(np.int32)) if b.dtype(x) == BOOL else x
        shape = b.shape(x)
        if dim is None or not shape:
            found = b.nn(op, b.reshape(x, b.spec(x).elements), axis=0, keepdims=False, select_last=False)
            return b.reshape(found, *(1,) * len(shape)) if keepdim else found
        return b.nn(op, x, axis=dim % len(shape), keepdims=keepdim, select_last=False)

    return row


argmax, argmin = _place("argmax"), _place("argmin")


def max_dim(b: TorchBuilder, x: SSAValue, dim: int, keepdim: bool) -> tuple[SSAValue, SSAValue]:
    return largest(b, x, dim, keepdim), argmax(b, x, dim, keepdim)


def min_dim(b: TorchBuilder, x: SSAValue, dim: int, keepdim: bool) -> tuple[SSAValue, SSAValue]:
    return smallest(b, x, dim, keepdim), argmin(b, x, dim, keepdim)


def any_of(b: TorchBuilder, x: SSAValue, dim: Dims = None, keepdim: bool = False) -> SSAValue:
    return b.nn("reduce_max", truth(b, x), axes=axes_of(b, x, dim), keepdims=keepdim)


def all_of(b: TorchBuilder, x: SSAValue, dim: Dims = None, keepdim: bool = False) -> SSAValue:
    return b.nn("reduce_min", truth(b, x), axes=axes_of(b, x, dim), keepdims=keepdim)


def _any_dims(b: TorchBuilder, x: SSAValue, dim: Dims, keepdim: bool) -> SSAValue:
    """No dimensions: nothing is reduced, unlike None."""
    return truth(b, x) if dim == () else any_of(b, x, dim, keepdim)


def _all_dims(b: TorchBuilder, x: SSAValue, dim: Dims, keepdim: bool) -> SSAValue:
    return truth(b, x) if dim == () else all_of(b, x, dim, keepdim)


def count_nonzero(b: TorchBuilder, x: SSAValue, dim: Dims) -> SSAValue:
    return b.nn("reduce_sum", b.cast(truth(b, x), INT64), axes=axes_of(b, x, dim), keepdims=False)


def variance_mean(b: TorchBuilder, x: SSAValue, dim: Dims, *, correction: float | None, keepdim: bool) -> tuple[SSAValue, SSAValue]:
    """Return the sum of squares around the mean, over the count less the correction (default 1), and the mean."""
    axes = axes_of(b, x, dim)
    count = int(np.prod([b.shape(x)[a] for a in axes]))
    divisor = max(count - (1 if correction is None else correction), 0)
    middle = b.nn("reduce_mean", x, axes=axes, keepdims=True)
    centred = b.nn("sub", x, middle)
    squares = b.nn("reduce_sum", b.nn("mul", centred, centred), axes=axes, keepdims=keepdim)
    return b.nn("div", squares, b.scalar(divisor, x)), b.reshape(middle, *b.shape(squares))


def variance(b: TorchBuilder, x: SSAValue, dim: Dims, *, correction: float | None, keepdim: bool) -> SSAValue:
    return variance_mean(b, x, dim, correction=correction, keepdim=keepdim)[0]


def deviation(b: TorchBuilder, x: SSAValue, dim: Dims, *, correction: float | None, keepdim: bool) -> SSAValue:
    return b.nn("sqrt", variance(b, x, dim, correction=correction, keepdim=keepdim))


def deviation_mean(b: TorchBuilder, x: SSAValue, dim: Dims, *, correction: float | None, keepdim: bool) -> tuple[SSAValue, SSAValue]:
    spread, middle = variance_mean(b, x, dim, correction=correction, keepdim=keepdim)
    return b.nn("sqrt", spread), middle


def vector_norm(b: TorchBuilder, x: SSAValue, order: float, dim: Dims, keepdim: bool, *, dtype: Any = None) -> SSAValue:
    """Return (sum |x|^order)^(1 / order); 0: how many are not 0; infinite: the largest or smallest magnitude."""
    x = floating(b, x) if dtype is None else b.cast(x, dtype)
    attrs = {"axes": axes_of(b, x, dim), "keepdims": keepdim}
    if order == 2:
        return b.nn("sqrt", b.nn("reduce_sum", b.nn("mul", x, x), **attrs))
    if order == 0:
        return b.nn("reduce_sum", b.cast(truth(b, x), b.dtype(x)), **attrs)
    size = b.nn("abs", x)
    if abs(order) == float("inf"):
        if any(b.shape(x)[a] == 0 for a in attrs["axes"]) and order > 0:
            return b.nn("reduce_sum", size, **attrs)
        return b.nn("reduce_max" if order > 0 else "reduce_min", size, **attrs)
    if order == 1:
        return b.nn("reduce_sum", size, **attrs)
    if order > 0:
        return _power(b, b.nn("reduce_sum", _power(b, size, order), **attrs), 1 / order)
    zero, one = b.scalar(0, x), b.scalar(1, x)
    nothing = b.nn("equal", size, zero)  # any makes the norm 0, with gradient 0
    sums = b.nn("reduce_sum", b.nn("pow", b.nn("where", nothing, one, size), b.scalar(order, x)), **attrs)
    any_nothing = b.nn("greater", b.nn("reduce_sum", b.cast(nothing, b.dtype(x)), **attrs), zero)
    return b.nn("where", any_nothing, zero, b.nn("pow", sums, b.scalar(1 / order, x)))


def _power(b: TorchBuilder, x: SSAValue, exponent: float) -> SSAValue:
    """x^exponent of numbers that are not negative; a root has gradient 0 at 0, as PyTorch's norms have."""
    if not 0 < exponent < 1:
        return b.nn("pow", x, b.scalar(exponent, x))
    nothing = b.nn("equal", x, b.scalar(0, x))
    power = b.nn("pow", b.nn("where", nothing, b.scalar(1, x), x), b.scalar(exponent, x))
    return b.nn("where", nothing, b.scalar(0, x), power)


def logsumexp(b: TorchBuilder, x: SSAValue, dim: Dims, keepdim: bool) -> SSAValue:
    """Return the logarithm of a sum of e^x, with the maximum taken out, so that exp does not overflow; a maximum that is not finite stays
    in.
    """
    x = floating(b, x)
    axes = axes_of(b, x, dim)
    if any(b.shape(x)[a] == 0 for a in axes):
        return b.nn("log", b.nn("reduce_sum", x, axes=axes, keepdims=keepdim))
    top = b.nn("reduce_max", x, axes=axes, keepdims=True)
    unsafe = b.nn("or", b.nn("is_inf", top), b.nn("is_nan", top))
    top = b.nn("where", unsafe, b.scalar(0, x), top)
    sums = b.nn("log", b.nn("reduce_sum", b.nn("exp", b.nn("sub", x, top)), axes=axes, keepdims=keepdim))
    return b.nn("add", sums, b.reshape(top, *b.shape(sums)))


def distance(b: TorchBuilder, x: SSAValue, y: SSAValue, order: float) -> SSAValue:
    left, right = b.promoted(x, y)
    return vector_norm(b, b.nn("sub", left, right), float(order), None, False)


def cdist(b: TorchBuilder, x: SSAValue, y: SSAValue, order: float, compute_mode: int | None) -> SSAValue:
    """Return norms of the differences between each row of x and each of y."""
    rows, columns = (b.reshape(v, *b.shape(v)[:-2], *s, b.shape(v)[-1]) for v, s in ((x, (b.shape(x)[-2], 1)), (y, (1, b.shape(y)[-2]))))
    return vector_norm(b, b.nn("sub", rows, columns), order, -1, False)


def pdist(b: TorchBuilder, x: SSAValue, order: float) -> SSAValue:
    """Return norms of the differences between each row and those after it."""
    rows = b.shape(x)[0]
    if rows > 1 << 11:
        raise Unsupported(f"{rows} rows")
    left, right = (b.nn("gather", x, b.constant(at), axis=0) for at in np.triu_indices(rows, 1))
    return vector_norm(b, b.nn("sub", left, right), order, -1, False)


ROWS: Rows = {
    "aten.sum.default": total,
    "aten.sum.dim_IntList": total,
    "aten.nansum.default": nansum,
    "aten.prod.default": product,
    "aten.prod.dim_int": product,
    "aten.mean.default": mean,
    "aten.mean.dim": mean,
    "aten.amax.default": largest,
    "aten.amin.default": smallest,
    "aten.max.default": largest,
    "aten.min.default": smallest,
    "aten.max.dim": max_dim,
    "aten.min.dim": min_dim,
    "aten.aminmax.default": aminmax,
    "aten.argmax.default": argmax,
    "aten.argmin.default": argmin,
    "aten.any.default": any_of,
    "aten.any.dim": any_of,
    "aten.any.dims": _any_dims,
    "aten.all.default": all_of,
    "aten.all.dim": all_of,
    "aten.all.dims": _all_dims,
    "aten.count_nonzero.default": count_nonzero,
    "aten.count_nonzero.dim_IntList": count_nonzero,
    "aten.var.correction": variance,
    "aten.std.correction": deviation,
    "aten.var_mean.correction": variance_mean,
    "aten.std_mean.correction": deviation_mean,
    "aten.linalg_vector_norm.default": vector_norm,
    "aten.logsumexp.default": logsumexp,
    "aten.dist.default": distance,
    "aten._cdist_forward.default": cdist,
    "aten._pdist_forward.default": pdist,
}
