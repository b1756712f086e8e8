"""Convolutions, fully connected layers, pools and other ops on windows of images, channels last."""

from __future__ import annotations

from math import prod

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.values import SSAValue
from ttc.dialects.core.shapes import require_rank
from ttc.importers.common import images
from ttc.importers.common.builder import Builder
from ttc.importers.common.convolution import convolution, groups_of, lacking, transposed_convolution
from ttc.importers.common.unsupported import Unsupported
from ttc.importers.common.windows import SpatialWindow, same_totals, split_pads
from ttc.importers.tflite.building import TfliteBuilder
from ttc.importers.tflite.fused import fused
from ttc.importers.tflite.tables import CODES, Rows


def conv_2d(
    b: TfliteBuilder,
    x: SSAValue,
    w: SSAValue,
    bias: SSAValue | None = None,
    *,
    padding: str,
    stride_w: int,
    stride_h: int,
    dilation_w_factor: int,
    dilation_h_factor: int,
) -> SSAValue:
    """Convolve images with w[out, height, width, in / groups]."""
    require_rank(b.shape(w), 4)
    w = b.moved(w, (1, 2, 3, 0))
    strides, dilations = (stride_h, stride_w), (dilation_h_factor, dilation_w_factor)
    pads = images.image_pads(b, x, b.shape(w)[:2], strides, dilations, padding)
    return images.conv(b, x, w, bias, strides, dilations, pads)


def depthwise_conv_2d(
    b: TfliteBuilder,
    x: SSAValue,
    w: SSAValue,
    bias: SSAValue | None = None,
    *,
    padding: str,
    stride_w: int,
    stride_h: int,
    depth_multiplier: int,
    dilation_w_factor: int,
    dilation_h_factor: int,
) -> SSAValue:
    """Convolve images with w[1, height, width, in * multiplier]; the multiplier follows from its shape."""
    require_rank(b.shape(w), 4)
    if b.shape(w)[0] != 1:
        raise Error("E0401", f"a depthwise filter is [1, height, width, c], not {b.spec(w)}")
    w = b.moved(w, (1, 2, 0, 3))
    strides, dilations = (stride_h, stride_w), (dilation_h_factor, dilation_w_factor)
    pads = images.image_pads(b, x, b.shape(w)[:2], strides, dilations, padding)
    return images.conv(b, x, w, bias, strides, dilations, pads)


def transpose_conv(
    b: TfliteBuilder,
    output_shape: SSAValue,
    w: SSAValue,
    x: SSAValue,
    bias: SSAValue | None = None,
    *,
    padding: str,
    stride_w: int,
    stride_h: int,
) -> SSAValue:
    """Convolve images, transposed, with w[out, height, width, in]."""
    require_rank(b.shape(w), 4)
    sizes = b.ints(output_shape, "output shape")
    if len(sizes) != 4:
        raise Error("E0401", f"the output shape of images has 4 sizes, not {len(sizes)}")
    return images.conv_transpose(b, x, b.moved(w, (1, 2, 0, 3)), bias, sizes[1:3], (stride_h, stride_w), (1, 1), padding)


def transpose_conv_bias(
    b: TfliteBuilder, x: SSAValue, w: SSAValue, bias: SSAValue, *, padding: str, stride_w: int, stride_h: int
) -> SSAValue:
    """Map MediaPipe's transposed convolution, whose result is as large as the windows reach.  w: [out, height, width, in]."""
    require_rank(b.shape(x), 4)
    require_rank(b.shape(w), 4)
    strides = stride_h, stride_w
    images.require_steps("strides", strides)
    last = [size - 1 for size in b.shape(x)[1:3]]
    reach = [k if padding != "SAME" else min(k, n % s + 1) for k, n, s in zip(b.shape(w)[1:3], last, strides, strict=True)]
    sizes = last[0] * stride_h + reach[0], last[1] * stride_w + reach[1]
    return images.conv_transpose(b, x, b.moved(w, (1, 2, 0, 3)), bias, sizes, strides, (1, 1), padding)


