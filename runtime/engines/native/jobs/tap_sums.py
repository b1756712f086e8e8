"""From views to jobs of gradients of depthwise filters: convolutions of few results, whose filters are as large as images."""

from __future__ import annotations

from math import prod

from ttc.runtime.engines.native.graph.tensors import View
from ttc.runtime.engines.native.jobs.convolutions import WindowAxis
from ttc.runtime.engines.native.jobs.depthwise import lanes_for, rows_of
from ttc.runtime.engines.native.jobs.lowering import Lowering
from ttc.runtime.engines.native.jobs.products import FLOATS
from ttc.runtime.engines.native.kernels.tap_sums import TapSums
from ttc.runtime.engines.native.kernels.windows import AXIS

_VECTORS = (4, 2, 1)
"""Vectors of channels that are summed together: four hide the time that one multiply-add takes."""


def are_tap_sums(x: View, w: View, axes: tuple[WindowAxis, WindowAxis]) -> bool:
    """Return whether x[1, h, w, groups * samples] convolved with w[kh, kw, samples, groups] has fewer results than taps."""
    floats = x.storage in FLOATS and w.storage in FLOATS
    forward = all(axis.dilation > 0 for axis in axes)
    return floats and forward and x.shape[0] == 1 and x.shape[3] == w.shape[2] * w.shape[3] and _pixels(axes) < prod(w.shape[:2])


def _pixels(axes: tuple[WindowAxis, WindowAxis]) -> int:
    return axes[0].windows * axes[1].windows


def sum_taps(n: Lowering, x: View, w: View, axes: tuple[WindowAxis, WindowAxis]) -> View:
    """Add the job of the sums over pixels, each sample by itself; return them as float32 [height, width, groups, samples]."""
    kh, kw, samples, groups = w.shape
    channels = groups * samples
    x, filter_ = rows_of(n, x), n.densified(w.permuted((0, 1, 3, 2)))
    lanes = lanes_for(n, channels)
    kernel = TapSums(next(v for v in _VECTORS if v * lanes <= channels), lanes, x.storage, filter_.storage)
    y, across = axes
    target = n.temp((y.windows, across.windows, groups, samples), "f32")
    words = {
        **{"source": x, "source_y": x.strides[1] * x.item_bytes, "source_x": x.strides[2] * x.item_bytes},
        **{"filter": filter_, "filter_y": kw * channels * filter_.item_bytes, "filter_x": channels * filter_.item_bytes},
        **{"target": target, "channels": channels, "y_taps": kh, "x_taps": kw},
    }
    for name, axis in zip(("y", "x"), axes, strict=True):
        values = (axis.size, axis.windows, axis.stride, axis.dilation, axis.before)
        words |= {f"{name}_{what}": value for what, value in zip(AXIS, values, strict=True)}
    operations = 2 * _pixels(axes) * kh * kw * channels
    moved = sum(view.elements * view.item_bytes for view in (x, filter_, target))
    tasks = y.windows * -(-channels // kernel.width)
    n.job(
        kernel,
        words,
        tasks=tasks,
        written=[target],
        scratch=kernel.scratch_bytes(across.windows),
        flops=operations,
        moved_bytes=moved,
    )
    return target
