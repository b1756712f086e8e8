"""Shapes of pools and resampled images."""

from __future__ import annotations

from ttc.dialects.core.kernels.windows import window_counts, windows
from ttc.runtime.engines.native.prepare.shape_rules import Floats, Ints, Shape, require


def max_pool2d(x: Shape, *, kernel: Ints, strides: Ints, pads: Ints, dilations: Ints, ceil_mode: bool) -> Shape:
    """[n, h', w', c]."""
    n, h, w, c = x
    return (n, *window_counts((h, w), windows(kernel, strides, pads, dilations, ceil_mode)), c)


def avg_pool2d(x: Shape, *, kernel: Ints, strides: Ints, pads: Ints, dilations: Ints, ceil_mode: bool, count_include_pad: bool) -> Shape:
    """[n, h', w', c]."""
    del count_include_pad
    return max_pool2d(x, kernel=kernel, strides=strides, pads=pads, dilations=dilations, ceil_mode=ceil_mode)


def resize(
    x: Shape,
    *,
    sizes: Ints,
    scales: Floats,
    window: Floats,
    mode: str,
    coordinates: str,
    rounding: str,
    cubic: float,
    exclude_outside: bool,
    antialias: bool,
    fill: float,
) -> Shape:
    """The one announced."""
    del mode, coordinates, rounding, cubic, exclude_outside, antialias, fill
    require(len(sizes) == len(scales) == len(x) and len(window) == 2 * len(x), "one size and scale a dimension")
    require(min((*x, *sizes), default=1) >= 1 and min(scales, default=1) > 0, "nothing to sample")
    return sizes


def grid_sample(x: Shape, grid: Shape, *, mode: str, padding: str, align_corners: bool) -> Shape:
    """[n, c, ...], the last as in the grid."""
    del mode, padding, align_corners
    require(len(x) == len(grid) >= 3 and grid[0] == x[0] and grid[-1] == len(x) - 2, "a grid of other positions")
    require(min(x) >= 1, "nothing to sample")
    return (*x[:2], *grid[1:-1])
