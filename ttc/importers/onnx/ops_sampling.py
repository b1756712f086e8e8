"""Images read at computed positions."""

from __future__ import annotations

from math import prod

import numpy as np
from numpy.typing import NDArray
from xdsl.ir import SSAValue

from ttc.dialects.core.errors import Error
from ttc.importers.common.builder import Builder
from ttc.importers.common.tracking import MAX_ELEMENTS
from ttc.importers.common.unsupported import Unsupported


def grid_sample_16(
    b: Builder, x: SSAValue, grid: SSAValue, *, align_corners: int = 0, mode: str = "bilinear", padding_mode: str = "zeros"
) -> SSAValue:
    mode = {"bilinear": "linear", "bicubic": "cubic"}.get(mode, mode)
    return grid_sample_20(b, x, grid, align_corners=align_corners, mode=mode, padding_mode=padding_mode)


def grid_sample_20(
    b: Builder, x: SSAValue, grid: SSAValue, *, align_corners: int = 0, mode: str = "linear", padding_mode: str = "zeros"
) -> SSAValue:
    return b.nn("grid_sample", x, b.cast(grid, b.dtype(x)), mode=mode, padding=padding_mode, align_corners=bool(align_corners))


def affine_grid_20(b: Builder, theta: SSAValue, size: SSAValue, *, align_corners: int = 0) -> SSAValue:
    """The positions theta @ (x, y, 1) or (x, y, z, 1) for every place of an image of the size n, c, spatial...: a matrix product."""
    sizes = b.ints(size, "size")
    spatial = sizes[2:]
    rank = len(spatial)
    if rank not in (2, 3) or b.shape(theta) != (sizes[0], rank, rank + 1) or min(spatial) < 1:
        raise Error("E0401", f"theta {b.spec(theta)} does not fit size {list(sizes)}")
    if prod(spatial) > MAX_ELEMENTS:
        raise Unsupported(f"more than {MAX_ELEMENTS} places")
    places = b.constant(_places(spatial, bool(align_corners)), b.dtype(theta))
    found = b.nn("matmul", places, theta, None, transpose_a=False, transpose_b=True)
    return b.reshape(found, sizes[0], *spatial, rank)


def _places(spatial: tuple[int, ...], align_corners: bool) -> NDArray:
    """[places, rank + 1]: normalized coordinates of the elements, the last dimension's first, then 1."""
    axes = [np.linspace(-1, 1, d) if align_corners else (2 * np.arange(d) + 1) / d - 1 for d in spatial]
    grids = np.meshgrid(*axes, indexing="ij")[::-1]
    return np.stack([*(g.ravel() for g in grids), np.ones(prod(spatial))], axis=-1)


def roi_align_10(
    b: Builder,
    x: SSAValue,
    rois: SSAValue,
    batch: SSAValue,
    *,
    mode: str = "avg",
    output_height: int = 1,
    output_width: int = 1,
    sampling_ratio: int = 0,
    spatial_scale: float = 1.0,
) -> SSAValue:
    """Up to opset 15 rois are not moved by half an element."""
    return _roi_align(b, (x, rois, batch), (output_height, output_width), sampling_ratio, spatial_scale, 0.0, mode)


def roi_align_16(
    b: Builder,
    x: SSAValue,
    rois: SSAValue,
    batch: SSAValue,
    *,
    coordinate_transformation_mode: str = "half_pixel",
    mode: str = "avg",
    output_height: int = 1,
    output_width: int = 1,
    sampling_ratio: int = 0,
    spatial_scale: float = 1.0,
) -> SSAValue:
    offset = {"half_pixel": 0.5, "output_half_pixel": 0.0}.get(coordinate_transformation_mode)
    if offset is None:
        raise Error("E0402", f"coordinate_transformation_mode '{coordinate_transformation_mode[:40]}' is unknown")
    return _roi_align(b, (x, rois, batch), (output_height, output_width), sampling_ratio, spatial_scale, offset, mode)


def _roi_align(
    b: Builder, operands: tuple[SSAValue, ...], size: tuple[int, int], samples: int, scale: float, offset: float, mode: str
) -> SSAValue:
    return b.nn("roi_align", *operands, size=size, samples=max(samples, 0), scale=scale, offset=offset, mode=mode)


def deform_conv_19(
    b: Builder,
    x: SSAValue,
    w: SSAValue,
    offset: SSAValue,
    bias: SSAValue | None = None,
    mask: SSAValue | None = None,
    *,
    dilations: tuple[int, ...] = (1, 1),
    group: int = 1,
    kernel_shape: tuple[int, ...] = (),
    offset_group: int = 1,
    pads: tuple[int, ...] = (0, 0, 0, 0),
    strides: tuple[int, ...] = (1, 1),
) -> SSAValue:
    """Of images alone."""
    if len(b.shape(x)) != 4 or len(b.shape(w)) != 4:
        raise Unsupported("other than two spatial dimensions")
    if kernel_shape and kernel_shape != b.shape(w)[2:]:
        raise Error("E0401", f"kernel_shape {kernel_shape} is not that of weight {b.spec(w)}")
    options = {"strides": strides, "dilations": dilations, "pads": pads, "groups": group, "offset_groups": offset_group}
    y = b.nn("deform_conv", x, w, offset, mask, **options)
    return y if bias is None else b.nn("add", y, b.reshape(bias, b.spec(bias).elements, 1, 1))
