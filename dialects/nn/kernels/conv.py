"""Numpy semantics of convolutions; all computed channels-last, with BLAS where there is a sum over channels."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import TypeAlias

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from ttc.dialects.core.kernels.epilogue import finish
from ttc.dialects.core.kernels.integers import sums_are_exact
from ttc.dialects.core.kernels.windows import Window, channels_last, window_counts, windows
from ttc.dialects.nn.kernels import KERNELS

Moves: TypeAlias = tuple[Window, Window]

_COLUMNS_BYTES = 4 << 20
"""Target size of a block of the column matrix: fits the last-level cache, gives BLAS enough rows."""
_TAPS_BYTES = 256 << 10
"""Target size of a block of rows of a depthwise convolution: sum and product stay in the second-level cache."""


@KERNELS.rule("conv2d")
def conv2d(
    x: NDArray,
    w: NDArray,
    bias: NDArray | None = None,
    *,
    strides: tuple[int, ...],
    pads: tuple[int, ...],
    dilations: tuple[int, ...],
    groups: int,
    layout: str,
    activation: str | None = None,
    activation_args: tuple[float, ...] = (),
) -> NDArray:
    """Compute activation(sum over taps and channels of x * w, + bias); integers go through float64 where that is exact."""
    x, w = _image_to_nhwc(x, layout), _filter_to_hwio(w, layout)
    if x.dtype.kind in "iu" and sums_are_exact(x, w, prod(w.shape[:3])):
        wide = conv2d(
            x.astype(np.float64), w.astype(np.float64), strides=strides, pads=pads, dilations=dilations, groups=groups, layout="nhwc"
        )
        return _image_from_nhwc(finish(wide.astype(np.int64).astype(x.dtype), bias, activation, activation_args), layout)
    moves = windows(w.shape[:2], strides, pads, dilations)
    shape = (x.shape[0], *window_counts(x.shape[1:3], moves), w.shape[3])
    if w.shape[:2] == (1, 1) and groups == 1 and not any(pads):
        y = np.matmul(x[:, :: strides[0], :: strides[1]].reshape(-1, x.shape[3]), w[0, 0]).reshape(shape)
    elif groups == x.shape[3] > 1:
        y = _depthwise(_padded(x, moves, shape), w, moves, shape)
    else:
        y = _general(_padded(x, moves, shape), w, moves, groups, shape)
    return _image_from_nhwc(finish(y, bias, activation, activation_args), layout)


@KERNELS.rule("conv_transpose2d")
def conv_transpose2d(
    x: NDArray,
    w: NDArray,
    bias: NDArray | None = None,
    *,
    strides: tuple[int, ...],
    pads: tuple[int, ...],
    output_padding: tuple[int, ...],
    dilations: tuple[int, ...],
    groups: int,
    layout: str,
) -> NDArray:
    """Add each input element's multiple of the filter to the result, `strides` apart: the transpose of conv2d."""
    x, w = _image_to_nhwc(x, layout), _filter_to_hwio(w, layout)
    (kh, kw, depth, channels), (n, h, width, _) = w.shape, x.shape
    rows, columns = windows((kh, kw), strides, pads, dilations)
    full = np.zeros((n, rows.reach(h) + output_padding[0], columns.reach(width) + output_padding[1], groups, depth), x.dtype)
    matrices = x.reshape(-1, groups, channels // groups).transpose(1, 0, 2)
    for i in range(kh):
        for j in range(kw):
            tap = w[i, j].reshape(depth, groups, -1).transpose(1, 2, 0)
            part = np.matmul(matrices, tap).transpose(1, 0, 2).reshape(n, h, width, groups, depth)
            full[:, _tap(rows, i, 0, h), _tap(columns, j, 0, width)] += part
    height, length = full.shape[1:3]
    y = full[:, rows.before : height - rows.after, columns.before : length - columns.after]
    y = np.ascontiguousarray(y.reshape(*y.shape[:3], groups * depth))
    return _image_from_nhwc(finish(y, bias, None, ()), layout)


# ---- layouts -----------------------------------------------------------------------------------------------------------------------


def _image_to_nhwc(x: NDArray, layout: str) -> NDArray:
    return np.ascontiguousarray(x.transpose(channels_last(range(4), layout)))


def _image_from_nhwc(y: NDArray, layout: str) -> NDArray:
    return y if layout == "nhwc" else np.ascontiguousarray(y.transpose(0, 3, 1, 2))


def _filter_to_hwio(w: NDArray, layout: str) -> NDArray:
    """[kh, kw, b, a] from itself (nhwc) or from [a, b, kh, kw] (nchw)."""
    return w if layout == "nhwc" else np.ascontiguousarray(w.transpose(2, 3, 1, 0))


def _padded(x: NDArray, moves: Moves, shape: tuple[int, ...]) -> NDArray:
    """x[n, h, w, c] with zeros around as far as the windows of a result of that shape reach."""
    n, h, w, c = x.shape
    rows, columns = moves
    height, width = max(rows.reach(shape[1]), rows.before + h), max(columns.reach(shape[2]), columns.before + w)
    if (height, width) == (h, w):
        return x
    padded = np.zeros((n, height, width, c), x.dtype)
    padded[:, rows.before : rows.before + h, columns.before : columns.before + w] = x
    return padded


def _tap(move: Window, index: int, start: int, count: int) -> slice:
    """The elements that one tap of `count` windows meets, from window `start` on."""
    first = index * move.dilation + start * move.stride
    return slice(first, first + (count - 1) * move.stride + 1, move.stride)


# ---- ways to compute ---------------------------------------------------------------------------------------------------------------


def _general(x: NDArray, w: NDArray, moves: Moves, groups: int, shape: tuple[int, ...]) -> NDArray:
    """Return blocks of the column matrix [group, window, tap and channel] times the filter [group, tap and channel, output]."""
    kh, kw, depth, outputs = w.shape
    inner = kh * kw * depth
    matrices = w.reshape(inner, groups, outputs // groups).transpose(1, 0, 2)
    view = _window_view(x, moves, (*shape[:3], kh, kw)).reshape(*shape[:3], kh, kw, groups, depth)
    y = np.empty(shape, x.dtype)
    for images, rows in _blocks(shape, max(1, shape[2] * inner * groups * x.itemsize)):
        block = view[images, rows].transpose(5, 0, 1, 2, 3, 4, 6).reshape(groups, -1, inner)
        result = y[images, rows].reshape(-1, groups, outputs // groups).transpose(1, 0, 2)
        np.matmul(block, matrices, out=result)
    return y


def _window_view(x: NDArray, moves: Moves, dims: tuple[int, ...]) -> NDArray:
    """Return a view [n, oh, ow, kh, kw, c] of x[n, h, w, c] that holds every window; `dims` without c."""
    n, h, w, c = x.strides
    rows, columns = moves
    strides = (n, h * rows.stride, w * columns.stride, h * rows.dilation, w * columns.dilation, c)
    return as_strided(x, (*dims, x.shape[3]), strides, writeable=False)


def _blocks(shape: tuple[int, ...], row_bytes: int) -> Iterator[tuple[slice, slice]]:
    """Images and rows of a result [n, oh, ow, o] in blocks: whole images, several if they are small, or rows of one image."""
    n, height = shape[:2]
    rows = max(1, min(height, _COLUMNS_BYTES // row_bytes))
    images = max(1, _COLUMNS_BYTES // (row_bytes * height)) if rows == height else 1
    for first in range(0, n, images):
        for top in range(0, height, rows):
            yield slice(first, first + images), slice(top, top + rows)


def _depthwise(x: NDArray, w: NDArray, moves: Moves, shape: tuple[int, ...]) -> NDArray:
    """Channel by channel: a sum over taps of shifted images, by blocks of rows."""
    kh, kw, _, outputs = w.shape
    x = x if outputs == x.shape[3] else np.repeat(x, outputs // x.shape[3], axis=3)
    n, height, width, _ = shape
    y = np.empty(shape, x.dtype)
    step = max(1, min(height, _TAPS_BYTES // max(1, width * outputs * x.itemsize)))
    product = np.empty((step, width, outputs), x.dtype)
    for image, top in np.ndindex(n, -(-height // step)):
        block = y[image, top * step : (top + 1) * step]
        block[...] = 0
        part = product[: len(block)]
        for i, j in np.ndindex(kh, kw):
            tap = x[image, _tap(moves[0], i, top * step, len(block)), _tap(moves[1], j, 0, width)]
            block += np.multiply(tap, w[i, j, 0], out=part)
    return y
