"""Lowering of convolutions from tile to jobs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import gcd, prod

from ttc.dialects.core.kernels.windows import Window
from ttc.runtime.engines.native.graph.ranges import INTEGERS
from ttc.runtime.engines.native.graph.storage import Storage
from ttc.runtime.engines.native.graph.tensors import View, dense_strides
from ttc.runtime.engines.native.jobs.convolutions import (
    FEW_CHANNELS,
    Images,
    Result,
    WindowAxis,
    axes_of,
    convolve,
    framed,
    in_runs,
    matrices_of,
    pad,
    result_of,
)
from ttc.runtime.engines.native.jobs.copies import copy
from ttc.runtime.engines.native.jobs.depthwise import are_small, depthwise, depthwise_into, rows_of
from ttc.runtime.engines.native.jobs.elementwise import compute_into
from ttc.runtime.engines.native.jobs.few_results import convolve_in_columns, has_few_results
from ttc.runtime.engines.native.jobs.grouped import grouped, vector_of_groups
from ttc.runtime.engines.native.jobs.job import NotTaken
from ttc.runtime.engines.native.jobs.lowering import Lowering
from ttc.runtime.engines.native.jobs.margins import in_margins
from ttc.runtime.engines.native.jobs.planes import are_planes, convolve_planes
from ttc.runtime.engines.native.jobs.products import FLOATS, block_of, left_operand, multiplier_of, multiply, packed, whole_region
from ttc.runtime.engines.native.jobs.scaled_choice import are_scaled
from ttc.runtime.engines.native.jobs.tap_sums import are_tap_sums, sum_taps
from ttc.runtime.engines.native.jobs.tile_choice import tile_parts
from ttc.runtime.engines.native.jobs.winograd import convolve_tiles, tiling_of
from ttc.runtime.engines.native.jobs.winograd_gradient import gradient_tiling_of, sum_tiles
from ttc.runtime.engines.native.kernels.gemm_block import Multiplier
from ttc.runtime.engines.native.lower import LOWERINGS, takes_region
from ttc.runtime.engines.native.lower.reduce import reduce_into

_MOST_PHASES = 64
"""The most phases of a transposed convolution along an axis."""


@LOWERINGS.rule("conv2d")
@takes_region
def conv2d(n: Lowering) -> None:
    """Lower x[n, h, w, c] convolved with w[kh, kw, c / groups, o]; the filter is packed, at load if it is constant."""
    n.only("strides", "pads", "dilations", "groups", "activation", "activation_args")
    x, w, groups = n.operand(0), n.operand(1), _groups(n)
    bias = n.operand(2) if n.has(2) else None
    count, height, width, outputs = n.result_shape()
    axes = axes_of(n, x.shape[1:3], w.shape[:2], (height, width))
    if groups == 1 and (_in_tiles(n, x, w, axes, bias) or _cotangents_in_tiles(n, x, w, axes, bias)):
        return
    w = n.densified(w)
    if x.storage in INTEGERS or w.storage in INTEGERS:
        from ttc.runtime.engines.native.jobs.integer_products import convolve_integers

        convolve_integers(n, x, w, axes, groups, bias)
        return
    if groups == w.shape[3] > 1 and bias is None and are_tap_sums(x, w, axes):
        _sums_of_taps(n, x, w, axes)
        return
    if groups == x.shape[3] > 1:
        times = w.shape[3] // groups
        depthwise(n, x if times == 1 else _repeated(n, x, times), w, *whole_region(n, bias))
        return
    lanes = vector_of_groups(n, x, w) if groups > 1 else 0
    if lanes:
        grouped(n, x, w, lanes, *whole_region(n, bias))
        return
    parts = _parts(n, x, w, axes, count * height * width) if groups == 1 else 0
    if groups == 1 and all(axis.taps == 1 and axis.is_inside for axis in axes):
        seen = _seen(x, axes)
        if parts > 1 or seen.shape == x.shape:
            _pixels(n, seen, w, bias, parts)
            return
    multiplier = multiplier_of(n, x.shape[3])
    if groups == 1 and not parts and has_few_results(n.cpu, w, axes[1]):
        convolve_in_columns(n, left_operand(n, x, multiplier), w, axes, multiplier, *whole_region(n, bias))
        return
    if groups == 1 and are_scaled(n, matrices_of(w, 1), outputs, x.shape[3], w.shape[0] * w.shape[1]):
        from ttc.runtime.engines.native.jobs.scaled_products import convolve_scaled

        convolve_scaled(n, x, matrices_of(w, 1), axes, bias)
        return
    if groups == 1 and are_planes(x, w, axes, narrow=parts > 0 or multiplier_of(n, 2) != "f32"):
        convolve_planes(n, x, w, axes, *whole_region(n, bias))
        return
    if parts == 1 and axes[1].dilation > 1 and x.shape[3] <= FEW_CHANNELS:
        _in_phases(n, x, w, axes, bias)
        return
    if parts > 1:
        images = Images(_left(n, x, multiplier, parts), *axes, x.shape[3])
    elif parts and (found := in_margins(x, axes, x.shape[3])) is not None:
        images = found
    else:
        images, w, multiplier = _images(n, x, w, axes, "bf16" if parts else None)
    _windows(n, images, matrices_of(w, groups), result_of(n, *whole_region(n, bias)), multiplier, parts, groups)


@LOWERINGS.rule("conv_transpose2d")
@takes_region
def conv_transpose2d(n: Lowering) -> None:
    """Lower x[n, h, w, i] through the transpose of a convolution with w[kh, kw, o / groups, i]: one convolution for each phase of the
    strides.
    """
    n.only("strides", "pads", "dilations", "groups", "output_padding")
    x, w, groups = n.operand(0), n.operand(1), _groups(n)
    if w.storage not in FLOATS:
        raise NotTaken(f"operands in {w.storage}")
    count, height, width, outputs = n.result_shape()
    axes = axes_of(n, x.shape[1:3], w.shape[:2], (height, width))
    if max(axis.stride for axis in axes) > _MOST_PHASES:
        raise NotTaken(f"{max(axis.stride for axis in axes)} phases")
    bias = n.operand(2) if n.has(2) else None
    if groups == 1 and all((axis.stride, axis.dilation) == (1, 1) for axis in axes):
        turned = w.sliced(0, w.shape[0] - 1, w.shape[0], -1).sliced(1, w.shape[1] - 1, w.shape[1], -1).permuted((0, 1, 3, 2))
        moves = tuple(replace(axis, before=axis.taps - 1 - axis.before) for axis in axes)
        if _in_tiles(n, x, turned, (moves[0], moves[1]), bias):
            return
    if groups == x.shape[3] > 1 and w.shape[2] == 1 and are_small(w.shape) and x.storage in FLOATS:
        _depthwise_phases(n, x, n.densified(w), axes, bias)
        return
    depth = x.shape[3] // groups
    multiplier = multiplier_of(n, depth)
    parts = 0
    if groups == 1 and all(axis.taps >= axis.stride and axis.dilation == 1 for axis in axes):
        phases = axes[0].stride * axes[1].stride
        parts = tile_parts(n, w, count * height * width // phases, outputs, depth, w.shape[0] * w.shape[1] // phases)
    view = _left(n, x, multiplier, parts)
    whole = result_of(n, *whole_region(n, bias))
    for y in _phases(axes[0]):
        for x_ in _phases(axes[1]):
            filters = w.sliced(0, y.tap, y.windows.taps, y.step).sliced(1, x_.tap, x_.windows.taps, x_.step)
            part = whole.every(1, y.start, y.windows.windows, axes[0].stride).every(2, x_.start, x_.windows.windows, axes[1].stride)
            images, matrix = Images(view, y.windows, x_.windows, depth), matrices_of(_forward(n, filters, groups), groups)
            _windows(n, images, matrix, part, multiplier, parts, groups)


def _in_phases(n: Lowering, x: View, w: View, axes: tuple[WindowAxis, WindowAxis], bias: View | None) -> None:
    """Convolve x[n, h, w, c] of few channels in windows with gaps across, in tiles: each phase of the columns in a frame without gaps."""
    from ttc.runtime.engines.native.jobs.amx_products import convolve_in_tiles, tile_panels

    y, across = axes
    whole, panels = result_of(n, *whole_region(n, bias)), None
    phases = across.dilation // gcd(across.stride, across.dilation)
    for first in range(min(phases, across.windows)):
        skipped, phase = divmod(first * across.stride - across.before, across.dilation)
        start = phase + max(skipped, 0) * across.dilation
        seen = x.sliced(2, start, max(-((start - across.size) // across.dilation), 0), across.dilation)
        windows, stride = len(range(first, across.windows, phases)), across.stride * phases // across.dilation
        images = framed(n, seen, (y, WindowAxis(seen.shape[2], windows, across.taps, stride, 1, max(-skipped, 0))), "bf16")
        if panels is None:
            filters = _as_deep(n, w, images.view.shape[3], "bf16")
            panels = tile_panels(n, matrices_of(filters, 1), images.y.taps * images.x.taps, 1)
        convolve_in_tiles(n, images, panels, whole.every(2, first, windows, phases))


def _as_deep(n: Lowering, w: View, channels: int, storage: Storage) -> View:
    """Return a filter w[kh, kw, c, o] with so many channels: zeros behind those that it has."""
    if w.shape[2] == channels:
        return w
    wide = n.temp((*w.shape[:2], channels, w.shape[3]), storage)
    pad(n, w, wide, (0, 0))
    return wide


def _in_tiles(n: Lowering, x: View, w: View, axes: tuple[WindowAxis, WindowAxis], bias: View | None) -> bool:
    """Convolve x[n, h, w, c] with w[kh, kw, c, o], which lies anyhow, by Winograd's way, if that is faster; tells whether it did."""
    if x.storage not in FLOATS or w.storage not in FLOATS:
        return False
    count, height, width, _ = n.result_shape()
    if _parts(n, x, w, axes, count * height * width) not in (0, 3) or has_few_results(n.cpu, w, axes[1]):
        return False
    tiling = tiling_of(n, x, w, axes)
    if tiling is None:
        return False
    convolve_tiles(n, left_operand(n, x, x.storage), w, axes, tiling, result_of(n, *whole_region(n, bias)))
    return True


