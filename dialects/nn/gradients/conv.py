"""Gradients of convolutions: transposed convolutions for images, convolutions with images and channels exchanged for filters.

`of_images` and `of_filters` hold for any number of spatial dimensions; what a convolution over these is made of is given to them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from xdsl.ir import SSAValue

from ttc.dialects.nn.gradients.base import Cotangents, GradientSite, Ints, elements, gradient, total
from ttc.dialects.nn.gradients.elementwise import before_activation
from ttc.dialects.nn.making import OpMaker, filled
from ttc.dialects.nn.window import SpatialWindow

Convolve: TypeAlias = Callable[[SSAValue, SSAValue, SpatialWindow, int], SSAValue]
"""The convolution of images [n, c, spatial...] with filters [o, c / groups, kernel...], given the window and the number of groups."""
Transpose: TypeAlias = Callable[[SSAValue, SSAValue, SpatialWindow, Ints, int], SSAValue]
"""The transposed one with filters [c, o / groups, kernel...], given elements at the end beyond the windows, too, by dimension."""


def of_images(b: OpMaker, dy: SSAValue, filters: SSAValue, win: SpatialWindow, sizes: Ints, groups: int, transpose: Transpose) -> SSAValue:
    """Return the cotangent of images of these sizes: the transposed convolution, with zeros where no window came to lie."""
    rank = len(sizes)
    full = [(n - 1) * s + r for n, s, r in zip(b.shape(dy)[2:], win.strides, win.reach(), strict=True)]
    rows = zip(sizes, win.pads[:rank], win.pads[rank:], full, strict=True)
    lacking = tuple(max(size + before + after - have, 0) for size, before, after, have in rows)
    y = transpose(dy, filters, win, lacking, groups)
    return cut_or_padded(b, y, (*b.shape(y)[: b.rank(y) - rank], *sizes))


def of_filters(b: OpMaker, images: SSAValue, dy: SSAValue, win: SpatialWindow, groups: int, convolve: Convolve) -> SSAValue:
    """dw[o, c, k...] = sum over n and i of images[n, c, i * stride + k * dilation - pad] dy[n, o, i]: a convolution in which samples
    are the channels, and steps between taps and between windows change places."""
    n, channels, *sizes = b.shape(images)
    depth = channels // groups
    if not elements(b.shape(dy)) or not elements(b.shape(images)):
        return filled(b, 0.0, dy, (b.shape(dy)[1], depth, *win.kernel))
    turned = b.nn("transpose", b.reshape(images, n, groups, depth, elements(sizes)), perm=(2, 1, 0, 3))
    turned = b.reshape(turned, depth, groups * n, *sizes)
    order = (1, 0, *range(2, len(sizes) + 2))
    swapped = SpatialWindow(b.shape(dy)[2:], win.dilations, win.strides, win.pads)
    found = convolve(turned, b.nn("transpose", dy, perm=order), swapped, groups)
    return b.nn("transpose", cut_or_padded(b, found, (*b.shape(found)[:2], *win.kernel)), perm=order)


def cut_or_padded(b: OpMaker, x: SSAValue, shape: Ints) -> SSAValue:
    """Return the beginning of x of that shape, with zeros where x ends before it."""
    have = b.shape(x)
    least = tuple(map(min, have, shape))
    if least != have:
        x = b.nn("slice", x, starts=(0,) * len(have), sizes=least, steps=(1,) * len(have))
    if least == shape:
        return x
    margins = tuple(want - size for want, size in zip(shape, least, strict=True))
    return b.nn("pad", x, before=(0,) * len(shape), after=margins, value=0.0, mode="constant")


def _window(kernel: Ints, attrs: dict[str, Any]) -> SpatialWindow:
    return SpatialWindow(kernel, attrs["strides"], attrs["dilations"], attrs["pads"])


def _attrs(win: SpatialWindow, groups: int) -> dict[str, Any]:
    return {"strides": win.strides, "pads": win.pads, "dilations": win.dilations, "groups": groups, "layout": "nchw"}


def _convolve(b: OpMaker) -> Convolve:
    return lambda x, w, win, groups: b.nn("conv2d", x, w, None, **_attrs(win, groups))


def _transpose(b: OpMaker) -> Transpose:
    return lambda x, w, win, extra, groups: b.nn("conv_transpose2d", x, w, None, output_padding=extra, **_attrs(win, groups))


def _nchw(b: OpMaker, x: SSAValue, layout: str) -> SSAValue:
    """Images with their channels before their rows."""
    return x if layout == "nchw" else b.nn("transpose", x, perm=(0, 3, 1, 2))


def _filters(b: OpMaker, w: SSAValue, layout: str) -> SSAValue:
    """Filters [a, b, kh, kw]."""
    return w if layout == "nchw" else b.nn("transpose", w, perm=(3, 2, 0, 1))


def _back(b: OpMaker, site: GradientSite, of_x: SSAValue | None, of_w: SSAValue | None, dy: SSAValue) -> Cotangents:
    """Cotangents in the op's layout; that of the bias is the sum of dy, which has its channels before its rows."""
    if site.attrs["layout"] == "nhwc":
        of_x = None if of_x is None else b.nn("transpose", of_x, perm=(0, 2, 3, 1))
        of_w = None if of_w is None else b.nn("transpose", of_w, perm=(2, 3, 1, 0))
    return [of_x, of_w, total(b, dy, (0, 2, 3)) if site.wanted[2] else None]


@gradient("nn.conv2d")
def conv2d(b: OpMaker, site: GradientSite) -> Cotangents:
    """Return cotangents of images, filters and bias of a convolution; see `of_images` and `of_filters`."""
    layout, groups = site.attrs["layout"], site.attrs["groups"]
    dy = _nchw(b, before_activation(b, site), layout)
    w = _filters(b, site.operand(1), layout)
    win = _window(b.shape(w)[2:], site.attrs)
    of_x = of_w = None
    x = site.operand(0)
    if site.wanted[0]:
        sizes = b.shape(x)[2:] if layout == "nchw" else b.shape(x)[1:3]
        of_x = of_images(b, dy, w, win, sizes, groups, _transpose(b))
    if site.wanted[1]:
        of_w = of_filters(b, _nchw(b, x, layout), dy, win, groups, _convolve(b))
    return _back(b, site, of_x, of_w, dy)


@gradient("nn.conv_transpose2d")
def conv_transpose2d(b: OpMaker, site: GradientSite) -> Cotangents:
    """Return cotangents of a transposed convolution: of images, the convolution of dy with the filters; of filters as for a convolution, in
    which images and dy change places.
    """
    layout, groups = site.attrs["layout"], site.attrs["groups"]
    dy = _nchw(b, site.dy, layout)
    x, w = _nchw(b, site.operand(0), layout), _filters(b, site.operand(1), layout)
    win = _window(b.shape(w)[2:], site.attrs)
    of_x = of_w = None
    if site.wanted[0]:
        of_x = cut_or_padded(b, _convolve(b)(dy, w, win, groups), b.shape(x))
    if site.wanted[1]:
        of_w = of_filters(b, dy, x, win, groups, _convolve(b))
    return _back(b, site, of_x, of_w, dy)
