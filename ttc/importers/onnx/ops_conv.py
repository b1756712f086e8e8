"""Convolutions and pools over one or two spatial dimensions."""

from __future__ import annotations

from typing import TypeAlias

from xdsl.ir import SSAValue

from ttc.dialects.core.errors import Error
from ttc.importers.onnx.builder import Builder
from ttc.importers.onnx.unsupported import Unsupported
from ttc.importers.onnx.windows import lift, lower, pool_attrs, spatial_rank, split_pads, window

Ints: TypeAlias = tuple[int, ...]


def conv_1(
    b: Builder,
    x: SSAValue,
    w: SSAValue,
    bias: SSAValue | None = None,
    *,
    auto_pad: str = "NOTSET",
    dilations: Ints = (),
    group: int = 1,
    kernel_shape: Ints = (),
    pads: Ints = (),
    strides: Ints = (),
) -> SSAValue:
    """x[n, c, spatial...] with w[o, c / group, kernel...]."""
    rank = spatial_rank(b, x)
    kernel = _kernel(b, w, rank, kernel_shape)
    win = window(b, x, kernel, strides, dilations, pads, auto_pad)
    y = b.nn(
        "conv2d",
        lift(b, x),
        lift(b, w),
        bias,
        strides=win.strides,
        pads=win.pads,
        dilations=win.dilations,
        groups=group,
        layout="nchw",
    )
    return lower(b, y, rank)


def conv_transpose_1(
    b: Builder,
    x: SSAValue,
    w: SSAValue,
    bias: SSAValue | None = None,
    *,
    auto_pad: str = "NOTSET",
    dilations: Ints = (),
    group: int = 1,
    kernel_shape: Ints = (),
    output_padding: Ints = (),
    output_shape: Ints = (),
    pads: Ints = (),
    strides: Ints = (),
) -> SSAValue:
    """x[n, c, spatial...] with w[c, o / group, kernel...]; output_shape asks for a size instead of pads."""
    rank = spatial_rank(b, x)
    kernel = _kernel(b, w, rank, kernel_shape)
    strides, output_padding = strides or (1,) * rank, output_padding or (0,) * rank
    sizes = b.shape(x)[2:]
    if auto_pad.startswith("SAME") and not output_shape and len(strides) == rank:
        output_shape = tuple(size * s for size, s in zip(sizes, strides, strict=True))
    if output_shape:
        pads = _pads_for(sizes, output_shape[-rank:], kernel, strides, dilations or (1,) * rank, output_padding, auto_pad)
    rule = "VALID" if auto_pad == "VALID" and not output_shape else "NOTSET"
    win = window(b, x, kernel, strides, dilations, pads, rule)
    if len(output_padding) != rank or not all(0 <= p < 1 << 24 for p in output_padding):
        raise Error("E0402", f"output_padding {output_padding} does not fit {rank} spatial dimensions")
    y = b.nn(
        "conv_transpose2d",
        lift(b, x),
        lift(b, w),
        bias,
        strides=win.strides,
        pads=win.pads,
        output_padding=(0, *output_padding)[-2:],
        dilations=win.dilations,
        groups=group,
        layout="nchw",
    )
    return lower(b, y, rank)


def _kernel(b: Builder, w: SSAValue, rank: int, kernel_shape: Ints) -> Ints:
    """The weight's kernel, which kernel_shape may only repeat."""
    shape = b.shape(w)
    if len(shape) != rank + 2 or (kernel_shape and kernel_shape != shape[2:]):
        raise Error("E0401", f"weight {list(shape)} does not fit {rank} spatial dimensions and kernel_shape {list(kernel_shape)}")
    return shape[2:]


def _pads_for(sizes: Ints, wanted: Ints, kernel: Ints, strides: Ints, dilations: Ints, extra: Ints, auto_pad: str) -> Ints:
    """Pads of a transposed convolution that make its result of the wanted size."""
    if len({len(x) for x in (sizes, wanted, kernel, strides, dilations, extra)}) != 1:
        raise Error("E0402", f"output_shape {wanted}, strides {strides} or dilations {dilations} do not fit {len(sizes)} dimensions")
    rows = zip(sizes, wanted, kernel, strides, dilations, extra, strict=True)
    totals = [(size - 1) * s + e + (k - 1) * d + 1 - want for size, want, k, s, d, e in rows]
    if min(totals) < 0:
        raise Unsupported("output_shape beyond what the windows reach")
    return split_pads(totals, upper=auto_pad == "SAME_UPPER")


def max_pool_1(
    b: Builder,
    x: SSAValue,
    *,
    auto_pad: str = "NOTSET",
    ceil_mode: int = 0,
    dilations: Ints = (),
    kernel_shape: Ints,
    pads: Ints = (),
    storage_order: int = 0,
    strides: Ints = (),
) -> SSAValue:
    """storage_order is about the indices, a second result that is not supported."""
    rank = spatial_rank(b, x)
    win = window(b, x, kernel_shape, strides, dilations, pads, auto_pad)
    return lower(b, b.nn("max_pool2d", lift(b, x), **pool_attrs(win, ceil_mode)), rank)


def average_pool_7(
    b: Builder,
    x: SSAValue,
    *,
    auto_pad: str = "NOTSET",
    ceil_mode: int = 0,
    count_include_pad: int = 0,
    dilations: Ints = (),
    kernel_shape: Ints,
    pads: Ints = (),
    strides: Ints = (),
) -> SSAValue:
    rank = spatial_rank(b, x)
    win = window(b, x, kernel_shape, strides, dilations, pads, auto_pad)
    y = b.nn("avg_pool2d", lift(b, x), **pool_attrs(win, ceil_mode), count_include_pad=bool(count_include_pad))
    return lower(b, y, rank)


def global_average_pool_1(b: Builder, x: SSAValue) -> SSAValue:
    return _global(b, "reduce_mean", x)


def global_max_pool_1(b: Builder, x: SSAValue) -> SSAValue:
    return _global(b, "reduce_max", x)


def _global(b: Builder, op: str, x: SSAValue) -> SSAValue:
    """Over all spatial dimensions."""
    rank = len(b.shape(x))
    if rank < 3:
        raise Error("E0401", f"needs a spatial dimension, not {b.spec(x)}")
    return b.nn(op, x, axes=tuple(range(2, rank)), keepdims=True)
