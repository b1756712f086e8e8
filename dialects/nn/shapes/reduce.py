"""Shapes of places of extremes, cumulative sums and products."""

from __future__ import annotations

from collections.abc import Sequence

from ttc.dialects.core.errors import Error
from ttc.dialects.core.shapes import Shape, axis_in


def reduced_shape(shape: Shape, axes: Sequence[int], keepdims: bool) -> Shape:
    """Return the shape without the axes, or with 1 in their place."""
    if keepdims:
        return tuple(1 if i in axes else d for i, d in enumerate(shape))
    return tuple(d for i, d in enumerate(shape) if i not in axes)


def argmax(x: Shape, *, axis: int, keepdims: bool, select_last: bool) -> Shape:
    """Return the shape of x without the axis, or with size 1 there.  Raises E0401, E0412."""
    place = axis_in(axis, len(x))
    if x[place] == 0:
        raise Error("E0401", f"axis {axis} of {list(x)} has no elements to choose from")
    return reduced_shape(x, (place,), keepdims)


def argmin(x: Shape, *, axis: int, keepdims: bool, select_last: bool) -> Shape:
    """Return the shape of x without the axis, or with size 1 there.  Raises E0401, E0412."""
    return argmax(x, axis=axis, keepdims=keepdims, select_last=select_last)


def cumsum(x: Shape, *, axis: int, exclusive: bool, reverse: bool) -> Shape:
    """Return the shape of x.  Raises E0412."""
    axis_in(axis, len(x))
    return x


def cumprod(x: Shape, *, axis: int, exclusive: bool, reverse: bool) -> Shape:
    """Return the shape of x.  Raises E0412."""
    return cumsum(x, axis=axis, exclusive=exclusive, reverse=reverse)
