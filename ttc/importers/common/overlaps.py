"""Windows added up where they lie, dimension by dimension: work and memory grow with the elements of the windows."""

from __future__ import annotations

from math import prod
from typing import TypeAlias

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.values import SSAValue
from ttc.dialects.core.kernels import windows as core
from ttc.importers.common.builder import Builder
from ttc.importers.common.parts import padded
from ttc.importers.common.windows import SpatialWindow

Ints: TypeAlias = tuple[int, ...]


def added_windows(b: Builder, x: SSAValue, sizes: Ints, win: SpatialWindow) -> SSAValue:
    """Return x[n, c * taps, windows] added up to [n, c, sizes]. Raises E0401."""
    rank, (n, columns, count) = len(sizes), b.shape(x)
    along = [core.Window(win.kernel[i], win.strides[i], win.dilations[i], win.pads[i], win.pads[rank + i], ceil=False) for i in range(rank)]
    counts = tuple(max(w.count(size), 0) for w, size in zip(along, sizes, strict=True))
    if count != prod(counts) or columns % prod(win.kernel):
        raise Error("E0401", f"{b.spec(x)} does not hold {prod(counts)} windows of {list(win.kernel)}")
    images = n * columns // prod(win.kernel)
    y = b.reshape(x, images, *win.kernel, *counts)
    for i in range(rank):
        left = rank - i
        y = b.nn("transpose", y, perm=(0, *range(2, left + 1), *range(left + 2, 2 * left + i + 1), 1, left + 1))
        y = _added(b, y, sizes[i], (win.strides[i], win.dilations[i], win.pads[i]))
    return b.reshape(y, n, columns // prod(win.kernel), *sizes)


def _added(b: Builder, x: SSAValue, size: int, window: Ints) -> SSAValue:
    """x[..., taps, windows] -> [..., size]: tap k of window o lies at o * stride + k * dilation - pad."""
    stride, dilation, pad = window
    *lead, taps, count = b.shape(x)
    rows = prod(lead)
    x = b.reshape(x, rows, taps, count)
    if dilation > 1:
        x = padded(b, b.reshape(x, rows, taps, 1, count), (0,) * 4, (0, 0, dilation - 1, 0))
        taps *= dilation
        x = b.reshape(x, rows, taps, count)
    blocks = -(-taps // stride)
    x = padded(b, x, (0,) * 3, (0, blocks * stride - taps, 0))
    x = b.reshape(x, rows, blocks, stride, count)
    few_first = blocks <= count
    y = _shifted_sum(b, b.nn("transpose", x, perm=(0, 1, 3, 2) if few_first else (0, 3, 1, 2)))
    reached = (blocks + count - 1) * stride
    return b.reshape(padded(b, b.reshape(y, rows, reached), (0, -pad), (0, size + pad - reached)), *lead, size)


def _shifted_sum(b: Builder, x: SSAValue) -> SSAValue:
    """x[r, a, c, s] -> [r, a + c - 1, s]: row i of a, moved by i, added up.  Rows that are padded to one more lie so in memory."""
    rows, first, second, width = b.shape(x)
    reach = first + second - 1
    wide = b.reshape(padded(b, x, (0,) * 4, (0, 0, first, 0)), rows, first * (reach + 1), width)
    skewed = b.reshape(padded(b, wide, (0,) * 3, (0, -first, 0)), rows, first, reach, width)
    return b.nn("reduce_sum", skewed, axes=(1,), keepdims=False)
