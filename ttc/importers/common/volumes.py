"""Pools and convolutions over three spatial dimensions, by those over two."""

from __future__ import annotations

from functools import reduce
from typing import Any

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.values import SSAValue
from ttc.importers.common.builder import Builder
from ttc.importers.common.unsupported import Unsupported
from ttc.importers.common.windows import SpatialWindow, pool_attrs

MAX_DEPTH_TAPS = 64
"""The most taps along the depth of a convolution, each of which becomes a convolution."""


def is_volume(b: Builder, x: SSAValue) -> bool:
    """Return whether x is [n, c, depth, height, width]."""
    return b.rank(x) == 5


def pool_volume(b: Builder, op: str, x: SSAValue, w: SpatialWindow, ceil_mode: int, **attrs: Any) -> SSAValue:
    """Return the pool of planes, then that of the depth: maxima and means over windows are separable, padding and ceil_mode included."""
    n, c, depth, height, width = b.shape(x)
    plane = SpatialWindow(w.kernel[1:], w.strides[1:], w.dilations[1:], (*w.pads[1:3], *w.pads[4:]))
    y = b.nn(op, b.reshape(x, n, c * depth, height, width), **pool_attrs(plane, ceil_mode), **attrs)
    height, width = b.shape(y)[2:]
    line = SpatialWindow((w.kernel[0], 1), (w.strides[0], 1), (w.dilations[0], 1), (w.pads[0], 0, w.pads[3], 0))
    y = b.nn(op, b.reshape(y, n, c, depth, height * width), **pool_attrs(line, ceil_mode), **attrs)
    return b.reshape(y, n, c, b.shape(y)[2], height, width)


def conv_volume(b: Builder, x: SSAValue, w: SSAValue, bias: SSAValue | None, win: SpatialWindow, groups: int) -> SSAValue:
    """Return the sum over the kernel's planes of their convolutions with the planes of x that they meet."""
    taps, reach = win.kernel[0], win.reach()[0]
    planes = _planes(b, x, win)
    count = (b.shape(planes)[1] - reach) // win.strides[0] + 1
    if taps > MAX_DEPTH_TAPS or win.strides[0] > 1 << 16:
        raise Unsupported(f"{taps} taps in depth")
    if count < 1:
        raise Error("E0401", f"no window fits {b.spec(x)}")
    attrs = {
        "strides": win.strides[1:],
        "pads": (*win.pads[1:3], *win.pads[4:]),
        "dilations": win.dilations[1:],
        "groups": groups,
        "layout": "nchw",
    }
    parts: list[SSAValue] = []
    for tap in range(taps):
        images = _slice(b, planes, 1, tap * win.dilations[0], count, win.strides[0])
        images = b.reshape(images, b.shape(images)[0] * count, *b.shape(images)[2:])
        plane = _slice(b, w, 2, tap, 1, 1)
        plane = b.reshape(plane, *b.shape(plane)[:2], *b.shape(plane)[3:])
        parts.append(b.nn("conv2d", images, plane, bias if tap == 0 else None, **attrs))
    y = reduce(lambda a, c: b.nn("add", a, c), parts)
    return b.nn("transpose", b.reshape(y, b.shape(x)[0], count, *b.shape(y)[1:]), perm=(0, 2, 1, 3, 4))


def conv_transpose_volume(
    b: Builder, x: SSAValue, w: SSAValue, bias: SSAValue | None, win: SpatialWindow, extra: tuple[int, ...], groups: int
) -> SSAValue:
    """Return the sum over the kernel's planes of their transposed convolutions with the planes of x, each put where its tap writes.

    extra: elements that the result has beyond the windows, by dimension.
    """
    n, _, depth, _, _ = b.shape(x)
    taps, stride, dilation = win.kernel[0], win.strides[0], win.dilations[0]
    if taps > MAX_DEPTH_TAPS or stride > 1 << 10:
        raise Unsupported(f"{taps} taps or strides of {stride} in depth")
    planes = b.nn("transpose", x, perm=(0, 2, 1, 3, 4))
    planes = b.reshape(planes, n * depth, *b.shape(planes)[2:])
    attrs = {
        "strides": win.strides[1:],
        "pads": (*win.pads[1:3], *win.pads[4:]),
        "output_padding": extra[1:],
        "dilations": win.dilations[1:],
        "groups": groups,
        "layout": "nchw",
    }
    parts: list[SSAValue] = []
    for tap in range(taps):
        plane = _slice(b, w, 2, tap, 1, 1)
        y = b.nn("conv_transpose2d", planes, b.reshape(plane, *b.shape(plane)[:2], *b.shape(plane)[3:]), None, **attrs)
        parts.append(_spread(b, b.reshape(y, n, depth, *b.shape(y)[1:]), stride, tap * dilation, (taps - 1 - tap) * dilation + extra[0]))
    y = reduce(lambda a, c: b.nn("add", a, c), parts)
    count = b.shape(y)[1] - win.pads[0] - win.pads[3]
    if count < 1:
        raise Error("E0401", f"pads {win.pads} leave nothing of {b.spec(x)}")
    y = b.nn("transpose", _slice(b, y, 1, win.pads[0], count, 1), perm=(0, 2, 1, 3, 4))
    return y if bias is None else b.nn("add", y, b.reshape(bias, b.spec(bias).elements, 1, 1, 1))


def _spread(b: Builder, x: SSAValue, stride: int, before: int, after: int) -> SSAValue:
    """x[n, depth, ...] with stride - 1 planes of 0 between its planes, and more at both ends."""
    n, depth, *rest = b.shape(x)
    if stride > 1:
        wide = b.nn("pad", b.reshape(x, n, depth, 1, *rest), before=(0,) * 6, after=(0, 0, stride - 1, 0, 0, 0), value=0.0, mode="constant")
        x = _slice(b, b.reshape(wide, n, depth * stride, *rest), 1, 0, (depth - 1) * stride + 1, 1)
    if not before and not after:
        return x
    return b.nn("pad", x, before=(0, before, 0, 0, 0), after=(0, after, 0, 0, 0), value=0.0, mode="constant")


def _planes(b: Builder, x: SSAValue, win: SpatialWindow) -> SSAValue:
    """[n, depth, c, height, width], the depth padded."""
    before, after = win.pads[0], win.pads[3]
    if before or after:
        x = b.nn("pad", x, before=(0, 0, before, 0, 0), after=(0, 0, after, 0, 0), value=0.0, mode="constant")
    return b.nn("transpose", x, perm=(0, 2, 1, 3, 4))


def _slice(b: Builder, x: SSAValue, axis: int, start: int, size: int, step: int) -> SSAValue:
    """Return a regular part of one dimension."""
    shape = b.shape(x)
    return b.nn(
        "slice",
        x,
        starts=tuple(start if i == axis else 0 for i in range(len(shape))),
        sizes=tuple(size if i == axis else d for i, d in enumerate(shape)),
        steps=tuple(step if i == axis and size > 1 else 1 for i in range(len(shape))),
    )
