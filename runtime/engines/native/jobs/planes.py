"""From images whose few channels lie as planes to jobs of convolutions."""

from __future__ import annotations

from collections.abc import Sequence

from ttc.runtime.engines.native.graph.region import Region
from ttc.runtime.engines.native.graph.tensors import View
from ttc.runtime.engines.native.jobs.convolutions import FEW_CHANNELS, WindowAxis
from ttc.runtime.engines.native.jobs.depthwise import (
    are_small,
    axis_words,
    block_for,
    filter_of,
    lanes_for,
    moves_of,
    registers_of,
    results_of,
)
from ttc.runtime.engines.native.jobs.lowering import Lowering
from ttc.runtime.engines.native.jobs.products import FLOATS
from ttc.runtime.engines.native.kernels.plane_windows import PlaneWindows

_LINE_BYTES = 32 << 10
"""The most bytes of the lines that a row of windows meets: they lie in the first-level cache."""
_PRODUCTS = 1 << 11
"""The most products of a window that take no longer in float32 than in bfloat16, for which images are copied: on two cores of an Intel Xeon
with AMX, 3x3 windows over 3 channels and 32 results took 100 and 155 microseconds, 7x7 windows and 64 results 700 and 340.
"""


def are_planes(x: View, w: View, axes: tuple[WindowAxis, WindowAxis], *, narrow: bool) -> bool:
    """Return whether images x[n, h, w, c] have few channels, each a plane of dense lines that a row of windows meets in the cache.

    narrow: whether they could be multiplied in bfloat16, which is faster where windows have many products.
    """
    if narrow and w.elements > _PRODUCTS:
        return False
    if x.storage not in FLOATS or w.storage not in FLOATS or not 0 < x.shape[3] <= FEW_CHANNELS or not are_small(w.shape):
        return False
    across = axes[1]
    lies_so = x.strides[2] == 1 and across.dilation > 0 and across.before >= 0
    return lies_so and w.shape[0] * x.shape[3] * _pitch(across) * 4 <= _LINE_BYTES


def convolve_planes(n: Lowering, x: View, w: View, axes: tuple[WindowAxis, WindowAxis], region: Region, views: Sequence[View]) -> None:
    """Add the job of the node's result, x[n, h, w, c] of `are_planes` convolved with w[kh, kw, c, o], through a region with further
    operands of its shape.
    """
    count, height, across, outputs = n.result_shape()
    lanes = lanes_for(n, outputs)
    vectors = 2 if outputs > lanes else 1
    moves = moves_of(n, w.shape[:2])
    block = block_for(n, moves, lanes, across, registers_of(n) // 2 // vectors)
    pixels, words = results_of(n, region, views, lanes)
    kernel = PlaneWindows(block, vectors, x.storage, pixels)
    pitch = _pitch(axes[1])
    words |= {"source": x, "channels": x.shape[3], "filter": filter_of(n, w), "results": outputs, **axis_words(x, moves, n.result_shape())}
    words |= {f"source_{name}": x.strides[axis] * x.item_bytes for name, axis in (("image", 0), ("y", 1), ("channel", 3))}
    words |= {"pitch": pitch, "copied": min(axes[1].size, pitch - axes[1].before)}
    n.job(
        kernel,
        words,
        tasks=count * height,
        written=[n.results[0]],
        scratch=kernel.scratch_bytes(x.shape[3], pitch),
        flops=2 * w.shape[0] * w.shape[1] * x.shape[3] * n.results[0].elements,
        moved_bytes=sum(view.distinct_bytes for view in words.values() if isinstance(view, View)),
    )


def _pitch(across: WindowAxis) -> int:
    """Return the elements of a line that windows meet, zeros before and behind it included."""
    return max(across.reach, across.before + 1)
