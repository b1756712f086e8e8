"""Convolutions and pools, with channels where the op has them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.kernels.windows import Window, channels_last, windows
from ttc.exporters.stablehlo.literals import HloValue, integer, integers, pairs
from ttc.exporters.stablehlo.regions import combining
from ttc.exporters.stablehlo.rules import HLO_RULES
from ttc.exporters.stablehlo.rules.activation import with_activation
from ttc.exporters.stablehlo.writer import HloWriter

IMAGES = {"nhwc": "[b, 0, 1, f]", "nchw": "[b, f, 0, 1]"}
KERNELS = {"nhwc": "[0, 1, i, o]", "nchw": "[o, i, 0, 1]"}
"""Dimensions by layout: batch, features, and the two of the image; of kernels in, out, and the two of the image."""
TURNED = {"nhwc": "[0, 1, o, i]", "nchw": "[i, o, 0, 1]"}
"""The dimensions of kernels of transposed convolutions."""


@HLO_RULES.rule("conv2d")
def conv2d(step: HloWriter) -> HloValue:
    """Write a convolution, its bias and its activation behind it."""
    top, left, bottom, right = step.attr("pads")
    window = {
        "window_strides": integers(step.attr("strides")),
        "padding": pairs([(top, bottom), (left, right)]),
        "rhs_dilation": integers(step.attr("dilations")),
    }
    return _convolved(step, step.x(1), KERNELS[step.attr("layout")], window, step.attr("groups"))


@HLO_RULES.rule("conv_transpose2d")
def conv_transpose2d(step: HloWriter) -> HloValue:
    """Write a transposed convolution: one with the kernel in reverse over an image with gaps."""
    layout, groups, kernel = step.attr("layout"), step.attr("groups"), step.x(1)
    places = (0, 1) if layout == "nhwc" else (2, 3)
    moves = windows([kernel.shape[place] for place in places], step.attr("strides"), step.attr("pads"), step.attr("dilations"))
    margins = [
        (move.extent - 1 - move.before, move.extent - 1 - move.after + extra)
        for move, extra in zip(moves, step.attr("output_padding"), strict=True)
    ]
    window = {
        "padding": pairs(margins),
        "lhs_dilation": integers(step.attr("strides")),
        "rhs_dilation": integers(step.attr("dilations")),
    }
    return _convolved(step, _by_groups(step, step.reverse(kernel, places), groups), TURNED[layout], window, groups)


def _by_groups(step: HloWriter, kernel: HloValue, groups: int) -> HloValue:
    """Write a kernel of all inputs and the outputs of a group as one of the inputs of a group and all outputs."""
    if groups == 1:
        return kernel
    if step.attr("layout") == "nhwc":
        rows, columns, outputs, inputs = kernel.shape
        apart = step.reshape(kernel, (rows, columns, outputs, groups, inputs // groups))
        return step.reshape(step.transpose(apart, (0, 1, 3, 2, 4)), (rows, columns, groups * outputs, inputs // groups))
    inputs, outputs, rows, columns = kernel.shape
    apart = step.reshape(kernel, (groups, inputs // groups, outputs, rows, columns))
    return step.reshape(step.transpose(apart, (1, 0, 2, 3, 4)), (inputs // groups, groups * outputs, rows, columns))


def _convolved(step: HloWriter, kernel: HloValue, dims: str, window: Mapping[str, str], groups: int) -> HloValue:
    image = IMAGES[step.attr("layout")]
    attrs = {
        **window,
        "dimension_numbers": f"#stablehlo.conv<{image}x{dims}->{image}>",
        "feature_group_count": integer(groups),
        "batch_group_count": integer(1),
    }
    made = step.make("convolution", step.x(0), kernel, shape=step.out, attrs=attrs)
    if step.has(2):
        made = step.make("add", made, step.spread(step.x(2), step.out, [image.split(", ").index("f") if "f," in image else 3]))
    return with_activation(step, made)


@HLO_RULES.rule("max_pool2d")
def max_pool2d(step: HloWriter) -> HloValue:
    """Write a pool of largest elements."""
    least = -np.inf if step.out_dtype.kind not in "iu" else np.iinfo(step.out_dtype).min
    return _pooled(step, "maximum", least)


@HLO_RULES.rule("avg_pool2d")
def avg_pool2d(step: HloWriter) -> HloValue:
    """Write a pool of sums divided by the elements that each window counts."""
    total = _pooled(step, "add", 0)
    places, moves = _places(step), _moves(step)
    rows, columns = (
        _counts(step.x().shape[place], count, move, bool(step.attr("count_include_pad")))
        for place, count, move in zip(places, (step.out[place] for place in places), moves, strict=True)
    )
    counts = step.constant(np.outer(rows, columns), step.out_dtype)
    return step.make("divide", total, step.spread(counts, step.out, places))


def _places(step: HloWriter) -> tuple[int, int]:
    """Return where height and width are."""
    _, rows, columns, _ = channels_last(range(4), step.attr("layout"))
    return rows, columns


def _moves(step: HloWriter) -> tuple[Window, Window]:
    kernel, strides, pads, dilations = (step.attr(name) for name in ("kernel", "strides", "pads", "dilations"))
    return windows(kernel, strides, pads, dilations, bool(step.attr("ceil_mode")))


def _pooled(step: HloWriter, op: str, first: float) -> HloValue:
    """Write windows reduced by an op; margins hold its neutral element, and reach as far as the last windows."""
    sizes, strides, dilations, margins = [1] * 4, [1] * 4, [1] * 4, [(0, 0)] * 4
    for place, move in zip(_places(step), _moves(step), strict=True):
        sizes[place], strides[place], dilations[place] = move.kernel, move.stride, move.dilation
        beyond = move.reach(step.out[place]) - step.x().shape[place] - move.before
        margins[place] = (move.before, max(beyond, move.after if not move.ceil else beyond))
    attrs = {
        "window_dimensions": integers(sizes),
        "window_strides": integers(strides),
        "window_dilations": integers(dilations),
        "padding": pairs(margins),
    }
    start = step.constant(first, step.out_dtype)
    return step.make("reduce_window", step.x(), start, shape=step.out, attrs=attrs, region=combining(op, step.out_dtype))


def _counts(size: int, count: int, move: Window, include_pad: bool) -> NDArray[np.int64]:
    """Return how many taps of each window count, at least 1."""
    taps = np.arange(count)[:, None] * move.stride + np.arange(move.kernel) * move.dilation - move.before
    low, high = (-move.before, size + move.after) if include_pad else (0, size)
    return np.maximum(((taps >= low) & (taps < high)).sum(axis=1), 1)
