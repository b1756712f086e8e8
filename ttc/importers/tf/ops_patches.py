"""Parts of images: patches at regular places, the places of maxima, boxes sampled anew."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.values import SSAValue
from ttc.importers.common import images
from ttc.importers.common.builder import Builder
from ttc.importers.common.places import max_pool_places, window_places
from ttc.importers.common.unsupported import Unsupported
from ttc.importers.common.windows import SpatialWindow
from ttc.importers.tf.tables import Rows

Ints: TypeAlias = tuple[int, ...]
FLOAT32, INT64 = np.dtype(np.float32), np.dtype(np.int64)


def _window(b: Builder, x: SSAValue, kernel: Ints, strides: Ints, dilations: Ints, padding: str) -> SpatialWindow:
    """Return the windows over height and width.  Raises E0401, E0402, Unsupported."""
    for what, values in (("ksizes", kernel), ("strides", strides), ("rates", dilations)):
        if len(values) != 4:
            raise Error("E0402", f"{what} {list(values)[:8]} are not four")
        if (values[0], values[3]) != (1, 1):
            raise Unsupported(f"{what} {list(values)} over batch or channels")
    inner = kernel[1:3], strides[1:3], dilations[1:3]
    return SpatialWindow(*inner, images.image_pads(b, x, *inner, padding))


def extract_patches(b: Builder, images_: SSAValue, *, ksizes: Ints, strides: Ints, rates: Ints, padding: str) -> SSAValue:
    """Return patches as [n, rows, columns, height * width * c]."""
    win = _window(b, images_, ksizes, strides, rates, padding)
    n, height, width, c = b.shape(images_)
    (high, wide), flat = win.kernel, win.strides == win.kernel and not any(win.pads)
    rows, columns = ((d + p + q - (k - 1) * a - 1) // s + 1 for d, p, q, k, a, s in _along((height, width), win))
    if flat and win.dilations == (1, 1) and (rows * high, columns * wide) == (height, width):
        split = b.reshape(images_, n, rows, high, columns, wide, c)
        return b.reshape(b.nn("transpose", split, perm=(0, 1, 3, 2, 4, 5)), n, rows, columns, high * wide * c)
    places = window_places((height, width), win)
    found = b.nn("gather", b.reshape(images_, n, height * width, c), b.constant(np.maximum(places, 0)), axis=1)
    if (places < 0).any():
        found = b.nn("where", b.constant((places >= 0)[..., None]), found, b.scalar(0, images_))
    return b.reshape(found, n, rows, columns, high * wide * c)


def _along(sizes: Ints, win: SpatialWindow) -> list[tuple[int, int, int, int, int, int]]:
    """Size, paddings, kernel, dilation and stride of each dimension."""
    return list(zip(sizes, win.pads[:2], win.pads[2:], win.kernel, win.dilations, win.strides, strict=True))


def max_pool_with_argmax(
    b: Builder,
    input: SSAValue,
    *,
    ksize: Ints,
    strides: Ints,
    padding: str,
    Targmax: np.dtype = INT64,  # noqa: N803 - the attribute's name
    include_batch_in_index: bool = False,
) -> tuple[SSAValue, SSAValue]:
    """Return maxima, and where they lie in an image, or in all images, of channels last."""
    win = _window(b, input, ksize, strides, (1, 1, 1, 1), padding)
    found = images.pool(b, "max_pool2d", input, win.kernel, win.strides, win.pads)
    n, height, width, c = b.shape(input)
    _, rows, columns, _ = b.shape(found)
    first = b.nn("transpose", input, perm=(0, 3, 1, 2))
    flat = max_pool_places(b, first, win, (n, c, rows, columns), ceil=False, column_major=False)
    place = b.nn("mod", b.cast(flat, INT64), b.constant(np.array(height * width)), fmod=False)
    start = np.arange(c).reshape(1, c, 1, 1)
    if include_batch_in_index:
        start = start + np.arange(n).reshape(n, 1, 1, 1) * (height * width * c)
    place = b.nn("add", b.nn("mul", place, b.constant(np.array(c))), b.constant(start))
    return found, b.cast(b.nn("transpose", place, perm=(0, 2, 3, 1)), Targmax)


def crop_and_resize(
    b: Builder,
    image: SSAValue,
    boxes: SSAValue,
    box_ind: SSAValue,
    crop_size: SSAValue,
    *,
    method: str = "bilinear",
    extrapolation_value: float = 0.0,
) -> SSAValue:
    """Return boxes of images, given by top, left, bottom and right from 0 to 1, as images of one size."""
    if method not in ("bilinear", "nearest"):
        raise Error("E0402", f"method '{method[:20]}' is unknown")
    sizes, count = b.ints(crop_size, "crop_size"), b.spec(box_ind).elements
    if b.rank(image) != 4 or b.shape(boxes) != (count, 4) or len(sizes) != 2 or min((*sizes, *b.shape(image))) < 1:
        raise Error("E0401", f"boxes {b.spec(boxes)} and sizes {list(sizes)[:8]} do not fit images {b.spec(image)}")
    picked = b.nn("gather", b.cast(image, FLOAT32), b.cast(box_ind, INT64), axis=0)
    corners = [b.reshape(v, count, 1) for v in b.nn_all("split", boxes, axis=1, sizes=(1, 1, 1, 1))]
    height, width = b.shape(image)[1:3]
    nearest = method == "nearest"
    rows, rows_inside = _positions(b, corners[0], corners[2], sizes[0], height, nearest=nearest)
    columns, columns_inside = _positions(b, corners[1], corners[3], sizes[1], width, nearest=nearest)
    whole = (count, *sizes)
    grid = [b.nn("expand", v, shape=whole) for v in (b.reshape(columns, count, 1, sizes[1]), b.reshape(rows, count, sizes[0], 1))]
    places = b.nn("concat", *(b.reshape(v, *whole, 1) for v in grid), axis=3)
    first = b.nn("transpose", picked, perm=(0, 3, 1, 2))
    found = b.nn("grid_sample", first, places, mode="nearest" if nearest else "linear", padding="border", align_corners=True)
    inside = b.nn("and", b.reshape(rows_inside, count, sizes[0], 1, 1), b.reshape(columns_inside, count, 1, sizes[1], 1))
    return b.nn("where", inside, b.nn("transpose", found, perm=(0, 2, 3, 1)), b.constant(np.float32(extrapolation_value)))


def _positions(b: Builder, low: SSAValue, high: SSAValue, samples: int, size: int, *, nearest: bool) -> tuple[SSAValue, SSAValue]:
    """[boxes, samples]: places from -1 to 1 along a dimension, and whether they lie inside: the middle for a single sample.

    In elements first, in TensorFlow's order of rounding, as a place right at the border is inside or not.
    """
    last, zero = b.constant(np.float32(size - 1)), b.constant(np.float32(0))
    if samples == 1:
        at = b.nn("mul", b.nn("mul", b.nn("add", low, high), b.constant(np.float32(0.5))), last)
    else:
        step = b.nn("div", b.nn("mul", b.nn("sub", high, low), last), b.constant(np.float32(samples - 1)))
        at = b.nn("add", b.nn("mul", low, last), b.nn("mul", step, b.constant(np.arange(samples, dtype=np.float32))))
    inside = b.nn("and", b.nn("greater_equal", at, zero), b.nn("less_equal", at, last))
    if nearest:  # of two elements the further one, which grids do not take
        at = b.nn("floor", b.nn("add", at, b.constant(np.float32(0.5))))
    scaled = b.nn("sub", b.nn("mul", at, b.constant(np.float32(2 / max(size - 1, 1)))), b.constant(np.float32(1)))
    return scaled, inside


ROWS: Rows = {"ExtractImagePatches": extract_patches, "MaxPoolWithArgmax": max_pool_with_argmax, "CropAndResize": crop_and_resize}
