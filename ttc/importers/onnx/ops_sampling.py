"""Images read at computed positions."""

from __future__ import annotations

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.values import SSAValue
from ttc.importers.common.builder import Builder
from ttc.importers.common.grids import affine_grid
from ttc.importers.common.unsupported import Unsupported
from ttc.importers.onnx.tables import MAPPINGS


@MAPPINGS.rule("GridSample-16")
def grid_sample_16(
    b: Builder, x: SSAValue, grid: SSAValue, *, align_corners: int = 0, mode: str = "bilinear", padding_mode: str = "zeros"
) -> SSAValue:
    mode = {"bilinear": "linear", "bicubic": "cubic"}.get(mode, mode)
    return grid_sample_20(b, x, grid, align_corners=align_corners, mode=mode, padding_mode=padding_mode)


@MAPPINGS.rule("GridSample-20")
def grid_sample_20(
    b: Builder, x: SSAValue, grid: SSAValue, *, align_corners: int = 0, mode: str = "linear", padding_mode: str = "zeros"
) -> SSAValue:
    return b.nn("grid_sample", x, b.cast(grid, b.dtype(x)), mode=mode, padding=padding_mode, align_corners=bool(align_corners))


@MAPPINGS.rule("AffineGrid-20")
def affine_grid_20(b: Builder, theta: SSAValue, size: SSAValue, *, align_corners: int = 0) -> SSAValue:
    """Return the positions theta @ (x, y, 1) or (x, y, z, 1) for every place of an image of the size n, c, spatial...: a matrix product."""
    return affine_grid(b, theta, b.ints(size, "size"), align_corners=bool(align_corners))


@MAPPINGS.rule("RoiAlign-10")
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
    """Map RoiAlign, whose rois are not moved by half an element up to opset 15."""
    return _roi_align(b, (x, rois, batch), (output_height, output_width), sampling_ratio, spatial_scale, 0.0, mode)


@MAPPINGS.rule("RoiAlign-16")
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


@MAPPINGS.rule("DeformConv-19")
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
    """Convolve images with filters whose taps are displaced; other ranks are not supported."""
    if b.rank(x) != 4 or b.rank(w) != 4:
        raise Unsupported("other than two spatial dimensions")
    if kernel_shape and kernel_shape != b.shape(w)[2:]:
        raise Error("E0401", f"kernel_shape {kernel_shape} is not that of weight {b.spec(w)}")
    options = {"strides": strides, "dilations": dilations, "pads": pads, "groups": group, "offset_groups": offset_group}
    y = b.nn("deform_conv", x, w, offset, mask, **options)
    return y if bias is None else b.nn("add", y, b.reshape(bias, b.spec(bias).elements, 1, 1))
