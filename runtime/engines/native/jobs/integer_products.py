"""From views of integers to jobs of matrix products and convolutions, exact in 32 bits."""

from __future__ import annotations

from dataclasses import replace
from math import prod

from ttc.runtime.engines.native.graph.ranges import INTEGERS, Range, fits, in_floats, limits
from ttc.runtime.engines.native.graph.region import Region, RegionStep
from ttc.runtime.engines.native.graph.storage import Storage
from ttc.runtime.engines.native.graph.tensors import View
from ttc.runtime.engines.native.ir.regions import supported
from ttc.runtime.engines.native.jobs.amx_integer_products import are_bytes_in_tiles, are_windows_in_tiles, convolve_bytes, multiply_bytes
from ttc.runtime.engines.native.jobs.convolutions import FEW_CHANNELS, Images, WindowAxis, in_runs, matrices_of, result_of, submit_windows
from ttc.runtime.engines.native.jobs.copies import copied, copy, pad
from ttc.runtime.engines.native.jobs.depthwise import depthwise
from ttc.runtime.engines.native.jobs.job import NotTaken
from ttc.runtime.engines.native.jobs.lowering import Lowering
from ttc.runtime.engines.native.jobs.products import Panels, batch_once, joined_region, submit_product
from ttc.runtime.engines.native.kernels.gemm_block import Block
from ttc.runtime.engines.native.kernels.gemm_rows import DenseRows, WindowRows
from ttc.runtime.engines.native.kernels.integer_gemm import Factor, IntegerGemm, channels_of, integer_block


def multiply_integers(n: Lowering, a: View, b: View, bias: View | None) -> None:
    """Add the jobs of the node's result: the product of a[batch..., rows, depth] and b[batch..., depth, columns], through the region."""
    shape = n.result_shape()
    factor = factor_of(n, a, b)
    region, views = integer_region(n, bias)
    if _has_bytes(n, b, factor) and are_bytes_in_tiles(n, rows_of(a, b), shape[-1], a.shape[-1]):
        multiply_bytes(n, a, b, region, views)
        return
    a = left_integers(n, a, factor)
    panels = packed_integers(n, b, integer_block(n.cpu, rows_of(a, b), shape[-1]), factor)

    def kernel(block: Block, spread: tuple[bool, ...], dimensions: int) -> IntegerGemm:
        return IntegerGemm(block, DenseRows(), region, spread, dimensions, factor=factor)

    submit_product(n, kernel, a.expanded((*shape[:-1], a.shape[-1])), panels, views, n.result(strided=True))


def convolve_integers(n: Lowering, x: View, w: View, axes: tuple[WindowAxis, WindowAxis], groups: int, bias: View | None) -> None:
    """Add the jobs of the node's result: windows of x[n, h, w, c] times w[kh, kw, c / groups, o], through the region."""
    if in_floats(n.work, [x.shape, w.shape], [n.range_of(0), n.range_of(1)]):
        region, views = integer_region(n, bias)
        narrow = fits(n.range_of(0) or limits("i32") or (0, 0), "i16")
        image = x if x.storage in ("i8", "u8") else as_storage(n, x, "i16" if narrow else "f32")
        depthwise(n, image, as_storage(n, w, "f32"), _of_floats(region), views)
        return
    factor = factor_of(n, x, w)
    if groups > 1 and w.shape[2] % channels_of(factor):
        factor = "i32"
    if groups == 1 and all((axis.taps, axis.stride, axis.before, axis.windows) == (1, 1, 0, axis.size) for axis in axes):
        multiply_integers(n, x, matrices_of(w, 1), bias)
        return
    region, views = integer_region(n, bias)
    rows = prod(n.result_shape()[:3])
    if groups == 1 and _has_bytes(n, w, factor) and are_windows_in_tiles(n, rows, w, axes):
        convolve_bytes(n, x, w, axes, result_of(n, region, views))
        return
    images, w = _images(n, x, w, axes, factor)
    matrices = matrices_of(w, groups)
    result = result_of(n, region, views)
    panels = packed_integers(n, matrices, integer_block(n.cpu, rows, matrices.shape[-1]), factor)
    kernel = IntegerGemm(panels.block, WindowRows(), result.region, result.spread, int(groups > 1), factor=factor)
    submit_windows(n, kernel, images, panels, result, groups)


def rows_of(a: View, b: View) -> int:
    """Return how many rows a[batch..., rows, depth] has that one matrix of b[batch..., depth, columns] multiplies."""
    return a.shape[-2] * (prod(a.shape[:-2]) if prod(b.shape[:-2]) == 1 else 1)


def factor_of(n: Lowering, a: View, b: View) -> Factor:
    """Return how the operands 0 and 1 of the node are multiplied.  Raises NotTaken for other integers than of up to 32 bits."""
    for view in (a, b):
        if view.storage not in INTEGERS:
            raise NotTaken(f"products of {view.storage}")
    left, right = (n.range_of(i) or limits(view.storage) for i, view in enumerate((a, b)))
    if left is None or right is None or not (fits(left, "i16") and fits(right, "i16")):
        return "i32"
    return "i8" if _is_narrow(b, right) else "i16"


def _is_narrow(b: View, found: Range) -> bool:
    """Return whether a right operand is best packed in 8 bits: where it is packed at each run, it may be read wider."""
    return fits(found, "i8") and (b.storage == "i8" or b.is_constant)


def _has_bytes(n: Lowering, b: View, factor: Factor) -> bool:
    """Return whether the node multiplies integers of 16 bits with those of its operand 1, and these are of 8."""
    return factor != "i32" and fits(n.range_of(1) or limits(b.storage) or (0, 1 << 8), "i8")


