"""Convolutions of few results: products with all taps of a row side by side, then sums of what neighbouring pixels gave.

As a product of windows with the filter, a convolution of three results fills three lanes of a vector.  Here each pixel, with those above
and below it, is multiplied by all taps of a row at once, which are as many more columns; a result then is the sum of one column of each
of the pixels that its window meets.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ttc.dialects.core.kernels.windows import Window
from ttc.runtime.engines.native.graph.region import Region
from ttc.runtime.engines.native.graph.tensors import View
from ttc.runtime.engines.native.jobs.convolutions import Images, Result, WindowAxis, convolve
from ttc.runtime.engines.native.jobs.depthwise import are_small, block_for, lanes_for, moves_of, results_of, submit, window_words
from ttc.runtime.engines.native.jobs.job import NotTaken
from ttc.runtime.engines.native.jobs.lowering import Lowering
from ttc.runtime.engines.native.jobs.products import block_of, packed
from ttc.runtime.engines.native.kernels.gemm_block import Multiplier, cost_of
from ttc.runtime.engines.native.kernels.shifted_sums import ShiftedSums

if TYPE_CHECKING:
    from ttc.runtime.engines.native.codegen.features import Cpu

_LEAST_DEPTH = 32
"""Products of a column at least: fewer take no longer than the sums."""
_GAIN = 1.25
"""How many times faster than products this way must be."""


def has_few_results(cpu: Cpu, w: View, x: WindowAxis) -> bool:
    """Return whether a convolution with w[kh, kw, c, o] is faster by columns, and the products take at most twice the memory of the images.

    x: how windows move along the width.
    """
    kh, kw, depth, outputs = w.shape
    if kw == 1 or x.dilation < 1 or kh * depth < _LEAST_DEPTH or kw * outputs > 2 * depth or not are_small((kh, kw)):
        return False
    return x.size * cost_of(cpu, kw * outputs) * _GAIN <= x.windows * kw * cost_of(cpu, outputs)


def convolve_in_columns(
    n: Lowering, x: View, w: View, axes: tuple[WindowAxis, WindowAxis], multiplier: Multiplier, region: Region, views: Sequence[View]
) -> None:
    """Add the jobs of the node's result, x[n, h, w, c] convolved with w[kh, kw, c, o], through a region with further operands of its
    shape.
    """
    count, height, _, outputs = n.result_shape()
    kh, kw, depth, _ = w.shape
    matrix = n.densified(w.permuted((0, 2, 1, 3))).reshaped((kh * depth, kw * outputs))
    if matrix is None:
        raise NotTaken("no elements")
    y, across = axes
    sums = n.temp((count, height, across.size, kw * outputs), "f32")
    images = Images(x, y, WindowAxis(across.size, across.size, 1, 1, 1, 0), depth)
    panels = packed(n, matrix, block_of(n, count * height * across.size, kw * outputs), multiplier)
    convolve(n, images, panels, Result(sums, Region(("f32",), (), 0), (), ()), 1, multiplier)
    _, along = moves_of(n, (kh, kw))
    moves = (Window(1, 1, 1, 0, 0), along)
    lanes = lanes_for(n, outputs)
    pixels, words = results_of(n, region, views, lanes)
    kernel = ShiftedSums(block_for(n, moves, lanes, across.windows), "f32", pixels)
    words |= window_words(sums, moves, n.result_shape()) | {"channels": outputs}
    submit(n, kernel, words, kw)
