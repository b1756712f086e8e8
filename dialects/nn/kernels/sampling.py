"""Numpy semantics of ops that read images at computed positions."""

from __future__ import annotations

from itertools import product
from math import ceil

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.errors import Error
from ttc.dialects.core.kernels.resampling import cubic_kernel
from ttc.dialects.nn.kernels import KERNELS

_CUBIC = -0.75
_OFFSETS = {"nearest": (0,), "linear": (0, 1), "cubic": (-1, 0, 1, 2)}
_MAX_BIN = 1 << 10


@KERNELS.rule("grid_sample")
def grid_sample(x: NDArray, grid: NDArray, *, mode: str, padding: str, align_corners: bool) -> NDArray:
    """x[n, c, spatial...] read at the normalized positions grid[n, out..., k], whose last entry is that of x's first spatial dimension."""
    sizes = x.shape[2:]
    columns: list[tuple[NDArray, NDArray]] = []
    for axis, size in enumerate(sizes):
        at = _denormalized(grid[..., len(sizes) - 1 - axis], size, align_corners)
        at = np.rint(at) if mode == "nearest" else at
        at = _brought_inside(np.nan_to_num(at, nan=-1.0), size, mode, padding, align_corners)
        columns.append(_neighbours(at, size, mode, padding, align_corners))
    batch = np.arange(x.shape[0]).reshape(-1, *(1,) * (grid.ndim - 2))
    total = np.zeros((x.shape[0], *grid.shape[1:-1], x.shape[1]), x.dtype)
    for corner in product(range(len(_OFFSETS[mode])), repeat=len(sizes)):
        weight = np.prod([w[..., k] for k, (_, w) in zip(corner, columns, strict=True)], axis=0).astype(x.dtype)
        places = tuple(p[..., k] for k, (p, _) in zip(corner, columns, strict=True))
        total += x[(batch, slice(None), *places)] * weight[..., None]
    return np.moveaxis(total, -1, 1)


def _denormalized(at: NDArray, size: int, align_corners: bool) -> NDArray:
    """Return positions in elements of those in [-1, 1]."""
    wide = at.astype(np.float64)
    return (wide + 1) / 2 * (size - 1) if align_corners else ((wide + 1) * size - 1) / 2


def _brought_inside(at: NDArray, size: int, mode: str, padding: str, align_corners: bool) -> NDArray:
    """Positions beyond the border clamped or reflected; very far ones end just beyond it.  Of cubic ones their neighbours are clamped."""
    low, high = (0.0, size - 1.0) if align_corners else (-0.5, size - 0.5)
    if padding == "reflection":
        return np.where((at < low) | (at > high), _reflected(at, low, high), at)
    if padding == "border" and mode != "cubic":
        return np.where((at < low) | (at > high), np.clip(at, 0, size - 1), at)
    return np.clip(at, -4.0, size + 4.0)


def _reflected(at: NDArray, low: float, high: float) -> NDArray:
    """Positions reflected at both ends until they are inside."""
    span = high - low
    if span <= 0:
        return np.full_like(at, low)
    far = np.mod(at - low, 2 * span)
    return low + np.where(far > span, 2 * span - far, far)


def _neighbours(at: NDArray, size: int, mode: str, padding: str, align_corners: bool) -> tuple[NDArray, NDArray]:
    """Return places inside the dimension and weights of the neighbours of each position: [..., k] each."""
    base = np.floor(at)
    places = base[..., None] + np.array(_OFFSETS[mode])
    distance = np.abs(places - at[..., None])
    if mode == "nearest":
        weights = np.ones_like(places)
    else:
        weights = 1 - distance if mode == "linear" else cubic_kernel(distance, _CUBIC)
    if padding == "zeros":
        weights = np.where((places >= 0) & (places < size), weights, 0.0)
    elif padding == "reflection":
        low, high = (0.0, size - 1.0) if align_corners else (-0.5, size - 0.5)
        places = np.where((places < low) | (places > high), np.trunc(_reflected(places, low, high)), places)
    return np.clip(places, 0, size - 1).astype(np.int64), weights


@KERNELS.rule("roi_align")
def roi_align(
    x: NDArray, rois: NDArray, batch_indices: NDArray, *, size: tuple[int, ...], samples: int, scale: float, offset: float, mode: str
) -> NDArray:
    """Regions rois[r] = left, top, right, bottom of images as size[0] x size[1] bins, of samples x samples points each."""
    if np.any((batch_indices < 0) | (batch_indices >= x.shape[0])):
        raise Error("E0802", f"a region names an image that is not among the {x.shape[0]} given")
    result = np.zeros((len(rois), x.shape[1], *size), x.dtype)
    for r, roi in enumerate(rois.astype(np.float64) * scale - offset):
        least = 0.0 if offset else 1.0
        height, width = (max(roi[3] - roi[1], least), max(roi[2] - roi[0], least))
        rows = _bin_points(roi[1], height, size[0], samples, x.shape[2])
        columns = _bin_points(roi[0], width, size[1], samples, x.shape[3])
        result[r] = _pooled(x[batch_indices[r]], rows, columns, mode)
    return result