def integer_region(n: Lowering, bias: View | None) -> tuple[Region, list[View]]:
    """Return the region from the sum to what is stored, and its further operands in the shape of the result.

    Raises NotTaken for results that are no integers of 32 bits, activations, and what regions cannot do.
    """
    if (n.node.region or n.region).inputs[0] != "i32" or n.attr("activation") is not None:
        raise NotTaken("products of integers in another type")
    steps = () if bias is None else (RegionStep("add", (0, 1), "i32"),)
    first = Region(("i32",) if bias is None else ("i32", bias.storage), steps, len(steps) * 2)
    region, views = joined_region(n, first, bias)
    region = _without_zeros(region)
    reason = supported(region)
    if reason is not None:
        raise NotTaken(reason)
    return region, views


def _without_zeros(region: Region) -> Region:
    """Return the region where integers less a zero point of 0 are multiplied as they are: 64 bits would hold the difference."""
    count = len(region.inputs)
    steps: list[RegionStep] = []
    places = list(range(count))
    for step in region.steps:
        moved = replace(step, operands=tuple(places[i] for i in step.operands))
        zero = region.steps[step.operands[2] - count] if step.fn == "dequantize" and step.operands[2] >= count else None
        if zero is not None and zero.fn == "constant" and dict(zero.attrs).get("value") == 0 and step.storage == "f32":
            steps.append(RegionStep("cast", moved.operands[:1], "f32", (("to", "float32"),)))
            moved = RegionStep("mul", (count + len(steps) - 1, moved.operands[1]), "f32")
        steps.append(moved)
        places.append(count + len(steps) - 1)
    return Region(region.inputs, tuple(steps), places[region.output])


def _of_floats(region: Region) -> Region:
    """Return the region of sums that float32 holds, converted to integers only where they are needed as such."""
    count = len(region.inputs)

    def moved(step: RegionStep) -> RegionStep:
        first = 0 if (step.fn, step.storage) == ("cast", "f32") else count
        return replace(step, operands=tuple(first if i == 0 else i + (i >= count) for i in step.operands))

    steps = (RegionStep("cast", (0,), "i32"), *map(moved, region.steps))
    return Region(("f32", *region.inputs[1:]), steps, region.output + 1 if region.output >= count else count)


# ---- operands --------------------------------------------------------------------------------------------------------------------------


def as_storage(n: Lowering, view: View, storage: Storage) -> View:
    """Return elements in a storage that holds them."""
    if view.storage == storage:
        return view
    target = n.temp(view.shape, storage)
    copy(n, view, target)
    return target


def left_integers(n: Lowering, a: View, factor: Factor) -> View:
    """Return a in the type that is multiplied, its last dimension dense and of whole words: zeros are added."""
    storage: Storage = "i32" if factor == "i32" else "i16"
    depth = a.shape[-1]
    whole = depth + depth % channels_of(factor)
    words = all(stride % channels_of(factor) == 0 for stride in (*a.strides[:-1], a.offset))
    if a.storage == storage and whole == depth and (a.strides[-1] == 1 or depth == 1) and words:
        return a
    target = n.temp((*a.shape[:-1], whole), storage)
    pad(n, a, target, [0] * len(a.shape), 0)
    return target


def packed_integers(n: Lowering, b: View, block: Block, factor: Factor) -> Panels:
    """Return b[batch..., depth, columns] in panels [panel, word, column, channel of the word]; equal elements of the batch once."""
    b = batch_once(b)
    if b.strides[-1] != 1 and b.shape[-1] != 1:
        b = copied(n, b)
    *batch, depth, columns = b.shape
    channels, panels = channels_of(factor), block.panels(columns)
    words = -(-depth // channels)
    if (words * channels, panels * block.columns) != (depth, columns):
        wide = n.temp((*batch, words * channels, panels * block.columns), factor)
        pad(n, b, wide, [0] * len(b.shape), 0)
        b = wide
    target = n.temp((*batch, panels, words, block.columns, channels), factor)
    lead = list(range(len(batch)))
    shape = (*batch, words, channels, panels, block.columns)
    split = b.reshaped(shape) or n.densified(b).reshaped(shape)
    if split is None:
        raise NotTaken("no elements")
    copy(n, split.permuted([*lead, *(len(lead) + i for i in (2, 0, 3, 1))]), target)
    flat = target.reshaped((*batch, panels * words * block.columns * channels))
    if flat is None:
        raise NotTaken("no elements")
    return Panels(flat, block, words * channels, columns)


def _images(n: Lowering, x: View, w: View, axes: tuple[WindowAxis, WindowAxis], factor: Factor) -> tuple[Images, View]:
    """Return what the windows see, and the filter that fits it: channels of a tap fill whole words."""
    channels, depth, unit = x.shape[3], w.shape[2], channels_of(factor)
    if depth == channels <= FEW_CHANNELS and axes[1].taps > 1 and axes[1].dilation == 1:
        whole = channels + channels * axes[1].taps % unit
        y, x_ = (replace(axis, size=max(axis.reach, axis.before + axis.size), before=0) for axis in axes)
        frame = n.temp((x.shape[0], y.size, x_.size, whole), "i32" if factor == "i32" else "i16")
        pad(n, x, frame, (0, axes[0].before, axes[1].before, 0), 0)
        return in_runs(Images(frame, y, x_, whole)), _deepened(n, w, whole)
    whole = depth if depth < channels else depth + depth % unit
    view = left_integers(n, x, factor)
    return in_runs(Images(view, *axes, whole)), _deepened(n, w, whole)


def _deepened(n: Lowering, w: View, depth: int) -> View:
    """Return a filter with zeros behind its channels."""
    if w.shape[2] == depth:
        return w
    target = n.temp((*w.shape[:2], depth, w.shape[3]), w.storage)
    pad(n, w, target, (0, 0, 0, 0), 0)
    return target
