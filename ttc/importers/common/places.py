"""Where the taps of windows lie in images: places of maxima."""

from __future__ import annotations

from math import prod
from typing import TypeAlias

import numpy as np

from ttc.dialects.core.ir.values import SSAValue
from ttc.dialects.core.kernels import windows as core
from ttc.importers.common.builder import Builder
from ttc.importers.common.tracking import MAX_ELEMENTS
from ttc.importers.common.unsupported import Unsupported
from ttc.importers.common.windows import SpatialWindow

Ints: TypeAlias = tuple[int, ...]
MOST_TAPS = 16
"""The most taps of windows that are compared one after the other; of larger windows whole lines of taps are."""


def window_places(sizes: Ints, win: SpatialWindow, *, ceil: bool = False) -> np.ndarray:
    """Return [windows, taps]: the place in the flattened image of each tap of each window; -1 in the padding. Raises Unsupported."""
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


def max_pool_places(b: Builder, x: SSAValue, win: SpatialWindow, shape: Ints, *, ceil: bool, column_major: bool) -> SSAValue:
    """Return where in the flattened x each maximum of a pool lies, the first of equal ones: of the result's shape.

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
    """Return the largest element of each window over x[n, c, spatial...] and its place in the image, the first of equal ones: [n * c,
    windows].

    Args:
        places: [windows, taps] in the flattened image, -1 for a tap outside.
        names: what to call each place; default: itself.
    """
    if b.dtype(x).kind not in "fViu":
        raise Unsupported(f"indices of {b.dtype(x)}")
    n, c, *sizes = b.shape(x)
    images, inside = b.reshape(x, n * c, prod(sizes)), places >= 0
    named = places if names is None else np.where(inside, names[places], -1)
    if places.shape[1] <= MOST_TAPS:
        return _largest_by_taps(b, images, places.T, named.T)
    values = b.nn("gather", images, b.constant(np.where(inside, places, 0)), axis=1)
    values = b.nn("where", b.constant(inside), values, b.scalar(_lowest(b, x), x))
    tap = b.nn("argmax", values, axis=2, keepdims=True, select_last=False)
    table = b.nn("expand", b.constant(named), shape=(n * c, *places.shape))
    found = b.reshape(b.nn("gather_elements", table, tap, axis=2), n * c, len(places))
    return b.nn("reduce_max", values, axes=(2,), keepdims=False), _inside(b, found, named.T)


def _largest_by_taps(b: Builder, images: SSAValue, places: np.ndarray, named: np.ndarray) -> tuple[SSAValue, SSAValue]:
    """Return the largest of each window and its place, tap after tap, all windows at once: lines are as long as there are windows.

    Args:
        images: [images, elements].
        places, named: [taps, windows].
    """
    taps, windows = places.shape
    values = b.nn("gather", images, b.constant(np.where(places >= 0, places, 0)), axis=1)
    values = b.nn("where", b.constant(places >= 0), values, b.scalar(_lowest(b, images), images)) if (places < 0).any() else values
    count = b.shape(images)[0]
    lines = [
        b.reshape(b.nn("slice", values, starts=(0, tap, 0), sizes=(count, 1, windows), steps=(1, 1, 1)), count, windows)
        for tap in range(taps)
    ]
    best, found = lines[0], b.nn("expand", b.constant(named[0]), shape=(count, windows))
    for tap in range(1, taps):
        beaten = b.nn("not", b.nn("less_equal", lines[tap], best))
        if b.dtype(images).kind in "fV":  # the first NaN stays the largest
            beaten = b.nn("and", beaten, b.nn("equal", best, best))
        best, found = b.nn("where", beaten, lines[tap], best), b.nn("where", beaten, b.constant(named[tap]), found)
    return best, _inside(b, found, named)


def _inside(b: Builder, found: SSAValue, named: np.ndarray) -> SSAValue:
    """Places of maxima, where none is outside: where all elements of a window are the lowest of all, the first of them stands for it.

    named: [taps, windows], negative outside.
    """
    if not (named < 0).any():
        return found
    first = np.take_along_axis(named, np.argmax(named >= 0, 0)[None], 0)[0]
    return b.nn("where", b.nn("less", found, b.scalar(0, found)), b.constant(first), found)


def _lowest(b: Builder, x: SSAValue) -> float:
    return -np.inf if b.dtype(x).kind in "fV" else np.iinfo(b.dtype(x)).min
