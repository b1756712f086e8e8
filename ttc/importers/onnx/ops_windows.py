"""Ops on windows of images that are sums or moves by indices: Col2Im, MaxUnpool, the places of maxima, caches written in place."""

from __future__ import annotations

from math import prod
from typing import TypeAlias

import numpy as np

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.values import SSAValue
from ttc.dialects.core.shapes import axis_in
from ttc.importers.common.builder import Builder
from ttc.importers.common.overlaps import added_windows
from ttc.importers.common.tracking import MAX_ELEMENTS
from ttc.importers.common.unsupported import Unsupported
from ttc.importers.common.windows import SpatialWindow, flat_window
from ttc.importers.onnx.tables import MAPPINGS

Ints: TypeAlias = tuple[int, ...]


@MAPPINGS.rule("Col2Im-18")
def col2_im_18(
    b: Builder, x: SSAValue, image: SSAValue, block: SSAValue, *, dilations: Ints = (), pads: Ints = (), strides: Ints = ()
) -> SSAValue:
    """Return x[n, c * prod(block), windows] as [n, c, image]: windows are added up where they lie."""
    sizes, kernel = b.ints(image, "image_shape"), b.ints(block, "block_shape")
    rank = len(sizes)
    if b.rank(x) != 3 or min(sizes, default=0) < 1 or len(kernel) != rank:
        raise Error("E0401", f"image_shape {sizes} and block_shape {kernel} do not fit {b.spec(x)}")
    win = _window(sizes, kernel, strides, dilations, pads)
    return added_windows(b, x, sizes, win)


def _window(sizes: Ints, kernel: Ints, strides: Ints, dilations: Ints, pads: Ints) -> SpatialWindow:
    rank = len(sizes)
    win = SpatialWindow(kernel, strides or (1,) * rank, dilations or (1,) * rank, pads or (0,) * (2 * rank))
    if len(win.strides) != rank or len(win.dilations) != rank or len(win.pads) != 2 * rank:
        raise Error("E0402", f"strides {strides}, dilations {dilations} or pads {pads} do not fit {rank} dimensions")
    if min((*win.kernel, *win.strides, *win.dilations)) < 1 or min(win.pads) < 0 or max((*win.kernel, *win.dilations, *win.pads)) > 1 << 16:
        raise Error("E0402", f"a kernel of {kernel}, strides {strides}, dilations {dilations} or pads {pads} are out of range")
    return win


@MAPPINGS.rule("MaxUnpool-9")
def max_unpool_9(
    b: Builder,
    x: SSAValue,
    places: SSAValue,
    output_shape: SSAValue | None = None,
    *,
    kernel_shape: Ints,
    pads: Ints = (),
    strides: Ints = (),
) -> SSAValue:
    """Return each element at its place of the flattened result that the windows cover, 0 elsewhere; more of it where output_shape asks."""
    win = flat_window(b, x, kernel_shape, strides, (), pads, "NOTSET")
    shape, rank = b.shape(x), len(kernel_shape)
    sizes = [(d - 1) * s + k for d, s, k in zip(shape[2:], win.strides, win.kernel, strict=True)]
    sizes = [size - win.pads[i] - win.pads[rank + i] for i, size in enumerate(sizes)]
    full = (*shape[:2], *sizes)
    if min(sizes) < 1 or prod(full) > MAX_ELEMENTS:
        raise Unsupported(f"a result of shape {list(full)}")
    zeros = b.nn("expand", b.scalar(0, x), shape=(prod(full),))
    count = b.spec(x).elements
    y = b.nn("scatter_nd", zeros, b.reshape(places, count, 1), b.reshape(x, count), reduction="none")
    y = b.reshape(y, *full)
    if output_shape is None:
        return y
    after = tuple(want - have for want, have in zip(b.ints(output_shape, "output_shape"), full, strict=True))
    if min(after) < 0:
        raise Error("E0402", f"output_shape is smaller than {list(full)}")
    return b.nn("pad", y, before=(0,) * len(full), after=after, value=0.0, mode="constant") if any(after) else y


@MAPPINGS.rule("TensorScatter-24")
def tensor_scatter_24(
    b: Builder, cache: SSAValue, update: SSAValue, starts: SSAValue | None = None, *, axis: int = -2, mode: str = "linear"
) -> SSAValue:
    """Return cache[n, ...] with the update written along an axis, for each sample from its start on; circular: past the end at the
    beginning.
    """
    shape, new = b.shape(cache), b.shape(update)
    at = axis_in(axis, len(shape))
    if mode not in ("linear", "circular") or at == 0 or len(new) != len(shape):
        raise Error("E0402", f"mode '{mode[:20]}', axis {axis} or {b.spec(update)} does not fit {b.spec(cache)}")
    steps = b.constant(np.arange(new[at], dtype=np.int64).reshape(-1, *(1,) * (len(shape) - 1 - at)))
    places = b.nn("expand", steps, shape=new)
    if starts is not None:
        column = b.reshape(b.cast(starts, np.dtype(np.int64)), new[0], *(1,) * (len(shape) - 1))
        places = b.nn("add", places, column)
    if mode == "circular":
        places = b.nn("mod", places, b.constant(np.array(shape[at], np.int64)), fmod=False)
    return b.nn("scatter_elements", cache, places, update, axis=at, reduction="none")
