"""From views of images to jobs of convolutions, by way of matrix products over windows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING

from ttc.dialects.core.records import record
from ttc.runtime.engines.native.graph.region import Region
from ttc.runtime.engines.native.graph.tensors import View
from ttc.runtime.engines.native.jobs import copies
from ttc.runtime.engines.native.jobs.job import NotTaken
from ttc.runtime.engines.native.jobs.lowering import Lowering
from ttc.runtime.engines.native.jobs.products import FLOATS, Panels, readable, submit
from ttc.runtime.engines.native.kernels.gemm import Gemm
from ttc.runtime.engines.native.kernels.gemm_block import Multiplier
from ttc.runtime.engines.native.kernels.gemm_rows import InnerRows, WindowRows

if TYPE_CHECKING:
    from ttc.runtime.engines.native.kernels.words import Word


FEW_CHANNELS = 8
"""The most channels of images that are put in a frame of zeros, so that each row of a window is one run of channels."""


@record
class WindowAxis:
    """How windows move along one dimension; all in elements, of a dimension of `size` of them.

    Tap i of window y meets element y * stride + i * dilation - before, or a zero outside; dilation may be negative.
    """

    size: int
    windows: int
    taps: int
    stride: int
    dilation: int
    before: int

    @property
    def reach(self) -> int:
        """Elements from the first that a window meets to the last, zeros included; with a positive dilation."""
        return (self.windows - 1) * self.stride + (self.taps - 1) * self.dilation + 1

    @property
    def is_inside(self) -> bool:
        """Whether no tap of a window meets a zero outside."""
        return self.before == 0 and (self.dilation > 0 or self.taps == 1) and self.reach <= self.size


def axes_of(n: Lowering, sizes: Sequence[int], taps: Sequence[int], windows: Sequence[int]) -> tuple[WindowAxis, WindowAxis]:
    """Return the axes of a convolution by the attributes of the op.  windows: height and width of the result."""
    strides, pads, dilations = (_numbers(n, name, count) for name, count in (("strides", 2), ("pads", 4), ("dilations", 2)))
    y, x = (WindowAxis(sizes[i], windows[i], taps[i], strides[i], dilations[i], pads[i]) for i in range(2))
    return y, x


def _numbers(n: Lowering, name: str, count: int) -> tuple[int, ...]:
    found = n.attr(name)
    if not isinstance(found, tuple) or len(found) != count or not all(isinstance(i, int) for i in found):
        raise NotTaken(f"{name} of another kind")
    return tuple(i for i in found if isinstance(i, int))


@record
class Images:
    """The left operand of a convolution: x[n, h, w, c] with dense channels, and how windows move over it.

    depth: channels of a tap: of all taps of a row of a window where `x.taps` is 1 though the filter is wider.
    """

    view: View
    y: WindowAxis
    x: WindowAxis
    depth: int


def in_runs(images: Images) -> Images:
    """Return images with each row of a window as one run, where that is so without padding; else the images as they are."""
    x, view = images.x, images.view
    dense = view.strides[2] == view.shape[3] == images.depth
    if x.taps == 1 or x.dilation != 1 or not x.is_inside or not dense:
        return images
    return replace(images, x=replace(x, taps=1), depth=x.taps * images.depth)


def framed(n: Lowering, view: View, axes: tuple[WindowAxis, WindowAxis], multiplier: Multiplier) -> Images:
    """Return images in a frame of zeros, as wide as the windows reach, each row of a window one run: of whole pairs, if multiplied so."""
    if view.storage not in FLOATS:
        raise NotTaken(f"operands in {view.storage}")
    y, x = (replace(axis, size=max(axis.reach, axis.before + axis.size)) for axis in axes)
    count, channels = view.shape[0], view.shape[3]
    whole = channels + channels * x.taps % 2 if multiplier == "bf16" else channels
    target = n.temp((count, y.size, x.size, whole), multiplier)
    pad(n, view, target, (y.before, x.before))
    y, x = replace(y, before=0), replace(x, before=0)
    return in_runs(Images(target, y, x, whole))


def pad(n: Lowering, source: View, target: View, before: tuple[int, int]) -> None:
    """Copy x[n, h, w, c] into a larger tensor of zeros."""
    copies.pad(n, source, target, (0, *before, 0), 0.0)


@record
class Result:
    """The result of a convolution: c[n, y, x, channels], through a region with further operands of that shape.

    spread: for each operand whether all channels of a pixel are the same element.
    """

    view: View
    region: Region
    others: tuple[View, ...]
    spread: tuple[bool, ...]

    def every(self, axis: int, start: int, count: int, step: int) -> Result:
        """Return every so many rows or columns of the result."""
        views = [view.sliced(axis, start, count, step) for view in (self.view, *self.others)]
        return replace(self, view=views[0], others=tuple(views[1:]))


def result_of(n: Lowering, region: Region, views: Sequence[View]) -> Result:
    """Return the result of the node, and the operands of its region."""
    others = [readable(n, view) for view in views]
    return Result(n.result(strided=True), region, tuple(view for view, _ in others), tuple(spread for _, spread in others))


def convolve(n: Lowering, images: Images, panels: Panels, result: Result, groups: int, multiplier: Multiplier) -> None:
    """Add the job of the products of windows and panels [groups, ...], one group of channels each."""
    kernel = Gemm(panels.block, rows_of(images), result.region, result.spread, int(groups > 1), multiplier)
    submit_windows(n, kernel, images, panels, result, groups)


def submit_windows(
    n: Lowering, kernel: Gemm, images: Images, panels: Panels, result: Result, groups: int, more: Mapping[str, Word] | None = None
) -> None:
    """Add the job of the products of windows and panels.  more: further words of the kernel."""
    words = window_words(images, panels.view, result) | dict(more or {})
    if groups > 1:
        words |= {"size_batch0": groups, "a_batch0": images.depth * images.view.item_bytes, "b_batch0": panels.element_bytes}
        for name, view in zip(("c", *kernel.others), (result.view, *result.others), strict=True):
            words[f"{name}_batch0"] = panels.columns * view.strides[-1] * view.item_bytes
    rows = prod(result.view.shape[:3])
    submit(n, kernel, words, rows=rows, taps=images.y.taps * images.x.taps, panels=panels, written=result.view, count=groups)


def rows_of(images: Images) -> WindowRows:
    """Return how windows are found: fast where none of them meets a border."""
    inside = images.x.taps == 1 and all(axis.is_inside for axis in (images.y, images.x))
    return InnerRows() if inside else WindowRows()


def window_words(images: Images, panels: View, result: Result) -> dict[str, Word]:
    """Words that tell where windows lie and how they move."""
    tensors = {"a": images.view, "c": result.view, **{f"other{i}": view for i, view in enumerate(result.others)}}
    words: dict[str, Word] = {"b": panels, **tensors}
    for name, view in tensors.items():
        strides = (stride * view.item_bytes for stride in view.strides[:3])
        words |= dict(zip((f"{name}_image", f"{name}_y", f"{name}_x"), strides, strict=True))
    for name, axis in (("y", images.y), ("x", images.x)):
        values = (axis.size, axis.windows, axis.taps, axis.stride, axis.dilation, axis.before)
        words |= dict(zip((f"{name}_{what}" for what in WindowRows.SIZES), values, strict=True))
    return words


def matrices_of(w: View, groups: int) -> View:
    """Return a dense filter as a matrix [taps and channels, outputs], or as one such a group."""
    *taps, outputs = w.shape
    depth = taps[0] * taps[1] * taps[2]
    shape = (depth, outputs) if groups == 1 else (depth, groups, outputs // groups)
    found = w.reshaped(shape)
    if found is None:
        raise NotTaken("no elements")
    return found if groups == 1 else found.permuted((1, 0, 2))