def conv_3d(
    b: TfliteBuilder,
    x: SSAValue,
    w: SSAValue,
    bias: SSAValue | None = None,
    *,
    padding: str,
    stride_d: int,
    stride_w: int,
    stride_h: int,
    dilation_d_factor: int,
    dilation_w_factor: int,
    dilation_h_factor: int,
) -> SSAValue:
    """Convolve x[n, depth, height, width, c] with w[depth, height, width, in / groups, out]."""
    require_rank(b.shape(x), 5)
    require_rank(b.shape(w), 5)
    window = _volume(b.shape(w)[:3], (stride_d, stride_h, stride_w), (dilation_d_factor, dilation_h_factor, dilation_w_factor))
    window = _padded(window, b.shape(x)[1:4], padding)
    y = convolution(b, _first(b, x), b.moved(w, (4, 3, 0, 1, 2)), bias, window, groups_of(b.shape(x)[4], b.shape(w)[3]))
    return b.nn("transpose", y, perm=(0, 2, 3, 4, 1))


def conv_3d_transpose(
    b: TfliteBuilder,
    output_shape: SSAValue,
    w: SSAValue,
    x: SSAValue,
    bias: SSAValue | None = None,
    *,
    padding: str,
    stride_d: int,
    stride_w: int,
    stride_h: int,
    dilation_d_factor: int,
    dilation_w_factor: int,
    dilation_h_factor: int,
) -> SSAValue:
    """Convolve x[n, depth, height, width, c], transposed, with w[depth, height, width, out, in]."""
    require_rank(b.shape(x), 5)
    require_rank(b.shape(w), 5)
    sizes = b.ints(output_shape, "output shape")[1:4]
    window = _volume(b.shape(w)[:3], (stride_d, stride_h, stride_w), (dilation_d_factor, dilation_h_factor, dilation_w_factor))
    if len(sizes) != 3 or min(sizes) < 1:
        raise Error("E0401", f"an output of {list(sizes)} is no volume")
    window = _padded(window, sizes, padding)
    extra = lacking(b, x, b.shape(x)[1:4], sizes, window)
    y = transposed_convolution(b, _first(b, x), b.moved(w, (4, 3, 0, 1, 2)), bias, window, extra, 1)
    return b.nn("transpose", y, perm=(0, 2, 3, 4, 1))


def _first(b: Builder, x: SSAValue) -> SSAValue:
    """Return volumes with channels first, from channels last."""
    return b.nn("transpose", x, perm=(0, 4, 1, 2, 3))


def _volume(kernel: tuple[int, ...], strides: tuple[int, ...], dilations: tuple[int, ...]) -> SpatialWindow:
    for what, values in (("kernel", kernel), ("strides", strides), ("dilations", dilations)):
        images.require_steps(what, values)
    return SpatialWindow(kernel, strides, dilations, (0,) * 6)


def _padded(w: SpatialWindow, sizes: tuple[int, ...], padding: str) -> SpatialWindow:
    totals = same_totals(sizes, w.kernel, w.strides, w.dilations) if padding == "SAME" else [0, 0, 0]
    return SpatialWindow(w.kernel, w.strides, w.dilations, split_pads(totals, upper=True))