def _cotangents_in_tiles(n: Lowering, x: View, w: View, axes: tuple[WindowAxis, WindowAxis], bias: View | None) -> bool:
    """Convolve x[row, h, w, image] with w[y, x, image, column], both lying anyhow, to the gradient of a filter of 3 x 3 taps by Winograd's
    way, if that is faster; tells whether it did.
    """
    tiling = gradient_tiling_of(n, x, w, axes)
    if tiling is None or _parts(n, x, w, axes, x.shape[0] * axes[0].windows * axes[1].windows) == 1:
        return False
    sum_tiles(n, x, w, axes, tiling, result_of(n, *whole_region(n, bias)))
    return True


def _sums_of_taps(n: Lowering, x: View, w: View, axes: tuple[WindowAxis, WindowAxis]) -> None:
    """Convolve x[1, h, w, groups * samples] with w[kh, kw, samples, groups]: the gradient of a depthwise filter."""
    region, views = whole_region(n, None)
    sums = sum_taps(n, x, w, axes)
    if sums.shape[3] > 1:
        parts, sums = sums, n.temp((*sums.shape[:3], 1), "f32")
        reduce_into(n, "sum", parts, [3], sums, 1)
    shape = n.result_shape()
    compute_into(n, region, [replace(sums, shape=shape, strides=dense_strides(shape)), *views], n.result(strided=True))


