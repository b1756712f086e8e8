"""Images sampled anew, and blocks of space moved to channels or batch."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from xdsl.ir import SSAValue

from ttc.dialects.core.errors import Error
from ttc.importers.common import images
from ttc.importers.common.builder import Builder
from ttc.importers.common.unsupported import Unsupported
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
    x = b.cast(_real(b, images_), FLOAT32)
    return images.resize(b, x, b.ints(size, "size"), "cubic", align_corners=align_corners, half_pixel=half_pixel_centers)


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
    "ResizeNearestNeighbor": resize_nearest,
    "DepthToSpace": depth_to_space,
    "SpaceToDepth": space_to_depth,
    "SpaceToBatchND": space_to_batch,
    "BatchToSpaceND": batch_to_space,
}
