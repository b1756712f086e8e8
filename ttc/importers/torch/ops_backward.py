"""Gradients of convolutions, pools, resizes and weights of a given norm: ops of backward graphs that PyTorch takes no further apart."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
import torch

from ttc.dialects.core.ir.values import SSAValue
from ttc.dialects.core.kernels.windows import Window as Along
from ttc.dialects.nn.gradients.conv import cut_or_padded, of_filters, of_images
from ttc.dialects.nn.gradients.pool import along_axes, mean_matrix
from ttc.dialects.nn.gradients.resize import resized_back
from ttc.dialects.nn.window import SpatialWindow
from ttc.importers.common.convolution import convolution, transposed_convolution
from ttc.importers.torch.builder import TorchBuilder
from ttc.importers.torch.tables import Row, Rows

Ints = tuple[int, ...]


# ---- convolutions ---------------------------------------------------------------------------------------------------------------


def convolution_backward(
    b: TorchBuilder,
    grad_output: SSAValue,
    x: SSAValue,
    weight: SSAValue,
    bias_sizes: Ints | None,
    stride: Ints,
    padding: Ints,
    dilation: Ints,
    transposed: bool,
    output_padding: Ints,
    groups: int,
    output_mask: tuple[bool, bool, bool],
) -> tuple[SSAValue | None, ...]:
    """Return gradients of x[n, c, spatial...], weight[o, c / groups, kernel...] (transposed: [c, o / groups, kernel...]) and of the
    bias.
    """
    rank = b.rank(x) - 2
    stride, padding, dilation = (v * (rank if len(v) == 1 else 1) for v in (stride, padding, dilation))
    win = SpatialWindow(b.shape(weight)[2:], stride, dilation, (*padding, *padding))

    def convolve(x: SSAValue, w: SSAValue, flat: SpatialWindow, groups: int) -> SSAValue:
        return convolution(b, x, w, None, flat, groups)

    def transpose(x: SSAValue, w: SSAValue, flat: SpatialWindow, extra: Ints, groups: int) -> SSAValue:
        return transposed_convolution(b, x, w, None, flat, extra, groups)

    of_x = of_weight = of_bias = None
    if output_mask[0] and transposed:
        of_x = cut_or_padded(b, convolve(grad_output, weight, win, groups), b.shape(x))
    elif output_mask[0]:
        of_x = of_images(b, grad_output, weight, win, b.shape(x)[2:], groups, transpose)
    if output_mask[1]:
        images, filters = (grad_output, x) if transposed else (x, grad_output)
        of_weight = of_filters(b, images, filters, win, groups, convolve)
    if output_mask[2]:
        axes = (0, *range(2, rank + 2))
        of_bias = b.nn("reduce_sum", grad_output, axes=axes, keepdims=False)
    return of_x, of_weight, of_bias


# ---- pools ----------------------------------------------------------------------------------------------------------------------


def max_pool_backward(
    b: TorchBuilder,
    grad_output: SSAValue,
    x: SSAValue,
    kernel_size: Ints,
    stride: Ints,
    padding: Ints,
    dilation: Ints,
    ceil_mode: bool,
    indices: SSAValue,
) -> SSAValue:
    """Return the gradient of a max pool: each one is added where its maximum was."""
    return adaptive_max_pool_backward(b, grad_output, x, indices, len(kernel_size))


def adaptive_max_pool_backward(b: TorchBuilder, grad_output: SSAValue, x: SSAValue, indices: SSAValue, rank: int = 2) -> SSAValue:
    """Return the gradient of an adaptive max pool.  indices: places in the flattened image."""
    shape, pooled = b.shape(x), b.shape(grad_output)
    images = prod(shape[:-rank])
    zeros = b.nn("expand", b.scalar(0, grad_output), shape=(images, prod(shape[-rank:])))
    places, updates = (b.reshape(v, images, prod(pooled[-rank:])) for v in (indices, grad_output))
    return b.reshape(b.nn("scatter_elements", zeros, places, updates, axis=1, reduction="add"), *shape)


def avg_pool_backward(
    b: TorchBuilder,
    grad_output: SSAValue,
    x: SSAValue,
    kernel_size: Ints,
    stride: Ints,
    padding: Ints,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: int | None,
) -> SSAValue:
    """Return the gradient of an average pool: each one, over the elements of its window, added to all of them, one dimension after the
    other.
    """
    rank = len(kernel_size)
    padding = padding * (rank if len(padding) == 1 else 1)
    stride = stride * (rank if len(stride) == 1 else 1) or kernel_size
    sizes, counts = b.shape(x)[-rank:], b.shape(grad_output)[-rank:]
    rows = zip(sizes, counts, kernel_size, stride, padding, strict=True)
    matrices = [
        mean_matrix(size, count, Along(kernel, step, 1, pad, pad), include_pad=count_include_pad, divided=not divisor_override)
        for size, count, kernel, step, pad in rows
    ]
    y = along_axes(b, grad_output, matrices, b.rank(x) - rank)
    return y if not divisor_override else b.nn("div", y, b.scalar(divisor_override, y))


def adaptive_avg_pool_backward(b: TorchBuilder, grad_output: SSAValue, x: SSAValue, rank: int = 2) -> SSAValue:
    """Return the gradient of an adaptive average pool; window i of n covers elements floor(i size / n) to ceil((i + 1) size / n)."""
    matrices = []
    for size, count in zip(b.shape(x)[-rank:], b.shape(grad_output)[-rank:], strict=True):
        at = np.arange(count)[:, None]
        inside = (np.arange(size) >= at * size // count) & (np.arange(size) < -(-(at + 1) * size // count))
        matrices.append(inside / np.maximum(inside.sum(1, keepdims=True), 1))
    return along_axes(b, grad_output, matrices, b.rank(x) - rank)


# ---- resizing -------------------------------------------------------------------------------------------------------------------


def resize_backward(forward: str) -> Row:
    """Return a row for the gradient of an op of aten that resizes one dimension after the other: what it makes of unit vectors is its
    matrix along each.

    The row's arguments are the gradient, the sizes after and before, `align_corners` if the op has it, and a scale a dimension or None.
    """

    def row(b: TorchBuilder, grad_output: SSAValue, output_size: Ints, input_size: Ints, *settings: bool | float | None) -> SSAValue:
        rank = len(output_size)
        corners, scales = settings[: len(settings) - rank], settings[len(settings) - rank :]
        op = getattr(torch.ops.aten, forward).default
        matrices = []
        for axis, (old, new) in enumerate(zip(input_size[-rank:], output_size, strict=True)):
            units = torch.eye(old).reshape(1, old, *(old if i == axis else 1 for i in range(rank)))
            # all other sizes 2, and kept: PyTorch's antialiasing errs for images one pixel wide
            units = units.expand(1, old, *(old if i == axis else 2 for i in range(rank))).contiguous()
            made = op(units, [new if i == axis else 2 for i in range(rank)], *corners, *_only(scales, axis))
            line = made[(0, slice(None), *(slice(None) if i == axis else 0 for i in range(rank)))]
            matrices.append(line.numpy().T)
        return resized_back(b, grad_output, matrices, b.rank(grad_output) - rank)

    return row


def _only(scales: Sequence[bool | float | None], axis: int) -> list[bool | float | None]:
    return [scale if i == axis else None for i, scale in enumerate(scales)]


_RESIZED = (
    *(f"upsample_nearest{n}d" for n in (1, 2, 3)),
    *(f"_upsample_nearest_exact{n}d" for n in (1, 2, 3)),
    *("upsample_linear1d", "upsample_bilinear2d", "upsample_trilinear3d", "upsample_bicubic2d"),
    *("_upsample_bilinear2d_aa", "_upsample_bicubic2d_aa"),
)

# ---- weights --------------------------------------------------------------------------------------------------------------------


def weight_norm_backward(
    b: TorchBuilder, grad: SSAValue, direction: SSAValue, size: SSAValue, norms: SSAValue, dim: int
) -> tuple[SSAValue, SSAValue]:
    """Return gradients of direction and size, of which the weight is direction * size / norms; norms are over all dimensions but one."""
    rank = b.rank(direction)
    axes = tuple(axis for axis in range(rank) if axis != dim % rank)
    along = b.nn("div", b.nn("reduce_sum", b.nn("mul", grad, direction), axes=axes, keepdims=True), norms)
    turned = b.nn("sub", grad, b.nn("mul", direction, b.nn("div", along, norms)))
    return b.nn("mul", turned, b.nn("div", size, norms)), along


ROWS: Rows = {
    "aten.convolution_backward.default": convolution_backward,
    "aten.max_pool2d_with_indices_backward.default": max_pool_backward,
    "aten.max_pool3d_with_indices_backward.default": max_pool_backward,
    "aten.adaptive_max_pool2d_backward.default": adaptive_max_pool_backward,
    "aten.avg_pool2d_backward.default": avg_pool_backward,
    "aten.avg_pool3d_backward.default": avg_pool_backward,
    "aten._adaptive_avg_pool2d_backward.default": adaptive_avg_pool_backward,
    "aten._weight_norm_interface_backward.default": weight_norm_backward,
    **{f"aten.{op}_backward.default": resize_backward(op) for op in _RESIZED},
}