def fully_connected(
    b: TfliteBuilder, x: SSAValue, w: SSAValue, bias: SSAValue | None = None, *, weights_format: str, keep_num_dims: bool
) -> SSAValue:
    """Multiply by w[out, in]; x is cut into rows of `in` elements, which keep_num_dims puts back into its leading dimensions."""
    if weights_format != "DEFAULT":
        raise Unsupported(f"weights in format {weights_format}")
    require_rank(b.shape(w), 2)
    outputs, inputs = b.shape(w)
    shape, count = b.shape(x), prod(b.shape(x))
    if inputs < 1 or count % inputs or (keep_num_dims and (not shape or shape[-1] != inputs)):
        raise Error("E0401", f"{b.spec(x)} does not fall into rows of {inputs} elements")
    if len(shape) < 2 or shape[-1] != inputs or not keep_num_dims:
        x = b.reshape(x, count // inputs, inputs)
    y = b.nn("matmul", x, w, None if bias is None else b.reshape(bias, b.spec(bias).elements), transpose_a=False, transpose_b=True)
    return b.reshape(y, *shape[:-1], outputs) if keep_num_dims else y


def average_pool_2d(
    b: Builder, x: SSAValue, *, padding: str, stride_w: int, stride_h: int, filter_width: int, filter_height: int
) -> SSAValue:
    return _pool(b, "avg_pool2d", x, padding, (stride_h, stride_w), (filter_height, filter_width))


def max_pool_2d(b: Builder, x: SSAValue, *, padding: str, stride_w: int, stride_h: int, filter_width: int, filter_height: int) -> SSAValue:
    return _pool(b, "max_pool2d", x, padding, (stride_h, stride_w), (filter_height, filter_width))


def l2_pool_2d(b: Builder, x: SSAValue, *, padding: str, stride_w: int, stride_h: int, filter_width: int, filter_height: int) -> SSAValue:
    """Return the root of the mean of squares."""
    return b.nn("sqrt", _pool(b, "avg_pool2d", b.nn("mul", x, x), padding, (stride_h, stride_w), (filter_height, filter_width)))


def _pool(b: Builder, op: str, x: SSAValue, padding: str, strides: tuple[int, int], kernel: tuple[int, int]) -> SSAValue:
    return images.pool(b, op, x, kernel, strides, images.image_pads(b, x, kernel, strides, (1, 1), padding))


def resize_bilinear(
    b: Builder, x: SSAValue, size: SSAValue, *, new_height: int, new_width: int, align_corners: bool, half_pixel_centers: bool
) -> SSAValue:
    """Resize images; new_height and new_width are of a version that had no operand for them."""
    return images.resize(b, x, b.ints(size, "size"), "linear", align_corners=align_corners, half_pixel=half_pixel_centers)


def resize_nearest_neighbor(b: Builder, x: SSAValue, size: SSAValue, *, align_corners: bool, half_pixel_centers: bool) -> SSAValue:
    return images.resize(b, x, b.ints(size, "size"), "nearest", align_corners=align_corners, half_pixel=half_pixel_centers)


def depth_to_space(b: Builder, x: SSAValue, *, block_size: int) -> SSAValue:
    return images.depth_to_space(b, x, block_size)


def space_to_depth(b: Builder, x: SSAValue, *, block_size: int) -> SSAValue:
    return images.space_to_depth(b, x, block_size)


def space_to_batch_nd(b: TfliteBuilder, x: SSAValue, block_shape: SSAValue, paddings: SSAValue) -> SSAValue:
    return images.space_to_batch(b, x, b.ints(block_shape, "block shape"), _margins(b, paddings, "paddings"), float(b.zero))


def batch_to_space_nd(b: Builder, x: SSAValue, block_shape: SSAValue, crops: SSAValue) -> SSAValue:
    return images.batch_to_space(b, x, b.ints(block_shape, "block shape"), _margins(b, crops, "crops"))


def _margins(b: Builder, value: SSAValue, what: str) -> list[tuple[int, int]]:
    found = b.need(value, what)
    if found.ndim != 2 or found.shape[1] != 2 or found.dtype.kind not in "iu":
        raise Error("E0203", f"{what} must be pairs of integers, not {found.dtype}{list(found.shape)}")
    return [(int(low), int(high)) for low, high in found.tolist()]


def local_response_normalization(b: Builder, x: SSAValue, *, radius: int, bias: float, alpha: float, beta: float) -> SSAValue:
    return images.local_response_norm(b, x, radius, bias, alpha, beta)


ROWS: Rows = {
    "CONV_2D": fused(conv_2d),
    "DEPTHWISE_CONV_2D": fused(depthwise_conv_2d),
    "TRANSPOSE_CONV": fused(transpose_conv),
    "CUSTOM:Convolution2DTransposeBias": transpose_conv_bias,
    "CONV_3D": fused(conv_3d),
    "CONV_3D_TRANSPOSE": fused(conv_3d_transpose),
    "FULLY_CONNECTED": fused(fully_connected),
    "AVERAGE_POOL_2D": fused(average_pool_2d),
    "MAX_POOL_2D": fused(max_pool_2d),
    "L2_POOL_2D": fused(l2_pool_2d),
    "RESIZE_BILINEAR": resize_bilinear,
    "RESIZE_NEAREST_NEIGHBOR": resize_nearest_neighbor,
    "DEPTH_TO_SPACE": depth_to_space,
    "SPACE_TO_DEPTH": space_to_depth,
    "SPACE_TO_BATCH_ND": space_to_batch_nd,
    "BATCH_TO_SPACE_ND": batch_to_space_nd,
    "LOCAL_RESPONSE_NORMALIZATION": local_response_normalization,
}
CODES.update({"MAX_POOL_2D", "RESIZE_NEAREST_NEIGHBOR", "DEPTH_TO_SPACE", "SPACE_TO_DEPTH", "SPACE_TO_BATCH_ND", "BATCH_TO_SPACE_ND"})
