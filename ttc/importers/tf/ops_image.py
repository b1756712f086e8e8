"""Images sampled anew, and blocks of space moved to channels or batch."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.values import SSAValue
from ttc.importers.common import images
from ttc.importers.common.builder import Builder
from ttc.importers.common.unsupported import Unsupported
from ttc.importers.tf.resampling import KERNELS, STEPS, areas, cubics, sampled, spans
from ttc.importers.tf.tables import Rows

Ints: TypeAlias = tuple[int, ...]
FLOAT32 = np.dtype(np.float32)


def _real(b: Builder, images_: SSAValue) -> SSAValue:
    """Interpolation computes in floating point, whatever the images are."""
    return images_ if b.dtype(images_).kind in "fV" else b.cast(images_, FLOAT32)


def resize_bilinear(
    b: Builder, images_: SSAValue, size: SSAValue, *, align_corners: bool = False, half_pixel_centers: bool = False
) -> SSAValue:
    x = b.cast(_real(b, images_), FLOAT32)
    return images.resize(b, x, b.ints(size, "size"), "linear", align_corners=align_corners, half_pixel=half_pixel_centers)


def resize_bicubic(
    b: Builder, images_: SSAValue, size: SSAValue, *, align_corners: bool = False, half_pixel_centers: bool = False
) -> SSAValue:
    """Resize by cubic weights; TensorFlow rounds places between elements: where that changes something, by its own weights."""
    x, sizes = b.cast(_real(b, images_), FLOAT32), _sizes(b, images_, size)

    def weights(steps: int | None) -> list[NDArray]:
        pairs = zip(sizes, b.shape(x)[1:3], strict=True)
        return [cubics(m, d, align_corners=align_corners, half_pixel=half_pixel_centers, steps=steps) for m, d in pairs]

    exact, rounded = weights(None), weights(STEPS)
    if all(np.abs(e - r).max() < 1e-6 for e, r in zip(exact, rounded, strict=True)):
        return images.resize(b, x, sizes, "cubic", align_corners=align_corners, half_pixel=half_pixel_centers)
    return sampled(b, x, *rounded)


def resize_area(b: Builder, images_: SSAValue, size: SSAValue, *, align_corners: bool = False) -> SSAValue:
    sizes, shape = _sizes(b, images_, size), b.shape(images_)
    rows, columns = (areas(m, d, align_corners=align_corners) for m, d in zip(sizes, shape[1:3], strict=True))
    return sampled(b, b.cast(images_, FLOAT32), rows, columns)


def scale_and_translate(
    b: Builder,
    images_: SSAValue,
    size: SSAValue,
    scale: SSAValue,
    translation: SSAValue,
    *,
    kernel_type: str = "lanczos3",
    antialias: bool = True,
) -> SSAValue:
    """Resize so that each sample is the mean of elements around it, weighted by a kernel."""
    kernel = KERNELS.get(kernel_type)
    if kernel is None:
        raise Unsupported(f"kernel_type {kernel_type[:20]}")
    sizes, shape = _sizes(b, images_, size), b.shape(images_)
    scales, moves = (b.need(v, what).ravel() for v, what in ((scale, "scale"), (translation, "translation")))
    if not len(scales) == len(moves) == 2:
        raise Error("E0402", f"images take 2 scales and 2 translations, not {len(scales)} and {len(moves)}")
    rows, columns = (
        spans(m, d, float(s), float(t), kernel, antialias=antialias) for m, d, s, t in zip(sizes, shape[1:3], scales, moves, strict=True)
    )
    return sampled(b, b.cast(images_, FLOAT32), rows, columns)


def _sizes(b: Builder, images_: SSAValue, size: SSAValue) -> tuple[int, int]:
    """Height and width of the result.  Raises E0402."""
    found = b.ints(size, "size")
    if b.rank(images_) != 4 or len(found) != 2:
        raise Error("E0402", f"images {b.spec(images_)} cannot be resized to {list(found)[:8]}")
    return found[0], found[1]


def resize_nearest(
    b: Builder, images_: SSAValue, size: SSAValue, *, align_corners: bool = False, half_pixel_centers: bool = False
) -> SSAValue:
    return images.resize(b, images_, b.ints(size, "size"), "nearest", align_corners=align_corners, half_pixel=half_pixel_centers)


def depth_to_space(b: Builder, input: SSAValue, *, block_size: int, data_format: str = "NHWC") -> SSAValue:
    _require_last(data_format)
    return images.depth_to_space(b, input, block_size)


def space_to_depth(b: Builder, input: SSAValue, *, block_size: int, data_format: str = "NHWC") -> SSAValue:
    _require_last(data_format)
    return images.space_to_depth(b, input, block_size)


def _require_last(data_format: str) -> None:
    if data_format != "NHWC":
        raise Unsupported(f"data_format {data_format[:20]}")


def space_to_batch(b: Builder, input: SSAValue, block_shape: SSAValue, paddings: SSAValue) -> SSAValue:
    return images.space_to_batch(b, input, b.ints(block_shape, "block_shape"), _pairs(b, paddings, "paddings"))


def batch_to_space(b: Builder, input: SSAValue, block_shape: SSAValue, crops: SSAValue) -> SSAValue:
    return images.batch_to_space(b, input, b.ints(block_shape, "block_shape"), _pairs(b, crops, "crops"))


def _pairs(b: Builder, value: SSAValue, what: str) -> list[tuple[int, int]]:
    found = b.need(value, what)
    if found.ndim != 2 or found.shape[1] != 2 or found.shape[0] > 8 or found.dtype.kind not in "iu":
        raise Error("E0402", f"{what} {list(found.shape)} are no pairs of integers")
    return [(int(low), int(high)) for low, high in found]


ROWS: Rows = {
    "ResizeBilinear": resize_bilinear,
    "ResizeBicubic": resize_bicubic,
    "ResizeArea": resize_area,
    "ScaleAndTranslate": scale_and_translate,
    "ResizeNearestNeighbor": resize_nearest,
    "DepthToSpace": depth_to_space,
    "SpaceToDepth": space_to_depth,
    "SpaceToBatchND": space_to_batch,
    "BatchToSpaceND": batch_to_space,
}
