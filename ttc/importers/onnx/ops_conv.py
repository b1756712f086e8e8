"""Convolutions and pools over one to three spatial dimensions."""

from __future__ import annotations

from math import prod
from typing import TypeAlias

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.values import SSAValue
from ttc.importers.common.builder import Builder
from ttc.importers.common.convolution import convolution, pool, transposed_convolution
from ttc.importers.common.places import max_pool_places
from ttc.importers.common.volumes import is_volume
from ttc.importers.common.windows import flat_window, reaching_up, spatial_rank, split_pads
from ttc.importers.onnx.tables import MAPPINGS

Ints: TypeAlias = tuple[int, ...]


@MAPPINGS.rule("Conv-1")
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
    """Convolve x[n, c, spatial...] with w[o, c / group, kernel...]."""
    rank = 3 if is_volume(b, x) else spatial_rank(b, x)
    win = flat_window(b, x, _kernel(b, w, rank, kernel_shape), strides, dilations, pads, auto_pad)
    return convolution(b, x, w, bias, win, group)


@MAPPINGS.rule("ConvTranspose-1")
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
    """Convolve x[n, c, spatial...], transposed, with w[c, o / group, kernel...]; output_shape asks for a size instead of pads."""
    rank = 3 if is_volume(b, x) else spatial_rank(b, x)
    kernel = _kernel(b, w, rank, kernel_shape)
    strides, output_padding = strides or (1,) * rank, output_padding or (0,) * rank
    sizes = b.shape(x)[2:]
    if auto_pad.startswith("SAME") and not output_shape and len(strides) == rank:
        output_shape = tuple(size * s for size, s in zip(sizes, strides, strict=True))
    if output_shape:
        excess = _excess(sizes, output_shape[-rank:], kernel, strides, dilations or (1,) * rank, output_padding)
        pads = split_pads([max(e, 0) for e in excess], upper=auto_pad == "SAME_UPPER")
        output_padding = tuple(p + max(-e, 0) for p, e in zip(output_padding, excess, strict=True))
    rule = "VALID" if auto_pad == "VALID" and not output_shape else "NOTSET"
    flat = flat_window(b, x, kernel, strides, dilations, pads, rule)
    if len(output_padding) != rank or not all(0 <= p < 1 << 24 for p in output_padding):
        raise Error("E0402", f"output_padding {output_padding} does not fit {rank} spatial dimensions")
    return transposed_convolution(b, x, w, bias, flat, output_padding, group)


def _kernel(b: Builder, w: SSAValue, rank: int, kernel_shape: Ints) -> Ints:
    """Return the weight's kernel, which kernel_shape may only repeat."""
    shape = b.shape(w)
    if len(shape) != rank + 2 or (kernel_shape and kernel_shape != shape[2:]):
        raise Error("E0401", f"weight {list(shape)} does not fit {rank} spatial dimensions and kernel_shape {list(kernel_shape)}")
    return shape[2:]


def _excess(sizes: Ints, wanted: Ints, kernel: Ints, strides: Ints, dilations: Ints, extra: Ints) -> Ints:
    """By how much a transposed convolution without pads is larger than wanted."""
    if len({len(x) for x in (sizes, wanted, kernel, strides, dilations, extra)}) != 1:
        raise Error("E0402", f"output_shape {wanted}, strides {strides} or dilations {dilations} do not fit {len(sizes)} dimensions")
    rows = zip(sizes, wanted, kernel, strides, dilations, extra, strict=True)
    return tuple((size - 1) * s + e + (k - 1) * d + 1 - want for size, want, k, s, d, e in rows)


@MAPPINGS.rule("MaxPool-1")
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
) -> SSAValue | tuple[SSAValue, ...]:
    """Return the maxima and, if they are asked for, their places, which count columns first if storage_order is 1."""
    win = flat_window(b, x, kernel_shape, strides, dilations, pads, auto_pad)
    y = pool(b, "max_pool2d", x, win, ceil_mode)
    if not any(b.outputs[1:]):
        return y
    return y, max_pool_places(b, x, win, b.shape(y), ceil=bool(ceil_mode), column_major=bool(storage_order))


@MAPPINGS.rule("AveragePool-1")
def average_pool_1(
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
    win = flat_window(b, x, kernel_shape, strides, dilations, pads, auto_pad)
    return pool(b, "avg_pool2d", x, win, ceil_mode, count_include_pad=bool(count_include_pad))


@MAPPINGS.rule("LpPool-1")
def lp_pool_1(
    b: Builder, x: SSAValue, *, auto_pad: str = "NOTSET", kernel_shape: Ints, p: float = 2, pads: Ints = (), strides: Ints = ()
) -> SSAValue:
    return lp_pool_18(b, x, auto_pad=auto_pad, kernel_shape=kernel_shape, p=p, pads=pads, strides=strides)


@MAPPINGS.rule("LpPool-18")
def lp_pool_18(
    b: Builder,
    x: SSAValue,
    *,
    auto_pad: str = "NOTSET",
    ceil_mode: int = 0,
    dilations: Ints = (),
    kernel_shape: Ints,
    p: float = 2,
    pads: Ints = (),
    strides: Ints = (),
) -> SSAValue:
    """Return (sum |x|^p)^(1/p) over each window, the sum as a mean times the window's elements."""
    win = flat_window(b, x, kernel_shape, strides, dilations, pads, auto_pad)
    win = reaching_up(b.shape(x)[2:], win) if ceil_mode else win
    mean = pool(b, "avg_pool2d", _power(b, x, p), win, 0, count_include_pad=True)
    return _root(b, b.nn("mul", mean, b.scalar(prod(kernel_shape), x)), p)


@MAPPINGS.rule("GlobalLpPool-1")
def global_lp_pool_1(b: Builder, x: SSAValue, *, p: float = 2) -> SSAValue:
    return _root(b, _global(b, "reduce_sum", _power(b, x, p)), p)


def _power(b: Builder, x: SSAValue, p: float) -> SSAValue:
    """Return the power |x|^p, elementwise."""
    if p < 1:
        raise Error("E0402", f"p is at least 1, not {p}")
    return b.nn("mul", x, x) if p == 2 else b.nn("abs", x) if p == 1 else b.nn("pow", b.nn("abs", x), b.scalar(p, x))


def _root(b: Builder, x: SSAValue, p: float) -> SSAValue:
    return b.nn("sqrt", x) if p == 2 else x if p == 1 else b.nn("pow", x, b.scalar(1 / p, x))


@MAPPINGS.rule("GlobalAveragePool-1")
def global_average_pool_1(b: Builder, x: SSAValue) -> SSAValue:
    return _global(b, "reduce_mean", x)


@MAPPINGS.rule("GlobalMaxPool-1")
def global_max_pool_1(b: Builder, x: SSAValue) -> SSAValue:
    return _global(b, "reduce_max", x)


def _global(b: Builder, op: str, x: SSAValue) -> SSAValue:
    """Reduce x over all its spatial dimensions."""
    rank = b.rank(x)
    if rank < 3:
        raise Error("E0401", f"needs a spatial dimension, not {b.spec(x)}")
    return b.nn(op, x, axes=tuple(range(2, rank)), keepdims=True)
