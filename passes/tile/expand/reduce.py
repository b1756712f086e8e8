"""Reductions: sums are products with ones, maxima run along one dimension, the others are made of these."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.ir import SSAValue

from ttc.dialects.core.formats import FORMATS
from ttc.dialects.core.shapes import axes_in
from ttc.dialects.tile.base import tile_of
from ttc.dialects.tile.reduce import ReduceOp
from ttc.dialects.tile.shape import SliceOp
from ttc.dialects.tile.sparse import SparseMatmulOp
from ttc.passes.declined import Declined
from ttc.passes.tile.expand import EXPANSIONS
from ttc.passes.tile.expand.expansion import Expansion
from ttc.passes.tile.expand.selection import Selection


@EXPANSIONS.rule("reduce")
def expand_reduce(op: ReduceOp, to: Expansion) -> SSAValue:
    """Expand a reduction into one that keeps dimensions, reshaped."""
    attrs, x = op.plain_attrs(), tile_of(op.x)
    axes = axes_in(attrs["axes"], len(x.shape))
    return to.fit(reduced(op.x, attrs["fn"], axes, to))


def reduced(x: SSAValue, fn: str, axes: Sequence[int], to: Expansion) -> SSAValue:
    """Return x reduced along dimensions (counted from the front) that stay, of size 1."""
    shape, format_ = tile_of(x).shape, tile_of(x).format
    count = prod(shape[a] for a in axes)
    if not axes:
        return x
    if count == 0:
        raise Declined("it reduces over nothing")
    if fn == "sum":
        return _sum(x, axes, to)
    if fn == "mean":
        if not FORMATS[format_].is_float:
            raise Declined("it is a mean of integers")
        if len(shape) - 1 in axes and to.exact(format_) == "Float32":
            return _sum(x, axes, to, 1.0 / count)
        return to.map("mul", _sum(x, axes, to), 1.0 / count)
    if fn == "max":
        return _maximum(x, axes, to)
    if fn == "min":
        negative = to.map("mul", x, -1.0, format=format_)
        return to.map("mul", _maximum(negative, axes, to), -1.0, format=format_)
    return _product(x, axes, to)


def _kept(shape: Sequence[int], axes: Sequence[int]) -> tuple[int, ...]:
    return tuple(1 if i in axes else d for i, d in enumerate(shape))


def _sum(x: SSAValue, axes: Sequence[int], to: Expansion, weight: float = 1.0) -> SSAValue:
    """Columns: x times a column of ones (or of a weight); rows: one matrix by a row of ones, several by a sparse matmul."""
    tile = tile_of(x)
    format_ = tile.format if weight == 1 else "Float32"
    last = len(tile.shape) - 1
    lead = [a for a in axes if a != last]
    if lead:
        x = _sum_rows(x, lead, to)
    if last not in axes:
        return x
    if last == 0:
        return to.reshape(to.matmul(to.reshape(x, (1, tile.shape[0])), to.ones((tile.shape[0], 1), format_, weight)), (1,))
    return to.matmul(x, to.ones((tile.shape[-1], 1), format_, weight), fold=tile.fold)


def _sum_rows(x: SSAValue, axes: Sequence[int], to: Expansion) -> SSAValue:
    tile = tile_of(x)
    *lead, columns = tile.shape
    kept = _kept(tile.shape, axes)
    if prod(kept[:-1]) == 1:
        rows = prod(lead)
        total = to.matmul(to.ones((1, rows), tile.format), to.reshape(x, (rows, columns)))
        return to.reshape(total, kept, tile.fold)
    order = [*axes, *(i for i in range(len(lead)) if i not in axes)]
    steps = tuple(tuple(int(d == i) for i in order) for d in range(len(lead)))
    selection = Selection(tuple(lead), tuple(lead[i] for i in order), steps, (0,) * len(lead), (1,) * len(lead), len(axes))
    format_ = to.exact(tile.format)
    return to.emit(SparseMatmulOp, x, shape=kept, fold=tile.fold, format=format_, **selection.attrs())


def _maximum(x: SSAValue, axes: Sequence[int], to: Expansion) -> SSAValue:
    """Columns, then rows: along the rows of each matrix where they are neighbours, else along matrices."""
    tile = tile_of(x)
    rank = len(tile.shape)
    lead = [a for a in axes if a != rank - 1]
    if rank - 1 in axes:
        x = to.reshape(_along(to.matrices(x), 2, to), _kept(tile.shape, (rank - 1,)), tile.fold)
    if not lead:
        return x
    *sizes, columns = tile_of(x).shape
    size = prod(sizes[a] for a in lead)
    if lead == list(range(rank - 1 - len(lead), rank - 1)):
        value = _along(to.reshape(x, (prod(sizes) // size, size, columns)), 1, to)
    else:
        order = [*lead, *(i for i in range(rank - 1) if i not in lead)]
        steps = tuple(tuple(int(d == i) for i in order) for d in range(rank - 1))
        selection = Selection(tuple(sizes), tuple(sizes[i] for i in order), steps, (0,) * len(sizes), (1,) * len(sizes))
        value = _along(to.select(x, selection, (size, prod(sizes) // size, columns)), 0, to)
    return to.reshape(value, _kept(tile_of(x).shape, lead), tile.fold)


def _along(x: SSAValue, axis: int, to: Expansion) -> SSAValue:
    return to.emit(ReduceOp, x, fn="max", axes=(axis,), keepdims=True)


def _product(x: SSAValue, axes: Sequence[int], to: Expansion) -> SSAValue:
    """Halves are multiplied until one element is left."""
    for axis in axes:
        rest: list[SSAValue] = []
        while (size := tile_of(x).shape[axis]) > 1:
            half = size // 2
            if size % 2:
                rest.append(_part(x, axis, size - 1, 1, to))
            x = to.map("mul", _part(x, axis, 0, half, to), _part(x, axis, half, half, to))
        for part in rest:
            x = to.map("mul", x, part)
    return x


def _part(x: SSAValue, axis: int, start: int, size: int, to: Expansion) -> SSAValue:
    shape = tile_of(x).shape
    starts = tuple(start if i == axis else 0 for i in range(len(shape)))
    sizes = tuple(size if i == axis else d for i, d in enumerate(shape))
    return to.emit(SliceOp, x, starts=starts, sizes=sizes, steps=(1,) * len(shape))