def _bin_points(start: float, length: float, bins: int, samples: int, size: int) -> tuple[NDArray, NDArray]:
    """Return, for the points of each bin along one dimension, their two neighbours and the weights of these: [bins, points, 2] each."""
    step = length / bins
    points = samples or max(ceil(step), 0) if np.isfinite(step) else _MAX_BIN + 1
    if points > _MAX_BIN:
        raise Error("E0802", f"a region takes {points} points a bin or more: {_MAX_BIN} are possible")
    at = start + np.arange(bins)[:, None] * step + (np.arange(points) + 0.5) * step / max(points, 1)
    inside = (at >= -1) & (at <= size)
    at = np.clip(at, 0, size - 1)
    low = np.floor(at).astype(np.int64)
    high = np.minimum(low + 1, size - 1)
    weights = np.stack([1 - (at - low), at - low], axis=-1) * inside[..., None]
    return np.stack([low, high], axis=-1), weights


def _pooled(image: NDArray, rows: tuple[NDArray, NDArray], columns: tuple[NDArray, NDArray], mode: str) -> NDArray:
    """[c, bins, bins] of image[c, h, w]: the mean over points of weighted neighbours' sums, or the largest weighted neighbour."""
    (y, wy), (x, wx) = rows, columns
    if 0 in (*y.shape, *x.shape):
        return np.zeros((image.shape[0], y.shape[0], x.shape[0]), image.dtype)
    flat = image[:, y.reshape(-1, 1), x.reshape(1, -1)].reshape(image.shape[0], *y.shape, *x.shape)  # [c, by, py, 2, bx, px, 2]
    weighted = flat * (wy[:, :, :, None, None, None] * wx).astype(image.dtype)
    if mode == "max":
        return weighted.max(axis=(2, 3, 5, 6))
    return weighted.sum(axis=(2, 3, 5, 6)) / image.dtype.type(y.shape[1] * x.shape[1])


@KERNELS.rule("deform_conv")
def deform_conv(
    x: NDArray,
    w: NDArray,
    offset: NDArray,
    mask: NDArray | None = None,
    *,
    strides: tuple[int, ...],
    dilations: tuple[int, ...],
    pads: tuple[int, ...],
    groups: int,
    offset_groups: int,
) -> NDArray:
    """Taps at their own places, moved by offsets, read by linear interpolation and summed with the weights."""
    n, channels = x.shape[:2]
    height, width = w.shape[2:]
    size = offset.shape[2:]
    moved = offset.reshape(n, offset_groups, height * width, 2, *size)
    images = x.reshape(n, offset_groups, channels // offset_groups, *x.shape[2:])
    columns = np.empty((n, offset_groups, channels // offset_groups, height * width, *size), x.dtype)
    for tap, (i, j) in enumerate(product(range(height), range(width))):
        down = np.arange(size[0])[:, None] * strides[0] - pads[0] + i * dilations[0] + moved[:, :, tap, 0]
        right = np.arange(size[1]) * strides[1] - pads[1] + j * dilations[1] + moved[:, :, tap, 1]
        columns[:, :, :, tap] = _interpolated(images, down, right)
    if mask is not None:
        columns *= mask.reshape(n, offset_groups, 1, height * width, *size)
    parts = columns.reshape(n, groups, channels // groups * height * width, size[0] * size[1])
    weights = w.reshape(groups, w.shape[0] // groups, parts.shape[2])
    return np.matmul(weights, parts).reshape(n, w.shape[0], *size)


def _interpolated(images: NDArray, down: NDArray, right: NDArray) -> NDArray:
    """images[n, g, c, h, w] read at [n, g, a, b] places: [n, g, c, a, b]; 0 beyond the border."""
    height, width = images.shape[3:]
    down, right = (np.clip(np.nan_to_num(v, nan=-2.0), -2, size + 1) for v, size in ((down, height), (right, width)))
    top, left = np.floor(down).astype(np.int64), np.floor(right).astype(np.int64)
    first, second = (np.arange(images.shape[i]).reshape(-1, *(1,) * (3 - i)) for i in (0, 1))
    total = np.zeros((*down.shape, images.shape[2]), images.dtype)
    for i, j in product((0, 1), repeat=2):
        row, column = top + i, left + j
        inside = (row >= 0) & (row < height) & (column >= 0) & (column < width)
        weight = (1 - np.abs(down - row)) * (1 - np.abs(right - column)) * inside
        found = images[first, second, :, np.clip(row, 0, height - 1), np.clip(column, 0, width - 1)]
        total += found * weight[..., None].astype(images.dtype)
    return np.moveaxis(total, -1, 2)
