"""Images whose channels come last, x[n, height, width, c], and filters [height, width, in, out], as TensorFlow and TFLite have them."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, TypeAlias

import numpy as np

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.values import SSAValue
from ttc.importers.common.builder import Builder
from ttc.importers.common.convolution import groups_of, lacking
from ttc.importers.common.unsupported import Unsupported
from ttc.importers.common.windows import SpatialWindow, same_totals, split_pads

Ints: TypeAlias = tuple[int, ...]
MAX_STEP = 1 << 24
"""The largest stride, dilation, kernel or block that is imported; no model has larger ones."""


def image_pads(b: Builder, x: SSAValue, kernel: Ints, strides: Ints, dilations: Ints, padding: str) -> Ints:
    """Return top, left, bottom, right for padding SAME or VALID of x[n, height, width, c]. Raises E0401, E0402."""
    require_steps("kernel", kernel)
    require_steps("strides", strides)
    require_steps("dilations", dilations)
    if b.rank(x) != 4:
        raise Error("E0401", f"needs an image [n, height, width, c], not {b.spec(x)}")
    if padding == "VALID":
        return (0, 0, 0, 0)
    if padding != "SAME":
        raise Error("E0402", f"padding '{padding[:20]}' is neither SAME nor VALID")
    return split_pads(same_totals(b.shape(x)[1:3], kernel, strides, dilations), upper=True)


def require_steps(what: str, values: Sequence[int]) -> None:
    """Raises E0402 unless all are positive and at most MAX_STEP."""
    if not all(1 <= v <= MAX_STEP for v in values):
        raise Error("E0402", f"{what} {list(values)} must be positive")


def conv(b: Builder, x: SSAValue, w: SSAValue, bias: SSAValue | None, strides: Ints, dilations: Ints, pads: Ints) -> SSAValue:
    """Return a convolution whose groups follow from the channels of image and filter.  pads: top, left, bottom, right.  Raises E0401."""
    if b.rank(x) != 4 or b.rank(w) != 4:
        raise Error("E0401", f"a convolution takes an image and a filter of rank 4, not {b.spec(x)} and {b.spec(w)}")
    groups = groups_of(b.shape(x)[3], b.shape(w)[2])
    attrs: dict[str, Any] = {"strides": strides, "pads": pads, "dilations": dilations, "groups": groups, "layout": "nhwc"}
    return b.nn("conv2d", x, w, bias, **attrs)


def pool(b: Builder, op: str, x: SSAValue, kernel: Ints, strides: Ints, pads: Ints) -> SSAValue:
    """Return max_pool2d, or avg_pool2d over the elements inside x.  pads: top, left, bottom, right."""
    attrs: dict[str, Any] = {"kernel": kernel, "strides": strides, "pads": pads, "dilations": (1, 1), "layout": "nhwc", "ceil_mode": False}
    if op == "avg_pool2d":
        attrs["count_include_pad"] = False
    return b.nn(op, x, **attrs)


def conv_transpose(
    b: Builder, x: SSAValue, w: SSAValue, bias: SSAValue | None, sizes: Ints, strides: Ints, dilations: Ints, padding: str
) -> SSAValue:
    """Return the transposed convolution that gives images of these sizes: height and width.  w: [height, width, out, in]. Raises E0401,
    E0402.
    """
    require_steps("strides", strides)
    require_steps("dilations", dilations)
    if b.rank(x) != 4 or b.rank(w) != 4 or min((*sizes, *b.shape(w))) < 1:
        raise Error("E0401", f"a transposed convolution to {list(sizes)} does not take {b.spec(x)} and {b.spec(w)}")
    kernel, inner = b.shape(w)[:2], b.shape(x)[1:3]
    if padding == "SAME":
        pads = split_pads(same_totals(sizes, kernel, strides, dilations), upper=True)
    else:
        pads = (0, 0, 0, 0)
    extra = lacking(b, x, inner, sizes, SpatialWindow(kernel, strides, dilations, pads))
    attrs: dict[str, Any] = {"strides": strides, "pads": pads, "dilations": dilations, "groups": 1, "layout": "nhwc"}
    return b.nn("conv_transpose2d", x, w, bias, output_padding=extra, **attrs)


# ---- sampling --------------------------------------------------------------------------------------------------------------------


def resize(b: Builder, x: SSAValue, sizes: Ints, mode: str, *, align_corners: bool, half_pixel: bool) -> SSAValue:
    """Return images sampled anew to height and width.  mode: nearest, linear or cubic. Raises E0401, E0402."""
    shape = b.shape(x)
    if len(shape) != 4 or len(sizes) != 2 or not all(1 <= s <= MAX_STEP for s in sizes) or min(shape) < 1:
        raise Error("E0402", f"images {b.spec(x)} cannot be resized to {list(sizes)}")
    if align_corners and half_pixel:
        raise Unsupported("align_corners and half_pixel_centers at once")
    coordinates = "align_corners" if align_corners else "half_pixel" if half_pixel else "asymmetric"
    return b.nn(
        "resize",
        x,
        sizes=(shape[0], *sizes, shape[3]),
        scales=(1.0, sizes[0] / shape[1], sizes[1] / shape[2], 1.0),
        window=(0.0,) * 4 + (1.0,) * 4,
        mode=mode,
        coordinates=coordinates,
        rounding="floor" if coordinates == "asymmetric" else "round_prefer_ceil",
        cubic=-0.5 if half_pixel else -0.75,
        exclude_outside=mode == "cubic" and half_pixel,
        antialias=False,
        fill=0.0,
    )


# ---- blocks ----------------------------------------------------------------------------------------------------------------------


def depth_to_space(b: Builder, x: SSAValue, block: int) -> SSAValue:
    """Return x[n, h, w, block * block * c] as [n, h * block, w * block, c]. Raises E0401, E0402."""
    n, h, w, c = _image(b, x, block)
    if c % block**2:
        raise Error("E0401", f"{c} channels are no {block} x {block} blocks")
    depth = c // block**2
    moved = b.nn("transpose", b.reshape(x, n, h, w, block, block, depth), perm=(0, 1, 3, 2, 4, 5))
    return b.reshape(moved, n, h * block, w * block, depth)


def space_to_depth(b: Builder, x: SSAValue, block: int) -> SSAValue:
    """Return x[n, h, w, c] as [n, h / block, w / block, block * block * c]. Raises E0401, E0402."""
    n, h, w, c = _image(b, x, block)
    if h % block or w % block:
        raise Error("E0401", f"blocks of {block} do not divide {h} x {w}")
    split = b.reshape(x, n, h // block, block, w // block, block, c)
    return b.reshape(b.nn("transpose", split, perm=(0, 1, 3, 2, 4, 5)), n, h // block, w // block, block * block * c)


def _image(b: Builder, x: SSAValue, block: int) -> Ints:
    require_steps("block size", (block,))
    if b.rank(x) != 4:
        raise Error("E0401", f"needs an image [n, height, width, c], not {b.spec(x)}")
    return b.shape(x)


def space_to_batch(b: Builder, x: SSAValue, block: Ints, pads: Sequence[tuple[int, int]], value: float = 0.0) -> SSAValue:
    """Return x[n, spatial.., rest..] padded, with the places inside blocks in front of n.  pads: before and after, a spatial dimension."""
    _require_blocks(b, x, block, pads)
    rest = b.rank(x) - 1 - len(block)
    before, after = (0, *(p[0] for p in pads), *(0,) * rest), (0, *(p[1] for p in pads), *(0,) * rest)
    if any(before) or any(after):
        x = b.nn("pad", x, before=before, after=after, value=value, mode="constant")
    n, *sizes = b.shape(x)
    spatial, inner = sizes[: len(block)], sizes[len(block) :]
    if any(size % step for size, step in zip(spatial, block, strict=True)):
        raise Error("E0401", f"blocks {list(block)} do not divide {spatial}")
    pairs = [p for size, step in zip(spatial, block, strict=True) for p in (size // step, step)]
    count = len(block)
    perm = (*range(2, 2 * count + 1, 2), 0, *range(1, 2 * count, 2), *range(2 * count + 1, 2 * count + 1 + len(inner)))
    moved = b.nn("transpose", b.reshape(x, n, *pairs, *inner), perm=perm)
    return b.reshape(moved, n * prod(block), *pairs[::2], *inner)


def batch_to_space(b: Builder, x: SSAValue, block: Ints, crops: Sequence[tuple[int, int]]) -> SSAValue:
    """Return the reverse of `space_to_batch`: the dimension in front holds the places inside blocks; crops: cut off before and after."""
    _require_blocks(b, x, block, crops)
    n, *sizes = b.shape(x)
    if n % prod(block):
        raise Error("E0401", f"a batch of {n} is no blocks {list(block)}")
    count, samples = len(block), n // prod(block)
    spatial, inner = sizes[:count], sizes[count:]
    pairs = [p for i in range(count) for p in (count + 1 + i, i)]
    moved = b.nn(
        "transpose", b.reshape(x, *block, samples, *sizes), perm=(count, *pairs, *range(2 * count + 1, 2 * count + 1 + len(inner)))
    )
    wide = [size * step for size, step in zip(spatial, block, strict=True)]
    y = b.reshape(moved, samples, *wide, *inner)
    kept = [size - low - high for size, (low, high) in zip(wide, crops, strict=True)]
    if min(kept, default=0) < 0:
        raise Error("E0402", f"crops {list(crops)} cut off more than {wide}")
    if kept == wide:
        return y
    starts = (0, *(low for low, _ in crops), *(0,) * len(inner))
    return b.nn("slice", y, starts=starts, sizes=(samples, *kept, *inner), steps=(1,) * len(starts))


def _require_blocks(b: Builder, x: SSAValue, block: Ints, margins: Sequence[tuple[int, int]]) -> None:
    """Check that blocks and margins fit the spatial dimensions of x.  Raises E0401, E0402."""
    require_steps("block sizes", block)
    if not 1 <= len(block) <= b.rank(x) - 1 or len(margins) != len(block):
        raise Error("E0401", f"blocks {list(block)} and {len(margins)} margins do not fit {b.spec(x)}")
    if any(min(pair) < 0 for pair in margins):
        raise Error("E0402", f"margins {list(margins)} are negative")


# ---- normalization ---------------------------------------------------------------------------------------------------------------


def local_response_norm(b: Builder, x: SSAValue, radius: int, bias: float, alpha: float, beta: float) -> SSAValue:
    """Return x / (bias + alpha * sum of squares over 2 * radius + 1 channels around)^beta; the sum is a product with a band matrix."""
    shape = b.shape(x)
    if not shape or shape[-1] > 1 << 12 or not 0 <= radius <= MAX_STEP:
        raise Error("E0402", f"takes at most 4096 channels and a radius of at least 0, not {b.spec(x)} and {radius}")
    channels = np.arange(shape[-1])
    band = b.constant((np.abs(channels[:, None] - channels[None, :]) <= radius) * alpha, b.dtype(x))
    rows = b.reshape(b.nn("mul", x, x), prod(shape[:-1]), shape[-1])
    total = b.nn("matmul", rows, band, None, transpose_a=False, transpose_b=False)
    total = b.nn("add", b.reshape(total, *shape), b.scalar(bias, x))
    return b.nn("mul", x, b.nn("pow", total, b.scalar(-beta, x)))
