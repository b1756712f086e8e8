"""Pools over one to three spatial dimensions, with or without a batch, and their gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from ttc.dialects.core.ir.values import SSAValue
from ttc.dialects.nn.gradients.pool import of_max_pool
from ttc.importers.common.convolution import mean_pool, pool
from ttc.importers.common.places import largest_in, window_places
from ttc.importers.common.tracking import MAX_ELEMENTS
from ttc.importers.common.unsupported import Unsupported
from ttc.importers.common.windows import SpatialWindow, flat_window, pool_attrs
from ttc.importers.torch.builder import TorchBuilder
from ttc.importers.torch.ops_conv import each
from ttc.importers.torch.tables import Row, Rows

Ints: TypeAlias = tuple[int, ...]


def _batched(b: TorchBuilder, x: SSAValue, rank: int) -> tuple[SSAValue, Callable[[SSAValue], SSAValue]]:
    """x[n, c, spatial...], and what takes n away from results again if x had none."""
    if b.rank(x) == rank + 2:
        return x, lambda y: y
    return b.reshape(x, 1, *b.shape(x)), lambda y: b.reshape(y, *b.shape(y)[1:])


def _window(b: TorchBuilder, x: SSAValue, rank: int, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints) -> SpatialWindow:
    kernel, padding = each(kernel, rank), each(padding, rank)
    steps = each(stride, rank) if stride else kernel
    return flat_window(b, x, kernel, steps, each(dilation, rank), (*padding, *padding), "NOTSET")


def max_pool(rank: int) -> Row:
    def row(b: TorchBuilder, x: SSAValue, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints, ceil: bool) -> SSAValue:
        x, back = _batched(b, x, rank)
        return back(pool(b, "max_pool2d", x, _window(b, x, rank, kernel, stride, padding, dilation), int(ceil)))

    return row


def max_pool_with_indices(rank: int) -> Row:
    """Return maxima, and their places, which count within an image."""

    def row(b: TorchBuilder, x: SSAValue, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints, ceil: bool) -> tuple[Any, ...]:
        x, back = _batched(b, x, rank)
        win = _window(b, x, rank, kernel, stride, padding, dilation)
        y = pool(b, "max_pool2d", x, win, int(ceil))
        if not any(b.outputs[1:]):
            return back(y), None
        places = largest_in(b, x, window_places(b.shape(x)[2:], win, ceil=ceil))[1]
        return back(y), back(b.reshape(places, *b.shape(y)))

    return row


def max_pool_backward(
    b: TorchBuilder, dy: SSAValue, x: SSAValue, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints, ceil: bool
) -> SSAValue:
    """Return the gradient of a max pool: each one is added where its maximum was, which is found again."""
    x, back = _batched(b, x, 2)
    dy, _ = _batched(b, dy, 2)
    attrs = pool_attrs(_window(b, x, 2, kernel, stride, padding, dilation), int(ceil))
    y = b.nn("max_pool2d", x, **attrs)
    return back(of_max_pool(b, x, y, dy, attrs))


def avg_pool(rank: int) -> Row:
    """Return means, or sums over a divisor: windows that ceil_mode lets reach out have as many elements as the others then."""

    def row(
        b: TorchBuilder,
        x: SSAValue,
        kernel: Ints,
        stride: Ints,
        padding: Ints,
        ceil: bool,
        include_pad: bool,
        divisor: int | None = None,
    ) -> SSAValue:
        x, back = _batched(b, x, rank)
        win = _window(b, x, rank, kernel, stride, padding, (1,))
        return back(mean_pool(b, x, win, ceil=ceil, include_pad=include_pad, divisor=divisor))

    return row


def adaptive_avg_pool(rank: int) -> Row:
    """Return means of windows: those of equal size are a pool, of different sizes products with matrices of shares, dimension by
    dimension.
    """

    def row(b: TorchBuilder, x: SSAValue, output_size: Ints) -> SSAValue:
        x, back = _batched(b, x, rank)
        sizes, wanted = b.shape(x)[2:], each(output_size, rank)
        if any(want == 0 for want in wanted):
            return back(b.nn("expand", b.scalar(0, x), shape=(*b.shape(x)[:2], *wanted)))
        if all(want == 1 for want in wanted):
            return back(b.nn("reduce_mean", x, axes=tuple(range(2, rank + 2)), keepdims=True))
        if not any(size % want for size, want in zip(sizes, wanted, strict=True)):
            return back(pool(b, "avg_pool2d", x, _even(sizes, wanted), 0, count_include_pad=False))
        for axis, (size, want) in enumerate(zip(sizes, wanted, strict=True), 2):
            x = _averaged(b, x, axis, size, want)
        return back(x)

    return row


def _even(sizes: Ints, wanted: Ints) -> SpatialWindow:
    kernel = tuple(size // want for size, want in zip(sizes, wanted, strict=True))
    return SpatialWindow(kernel, kernel, (1,) * len(kernel), (0,) * (2 * len(kernel)))


def _bounds(size: int, want: int) -> list[tuple[int, int]]:
    """Start and end of each window along a dimension."""
    return [(i * size // want, -(-(i + 1) * size // want)) for i in range(want)]


def _averaged(b: TorchBuilder, x: SSAValue, axis: int, size: int, want: int) -> SSAValue:
    if size == want:
        return x
    if size * want > MAX_ELEMENTS:
        raise Unsupported(f"{want} windows of different sizes over {size} elements")
    shares = np.zeros((size, want))
    for i, (start, end) in enumerate(_bounds(size, want)):
        shares[start:end, i] = 1 / (end - start)
    rank = b.rank(x)
    perm = (*(i for i in range(rank) if i != axis), axis)
    last = axis == rank - 1
    lines = x if last else b.nn("transpose", x, perm=perm)
    found = b.nn("matmul", lines, b.constant(shares.astype(b.dtype(x))), None, transpose_a=False, transpose_b=False)
    return found if last else b.nn("transpose", found, perm=tuple(int(i) for i in np.argsort(perm)))


def adaptive_max_pool(rank: int) -> Row:
    """Return maxima, with places that count within an image."""

    def row(b: TorchBuilder, x: SSAValue, output_size: Ints) -> tuple[Any, ...]:
        x, back = _batched(b, x, rank)
        sizes, wanted = b.shape(x)[2:], each(output_size, rank)
        shape = (*b.shape(x)[:2], *wanted)
        even = not any(size % max(want, 1) for size, want in zip(sizes, wanted, strict=True))
        if min(wanted) == 0:
            none = b.nn("expand", b.scalar(0, x), shape=shape)
            return back(none), back(b.cast(none, np.dtype(np.int64)))
        if even and not any(b.outputs[1:]):
            return back(pool(b, "max_pool2d", x, _even(sizes, wanted), 0)), None
        values, places = largest_in(b, x, adaptive_places(sizes, wanted))
        return back(b.reshape(values, *shape)), back(b.reshape(places, *shape))

    return row


def adaptive_places(sizes: Ints, wanted: Ints) -> np.ndarray:
    """Return [windows, taps]: place in the flattened image of each tap of each window; -1 where a window has fewer. Raises Unsupported."""
    found = np.zeros((1, 1), np.int64)
    for size, want in zip(sizes, wanted, strict=True):
        bounds = _bounds(size, want)
        taps = max(end - start for start, end in bounds)
        if found.size * want * taps > MAX_ELEMENTS:
            raise Unsupported("too many windows")
        at = np.array([[start + t if start + t < end else -1 for t in range(taps)] for start, end in bounds])
        wide = found[:, None, :, None] * size + at[None, :, None, :]
        outside = (found[:, None, :, None] < 0) | (at[None, :, None, :] < 0)
        found = np.where(outside, -1, wide).reshape(found.shape[0] * want, -1)
    return found


ROWS: Rows = {
    **{f"aten.max_pool{n}d.default": max_pool(n) for n in (1, 2, 3)},
    "ttc.max_pool2d_backward.default": max_pool_backward,
    **{f"aten.max_pool{n}d_with_indices.default": max_pool_with_indices(n) for n in (1, 2, 3)},
    **{f"aten.avg_pool{n}d.default": avg_pool(n) for n in (1, 2, 3)},
    **{f"aten.adaptive_avg_pool{n}d.default": adaptive_avg_pool(n) for n in (1, 2, 3)},
    **{f"aten._adaptive_avg_pool{n}d.default": adaptive_avg_pool(n) for n in (2, 3)},
    **{f"aten.adaptive_max_pool{n}d.default": adaptive_max_pool(n) for n in (1, 2, 3)},
}