def _depthwise_phases(n: Lowering, x: View, w: View, axes: tuple[WindowAxis, WindowAxis], bias: View | None) -> None:
    """Lower x[n, h, w, c] through the transpose of a depthwise convolution with w[kh, kw, 1, c]: one for each phase of the strides."""
    region, views = whole_region(n, bias)
    x, whole = rows_of(n, x), [n.result(strided=True), *views]
    for y in _phases(axes[0]):
        for across in _phases(axes[1]):
            filters, moves, parts = w, list[Window](), whole
            for dimension, phase, axis in ((0, y, axes[0]), (1, across, axes[1])):
                taps, step = phase.windows.taps, -phase.windows.dilation
                filters = filters.sliced(dimension, phase.tap + (taps - 1) * phase.step, taps, -phase.step)
                moves.append(Window(taps, 1, step, phase.windows.before + (taps - 1) * step, 0))
                parts = [part.sliced(dimension + 1, phase.start, phase.windows.windows, axis.stride) for part in parts]
            depthwise_into(n, parts[0], x, filters, (moves[0], moves[1]), region, parts[1:])


def _forward(n: Lowering, w: View, groups: int) -> View:
    """Return a filter [kh, kw, o / groups, i] of a transposed convolution as that of a convolution: [kh, kw, i / groups, o], dense."""
    kh, kw, outputs, inputs = w.shape
    split = n.densified(w).reshaped((kh, kw, outputs, groups, inputs // groups))
    found = None if split is None else n.densified(split.permuted((0, 1, 4, 3, 2))).reshaped((kh, kw, inputs // groups, groups * outputs))
    if found is None:
        raise NotTaken("no elements")
    return found


def _repeated(n: Lowering, x: View, times: int) -> View:
    """Images with each channel so many times in a row, for as many results of it."""
    target = n.temp((*x.shape[:3], x.shape[3] * times), x.storage)
    places = target.reshaped((*x.shape, times))
    if places is None:
        raise NotTaken("no elements")
    copy(n, replace(x, shape=(*x.shape, 1), strides=(*x.strides, 0)).expanded(places.shape), places)
    return target


def _parts(n: Lowering, x: View, w: View, axes: tuple[WindowAxis, WindowAxis], rows: int) -> int:
    """In how many parts the windows are multiplied in tiles; 0: they are not."""
    in_frames = x.shape[3] <= FEW_CHANNELS and n.node.op.precision == "bfloat16"
    taps, run = w.shape[0] * w.shape[1], w.shape[1] if in_frames else 1
    return tile_parts(n, w, rows, w.shape[3], x.shape[3] * run, taps // run)


def _seen(x: View, axes: tuple[WindowAxis, WindowAxis]) -> View:
    """Return the pixels of x[n, h, w, c] that windows of one pixel each meet."""
    for dimension, axis in enumerate(axes, 1):
        x = x.sliced(dimension, 0, axis.windows, axis.stride)
    return x


def _pixels(n: Lowering, x: View, w: View, bias: View | None, parts: int) -> None:
    """Windows of one pixel each: a product of matrices."""
    if parts:
        from ttc.runtime.engines.native.jobs.amx_products import multiply_in_tiles

        multiply_in_tiles(n, x, matrices_of(w, 1), bias, parts)
        return
    if are_scaled(n, matrices_of(w, 1), w.shape[3], x.shape[3]):
        from ttc.runtime.engines.native.jobs.scaled_products import multiply_scaled

        multiply_scaled(n, x, matrices_of(w, 1), bias)
        return
    multiplier = multiplier_of(n, x.shape[3])
    panels = packed(n, matrices_of(w, 1), block_of(n, prod(x.shape[:3]), w.shape[3]), multiplier)
    multiply(n, left_operand(n, x, multiplier), panels, bias, multiplier)


def _left(n: Lowering, x: View, multiplier: Multiplier, parts: int) -> View:
    """Images as they are multiplied."""
    if not parts:
        return left_operand(n, x, multiplier)
    from ttc.runtime.engines.native.jobs.amx_products import tile_rows

    return tile_rows(n, x, parts)


def _windows(n: Lowering, images: Images, w: View, result: Result, multiplier: Multiplier, parts: int, groups: int = 1) -> None:
    """Images, as `_left` or `_images` gives them, convolved with the matrices of a filter."""
    if not parts:
        block = block_of(n, prod(result.view.shape[:3]), w.shape[-1])
        convolve(n, images, packed(n, w, block, multiplier), result, groups, multiplier)
        return
    from ttc.runtime.engines.native.jobs.amx_products import convolve_in_tiles, tile_panels

    convolve_in_tiles(n, images, tile_panels(n, w, images.y.taps * images.x.taps, parts), result)


def _groups(n: Lowering) -> int:
    groups = n.attr("groups", 1)
    if not isinstance(groups, int):
        raise NotTaken("groups of another kind")
    return groups


def _images(
    n: Lowering, x: View, w: View, axes: tuple[WindowAxis, WindowAxis], given: Multiplier | None = None
) -> tuple[Images, View, Multiplier]:
    """Return what the windows see, the filter that fits it, and how they are multiplied: as is given, if it is."""
    channels, depth = x.shape[3], w.shape[2]
    multiplier = given or multiplier_of(n, 2)
    if depth == channels <= FEW_CHANNELS and axes[1].taps > 1 and axes[1].dilation == 1:
        images = framed(n, x, axes, multiplier)
        return images, _as_deep(n, w, images.view.shape[3], multiplier), multiplier
    multiplier = given or multiplier_of(n, depth)
    return in_runs(Images(left_operand(n, x, multiplier), *axes, depth)), w, multiplier


@dataclass(frozen=True)
class _Phase:
    """Results start, start + stride, ... of a transposed convolution along an axis, which meet taps tap, tap + step, ... of the filter."""

    start: int
    tap: int
    step: int
    windows: WindowAxis


def _phases(axis: WindowAxis) -> list[_Phase]:
    """Return the windows of a transposed convolution by the taps that they meet, each as windows over the input.

    Result y meets element (y + before - tap * dilation) / stride where that is whole.  Where it never is, windows lie outside.
    """
    common = gcd(axis.stride, axis.dilation)
    step, found = axis.stride // common, list[_Phase]()
    for r in range(axis.stride):
        start = (r - axis.before) % axis.stride
        windows = len(range(start, axis.windows, axis.stride))
        taps = [tap for tap in range(min(step, axis.taps)) if tap * axis.dilation % axis.stride == r]
        if windows and taps:
            count, first = len(range(taps[0], axis.taps, step)), (start + axis.before - taps[0] * axis.dilation) // axis.stride
            found.append(_Phase(start, taps[0], step, WindowAxis(axis.size, windows, count, 1, -(axis.dilation // common), -first)))
        elif windows:
            found.append(_Phase(start, 0, step, WindowAxis(axis.size, windows, 1, 1, -1, windows)))
    return found
