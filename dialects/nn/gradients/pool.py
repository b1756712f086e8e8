"""Rules for the gradients of pooling."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray
from xdsl.ir import SSAValue

from ttc.dialects.core.kernels.windows import Window, windows
from ttc.dialects.nn.formulas import Formula, Truth
from ttc.dialects.nn.gradients.base import Cotangents, GradientSite, Ints, elements, gradient, padded, product
from ttc.dialects.nn.gradients.pieces import put_back
from ttc.dialects.nn.making import OpMaker, part


def along_axes(b: OpMaker, x: SSAValue, matrices: Sequence[NDArray], first: int) -> SSAValue:
    """Return the product of consecutive dimensions, from the first on, with a matrix [old size, new size] each."""
    rank = b.rank(x)
    for axis, matrix in enumerate(matrices, first):
        if matrix.shape[0] == matrix.shape[1] and np.array_equal(matrix, np.eye(len(matrix))):
            continue
        if axis == rank - 1:
            x = product(b, x, b.constant(matrix.astype(b.dtype(x)))) if rank > 1 else _of_vector(b, x, matrix)
            continue
        shape = b.shape(x)
        rows = b.reshape(x, elements(shape[:axis]), shape[axis], elements(shape[axis + 1 :]))
        found = product(b, b.constant(np.ascontiguousarray(matrix.T).astype(b.dtype(x))), rows)
        x = b.reshape(found, *shape[:axis], matrix.shape[1], *shape[axis + 1 :])
    return x


def _of_vector(b: OpMaker, x: SSAValue, matrix: NDArray) -> SSAValue:
    row = b.reshape(x, 1, matrix.shape[0])
    return b.reshape(product(b, row, b.constant(matrix.astype(b.dtype(x)))), matrix.shape[1])


def mean_matrix(size: int, count: int, along: Window, *, include_pad: bool, divided: bool = True) -> NDArray:
    """Return [windows, elements]: the weight of each element of a dimension in each window of an average pool.

    include_pad: whether taps in the padding count.  divided: by the taps that count, else 1 for each tap.
    """
    taps = np.arange(count)[:, None] * along.stride - along.before + np.arange(along.kernel) * along.dilation
    inside = (taps >= 0) & (taps < size)
    counted = ((taps >= -along.before) & (taps < size + along.after)) if include_pad else inside
    found = np.zeros((count, size))
    np.add.at(found, (np.nonzero(inside)[0], taps[inside]), 1.0)
    return found / np.maximum(counted.sum(1, keepdims=True), 1) if divided else found


def _moves(attrs: dict[str, Any]) -> tuple[Window, Window]:
    return windows(attrs["kernel"], attrs["strides"], attrs["pads"], attrs["dilations"], attrs["ceil_mode"])


@gradient("nn.avg_pool2d")
def avg_pool2d(b: OpMaker, site: GradientSite) -> Cotangents:
    """Return the cotangent of x: each cotangent, divided by the elements of its window, added to all of them, one dimension after the
    other.
    """
    first = 2 if site.attrs["layout"] == "nchw" else 1
    sizes, counts = b.shape(site.operand(0))[first:], b.shape(site.dy)[first:]
    include = site.attrs["count_include_pad"]
    rows = zip(sizes, counts, _moves(site.attrs), strict=False)
    return [along_axes(b, site.dy, [mean_matrix(*row, include_pad=include) for row in rows], first)]


@gradient("nn.max_pool2d")
def max_pool2d(b: OpMaker, site: GradientSite) -> Cotangents:
    """Return the cotangent of x: each cotangent added where its maximum was; see `of_max_pool`."""
    return [of_max_pool(b, site.operand(0), site.y, site.dy, site.attrs)]


def of_max_pool(b: OpMaker, x: SSAValue, y: SSAValue, dy: SSAValue, attrs: dict[str, Any]) -> SSAValue:
    """Return the cotangent of images x whose maxima are y: each goes to the first of equal elements, by rows, then by columns.

    attrs: of the pool.
    """
    rows, columns = _moves(attrs)
    axis = 2 if attrs["layout"] == "nchw" else 1
    if rows == _STILL:
        return of_maxima(b, x, y, dy, axis + 1, columns)
    if columns == _STILL:
        return of_maxima(b, x, y, dy, axis, rows)
    along = {key: (1, attrs[key][1]) for key in ("kernel", "strides", "dilations")}
    pads = (0, attrs["pads"][1], 0, attrs["pads"][3])
    inner = b.nn("max_pool2d", x, **{**attrs, **along, "pads": pads})
    of_inner = of_maxima(b, inner, y, dy, axis, rows)
    return of_maxima(b, x, inner, of_inner, axis + 1, columns)


def of_maxima(b: OpMaker, x: SSAValue, y: SSAValue, dy: SSAValue, axis: int, move: Window) -> SSAValue:
    """Return the cotangent of x, given that y holds the largest elements of windows along one dimension: of equal ones the first counts."""
    size, count = b.shape(x)[axis], b.shape(y)[axis]
    length = max(move.reach(count), move.before + size)
    around = padded(b, x, axis, move.before, length - move.before - size, -np.inf)
    parts: list[SSAValue] = []
    left: Truth | None = None
    for tap in range(move.kernel):
        hit = Formula(b, _tap(b, around, axis, tap, move, count)).equals(Formula(b, y))
        chosen = hit if left is None else left & hit
        parts.append(chosen.choose(Formula(b, dy), 0.0).value)
        missed = Truth(b, b.nn("not", hit.value))
        left = missed if left is None else left & missed
    return part(b, _at_taps(b, parts, axis, move, b.shape(around)), axis, move.before, size)


_STILL = Window(1, 1, 1, 0, 0)


def _tap(b: OpMaker, x: SSAValue, axis: int, tap: int, move: Window, count: int) -> SSAValue:
    """Return the element of each window that one tap meets."""
    shape = b.shape(x)
    starts, steps = [0] * len(shape), [1] * len(shape)
    starts[axis], steps[axis] = tap * move.dilation, move.stride
    return b.nn("slice", x, starts=tuple(starts), sizes=(*shape[:axis], count, *shape[axis + 1 :]), steps=tuple(steps))


def _at_taps(b: OpMaker, parts: list[SSAValue], axis: int, move: Window, shape: Ints) -> SSAValue:
    """Return the sum of parts, one a tap, each where the tap meets windows."""
    have = b.shape(parts[0])
    if move.stride == move.kernel and move.dilation == 1:  # windows side by side: elements only change their order
        apart = [b.reshape(p, *have[: axis + 1], 1, *have[axis + 1 :]) for p in parts]
        joined = b.nn("concat", *apart, axis=axis + 1) if len(apart) > 1 else apart[0]
        length = have[axis] * move.kernel
        flat = b.reshape(joined, *have[:axis], length, *have[axis + 1 :])
        return padded(b, flat, axis, 0, shape[axis] - length)
    placed: list[SSAValue] = []
    for tap, value in enumerate(parts):
        starts = tuple(tap * move.dilation if i == axis else 0 for i in range(len(shape)))
        steps = tuple(move.stride if i == axis else 1 for i in range(len(shape)))
        placed.append(put_back(b, value, shape, starts, steps))
    return reduce(lambda x, y: b.nn("add", x, y), placed)
