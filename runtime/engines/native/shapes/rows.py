"""Shapes of ops over rows: reductions, softmax, normalizations, running sums, orders."""

from __future__ import annotations

from ttc.runtime.engines.native.prepare.shape_rules import Ints, Shape, axis_in, require, require_fits


def softmax(x: Shape, *, axis: int) -> Shape:
    """That of x."""
    axis_in(axis, len(x))
    return x


def log_softmax(x: Shape, *, axis: int) -> Shape:
    """That of x."""
    return softmax(x, axis=axis)


def layer_norm(x: Shape, scale: Shape | None = None, bias: Shape | None = None, *, axis: int, eps: float) -> Shape:
    """That of x."""
    del eps
    axis_in(axis, len(x))
    require_fits(scale, x)
    require_fits(bias, x)
    return x


def rms_norm(x: Shape, scale: Shape, *, axis: int, eps: float) -> Shape:
    """That of x."""
    return layer_norm(x, scale, axis=axis, eps=eps)


def reduce(x: Shape, *, fn: str, axes: Ints, keepdims: bool) -> Shape:
    """That of x without the axes, or with size 1 there."""
    reduced = {axis_in(axis, len(x)) for axis in axes}
    require(len(reduced) == len(axes) and fn in ("sum", "mean", "max", "min", "prod"), "axes named twice, or another function")
    return tuple(1 if i in reduced else size for i, size in enumerate(x) if keepdims or i not in reduced)


def argmax(x: Shape, *, axis: int, keepdims: bool, select_last: bool) -> Shape:
    """That of x without the axis, or with size 1 there."""
    del select_last
    return reduce(x, fn="max", axes=(axis,), keepdims=keepdims)


def argmin(x: Shape, *, axis: int, keepdims: bool, select_last: bool) -> Shape:
    """That of x without the axis, or with size 1 there."""
    return argmax(x, axis=axis, keepdims=keepdims, select_last=select_last)


def cumsum(x: Shape, *, axis: int, exclusive: bool, reverse: bool) -> Shape:
    """That of x."""
    del exclusive, reverse
    return softmax(x, axis=axis)


def cumprod(x: Shape, *, axis: int, exclusive: bool, reverse: bool) -> Shape:
    """That of x."""
    return cumsum(x, axis=axis, exclusive=exclusive, reverse=reverse)


def order(x: Shape, *, k: int, axis: int, largest: bool) -> Shape:
    """That of x, of size k along the axis."""
    del largest
    at = axis_in(axis, len(x))
    require(0 <= k <= x[at], "more than there are")
    return (*x[:at], k, *x[at + 1 :])


def couple_probabilities(r: Shape, *, classes: int) -> Shape:
    """[n, classes]."""
    require(len(r) == 2 and classes >= 2 and r[1] == classes * (classes - 1) // 2, "pairs of other classes")
    return (r[0], classes)
