"""Where the taps of windows lie in images: places of maxima."""

from __future__ import annotations

from math import prod
from typing import TypeAlias

import numpy as np
from xdsl.ir import SSAValue

from ttc.dialects.core import windows as core
from ttc.importers.common.builder import Builder
from ttc.importers.common.tracking import MAX_ELEMENTS
from ttc.importers.common.unsupported import Unsupported
from ttc.importers.common.windows import Window

Ints: TypeAlias = tuple[int, ...]


def window_places(sizes: Ints, win: Window, *, ceil: bool = False) -> np.ndarray:
    """[windows, taps]: place in the flattened image of each tap of each window; -1 in the padding.  Raises Unsupported."""
    rank = len(sizes)
    found = np.zeros((1, 1), np.int64)
    for axis, size in enumerate(sizes):
        along = core.Window(win.kernel[axis], win.strides[axis], win.dilations[axis], win.pads[axis], win.pads[rank + axis], ceil=ceil)
        count = max(along.count(size), 0)
        if found.size * count * win.kernel[axis] > MAX_ELEMENTS:
            raise Unsupported("too many windows")
        at = np.arange(count)[:, None] * win.strides[axis] - win.pads[axis] + np.arange(win.kernel[axis]) * win.dilations[axis]
        at = np.where((at < 0) | (at >= size), -1, at)
        wide = found[:, None, :, None] * size + at[None, :, None, :]
        outside = (found[:, None, :, None] < 0) | (at[None, :, None, :] < 0)
        found = np.where(outside, -1, wide).reshape(found.shape[0] * count, -1)
    return found


def max_pool_places(b: Builder, x: SSAValue, win: Window, shape: Ints, *, ceil: bool, column_major: bool) -> SSAValue:
    """Where in the flattened x each maximum of a pool lies, the first of equal ones: of the result's shape.

    column_major: an image's columns count as one after the other.
    """
    n, c, *sizes = b.shape(x)
    places = window_places(tuple(sizes), win, ceil=ceil)
    if len(places) != prod(shape[2:]):
        raise Unsupported("indices of these windows")
    names = np.arange(prod(sizes)).reshape(sizes[::-1]).transpose().ravel() if column_major else None
    found = largest_in(b, x, places, names)[1]
    start = b.constant((np.arange(n * c) * prod(sizes)).reshape(n * c, 1))
    return b.reshape(b.nn("add", found, start), *shape)


def largest_in(b: Builder, x: SSAValue, places: np.ndarray, names: np.ndarray | None = None) -> tuple[SSAValue, SSAValue]:
    """The largest element of each window over x[n, c, spatial...] and its place in the image, the first of equal ones: [n * c, windows].

    Args:
        places: [windows, taps] in the flattened image, -1 for a tap outside.
        names: what to call each place; default: itself.
    """
    if b.dtype(x).kind not in "fViu":
        raise Unsupported(f"indices of {b.dtype(x)}")
    n, c, *sizes = b.shape(x)
    inside = places >= 0
    images = b.reshape(x, n * c, prod(sizes))
    values = b.nn("gather", images, b.constant(np.where(inside, places, 0)), axis=1)
    lowest = -np.inf if b.dtype(x).kind in "fV" else np.iinfo(b.dtype(x)).min
    values = b.nn("where", b.constant(inside), values, b.scalar(lowest, x))
    tap = b.nn("argmax", values, axis=2, keepdims=True, select_last=False)
    named = places if names is None else np.where(inside, names[places], -1)
    table = b.nn("expand", b.constant(named), shape=(n * c, *places.shape))
    found = b.reshape(b.nn("gather_elements", table, tap, axis=2), n * c, len(places))
    return b.nn("reduce_max", values, axes=(2,), keepdims=False), found
