"""Convolutions, transposed ones and pools over one to three spatial dimensions, channels first."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.values import SSAValue
from ttc.importers.common.builder import Builder
from ttc.importers.common.volumes import conv_transpose_volume, conv_volume, is_volume, pool_volume
from ttc.importers.common.windows import SpatialWindow, lift, lower, pool_attrs, reaching_up, spatial_rank, two_dimensional


def convolution(b: Builder, x: SSAValue, w: SSAValue, bias: SSAValue | None, flat: SpatialWindow, groups: int) -> SSAValue:
    """Convolve x[n, c, spatial...] with w[o, c / groups, kernel...]; the window has an entry a spatial dimension. Raises E0401,
    Unsupported.
    """
    if is_volume(b, x):
        return conv_volume(b, x, w, bias, flat, groups)
    rank, win = spatial_rank(b, x), two_dimensional(flat)
    y = b.nn(
        "conv2d",
        lift(b, x),
        lift(b, w),
        bias,
        strides=win.strides,
        pads=win.pads,
        dilations=win.dilations,
        groups=groups,
        layout="nchw",
    )
    return lower(b, y, rank)


def transposed_convolution(
    b: Builder, x: SSAValue, w: SSAValue, bias: SSAValue | None, flat: SpatialWindow, extra: tuple[int, ...], groups: int
) -> SSAValue:
    """Convolve x[n, c, spatial...], transposed, with w[c, o / groups, kernel...]; extra: elements at the end beyond the windows, by
    dimension.
    """
    if is_volume(b, x):
        return conv_transpose_volume(b, x, w, bias, flat, extra, groups)
    rank, win = spatial_rank(b, x), two_dimensional(flat)
    y = b.nn(
        "conv_transpose2d",
        lift(b, x),
        lift(b, w),
        bias,
        strides=win.strides,
        pads=win.pads,
        output_padding=(0, *extra)[-2:],
        dilations=win.dilations,
        groups=groups,
        layout="nchw",
    )
    return lower(b, y, rank)


def lacking(b: Builder, x: SSAValue, inner: Sequence[int], sizes: Sequence[int], flat: SpatialWindow) -> tuple[int, ...]:
    """Return elements at the end beyond the windows, by dimension, where a transposed convolution of x is to give these sizes.

    inner: x's own sizes.  Raises E0401 if windows do not reach them, or reach beyond them.
    """
    rank = len(flat.kernel)
    rows = zip(sizes, inner, flat.strides, flat.reach(), flat.pads[:rank], flat.pads[rank:], strict=True)
    found = tuple(size - ((count - 1) * step + reach - low - high) for size, count, step, reach, low, high in rows)
    if any(not 0 <= extra < step for extra, step in zip(found, flat.strides, strict=True)):
        raise Error("E0401", f"a transposed convolution of {b.spec(x)} with strides {list(flat.strides)} does not give {list(sizes)}")
    return found


def groups_of(channels: int, depth: int) -> int:
    """Return the groups of a convolution whose filters see that many of the channels. Raises E0401."""
    if depth < 1 or channels < 1 or channels % depth:
        raise Error("E0401", f"{channels} channels do not fall into groups of {depth}")
    return channels // depth


def pool(b: Builder, op: str, x: SSAValue, flat: SpatialWindow, ceil_mode: int, **attrs: Any) -> SSAValue:
    """Return the pool of that nn op over x[n, c, spatial...]."""
    if is_volume(b, x):
        return pool_volume(b, op, x, flat, ceil_mode, **attrs)
    rank = spatial_rank(b, x)
    return lower(b, b.nn(op, lift(b, x), **pool_attrs(two_dimensional(flat), ceil_mode), **attrs), rank)


def mean_pool(b: Builder, x: SSAValue, flat: SpatialWindow, *, ceil: bool, include_pad: bool, divisor: float | None) -> SSAValue:
    """Return means of windows, or sums over a divisor: windows that ceil lets reach out have as many elements as the others then."""
    if divisor is None:
        return pool(b, "avg_pool2d", x, flat, int(ceil), count_include_pad=include_pad)
    win = reaching_up(b.shape(x)[2:], flat) if ceil else flat
    mean = pool(b, "avg_pool2d", x, win, 0, count_include_pad=True)
    return b.nn("mul", mean, b.scalar(prod(win.kernel) / divisor, mean))
