"""Copies of views, constants, and rounding to formats that storage alone does not give."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.formats.base import FACE
from ttc.dialects.core.records import record
from ttc.runtime.engines.native.graph.storage import Storage, array_dtype
from ttc.runtime.engines.native.graph.tensors import Place, PlanBuffer, View, dense
from ttc.runtime.engines.native.jobs.builder import JobBuilder
from ttc.runtime.engines.native.jobs.job import NotTaken
from ttc.runtime.engines.native.kernels import movement
from ttc.runtime.engines.native.kernels.formats import rounding_to

_PART_BYTES = 16 << 10
"""The least bytes, of both tensors, that a task moves: it takes as long as threads need to share it out."""
_PART_ELEMENTS = 1 << 12
"""The least elements that a task rounds, where a row has as many."""
_SQUARE = 16
"""Elements of the side of a square that is transposed in registers, at most."""
_MANY = 1 << 14
"""Elements from which on it pays to move them twice in vectors instead of once one by one."""
_FEW = 8
"""Rows or columns of a matrix up to which it is interleaved in registers, if they are too few for squares."""


@record
class Dim:
    """A dimension: elements, and the strides of source and target."""

    size: int
    source: int
    target: int


def copied(n: JobBuilder, view: View) -> View:
    """Return the elements of a view in row-major memory of their own."""
    target = n.temp(view.shape, view.storage)
    copy(n, view, target)
    return target


def constant(values: NDArray, storage: Storage) -> View:
    """Return numbers that are known now; bfloat16 as patterns."""
    array = np.ascontiguousarray(values, array_dtype(storage))
    return dense(PlanBuffer(array.nbytes, Place.CONSTANT, array=array), storage, np.shape(values))


def fill(n: JobBuilder, target: View, value: float) -> None:
    """Fill a view with one number, rounded to its storage."""
    given: Storage = "f64" if target.storage == "f64" else "f32" if target.storage in ("f16", "bf16") else target.storage
    copy(n, constant(np.asarray(value).astype(array_dtype(given)), given).expanded(target.shape), target)


def pad(n: JobBuilder, source: View, target: View, before: Sequence[int], value: float) -> None:
    """Copy a view into a larger one, so many elements from the start of each dimension, and fill what is around it with a number."""
    inner, last = target, len(target.shape) - 1
    for axis, (start, size, whole) in enumerate(zip(before, source.shape, target.shape, strict=True)):
        if axis == last and value == 0 and start == 0 and size < whole <= _FEW and _copied_with_zeros(n, source, inner):
            return
        for first, count in ((0, start), (start + size, whole - start - size)):
            if count:
                fill(n, inner.sliced(axis, first, count), value)
        inner = inner.sliced(axis, start, size)
    copy(n, source, inner)


def _copied_with_zeros(n: JobBuilder, source: View, target: View) -> bool:
    """Copy a view into one of a larger last dimension, with zeros behind, if planes are interleaved so; tells whether it did."""
    few, pitch = source.shape[-1], target.shape[-1]
    rows, columns, batch = _matrices(source, target.sliced(len(target.shape) - 1, 0, few))
    planes = (rows.source, rows.target, columns.target, columns.size) == (1, pitch, 1, few)
    lanes = min(_widest(n, source, target), _SQUARE)
    if not planes or rows.size < lanes:
        return False
    _submit(n, movement.Interleave(source.storage, target.storage, len(batch), lanes, few, pitch), source, target, (rows, columns, batch))
    return True


def copy(n: JobBuilder, source: View, target: View) -> None:
    """Write the elements of one view into another of its shape, whose elements lie apart from each other.

    Raises NotTaken if the shapes differ.
    """
    if source.shape != target.shape:
        raise NotTaken(f"{list(source.shape)} in the place of {list(target.shape)}")
    kernel, dims = _movement(n, source, target)
    between = _between(n, source, target) if kernel.lanes == 1 and source.elements >= _MANY else None
    if between is None:
        _submit(n, kernel, source, target, dims)
        return
    for start, end in ((source, between), (between, target)):
        kernel, dims = _movement(n, start, end)
        _submit(n, kernel, start, end, dims)


def _between(n: JobBuilder, source: View, target: View) -> View | None:
    """Memory from which, and to which, elements move in vectors, where at once they would one by one; None if there is no such layout.

    So are filters [o, i, h, w] brought to [h, w, i, o], and back: runs of h and w are too short for squares, but not those of i, h and w.
    """
    axes = range(len(source.shape))
    for last, order in ((target, source), (source, target)):
        ends = [axis for axis in axes if last.strides[axis] == 1 and last.shape[axis] > 1]
        if len(ends) != 1:
            continue
        layout = sorted(axes, key=lambda axis: (axis == ends[0], -abs(order.strides[axis])))
        memory = View(PlanBuffer(source.elements * source.item_bytes), source.storage, *_in_order(source.shape, layout))
        lanes = min(_widest(n, source, target), _SQUARE)
        if all(_movement(n, *ways)[0].lanes >= lanes for ways in ((source, memory), (memory, target))):
            return memory
    return None


def _in_order(shape: Sequence[int], layout: Sequence[int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return a shape, and the strides of its axes where they lie in that order, the slowest first, without gaps."""
    strides, step = [0] * len(shape), 1
    for axis in reversed(layout):
        strides[axis], step = step, step * shape[axis]
    return tuple(shape), tuple(strides)


def _movement(n: JobBuilder, source: View, target: View) -> tuple[movement.Movement, tuple[Dim, Dim, list[Dim]]]:
    """Return the kernel that moves the elements of a view to another, and the dimensions as it walks them."""
    rows, columns, batch = _matrices(source, target)
    kernel = _kernel(_widest(n, source, target), rows, columns, (source.storage, target.storage, len(batch)))
    return kernel, (rows, columns, batch)


def _submit(n: JobBuilder, kernel: movement.Movement, source: View, target: View, dims: tuple[Dim, Dim, list[Dim]]) -> None:
    rows, columns, batch = dims
    row_parts, column_parts = _parts(kernel, rows, columns, source.item_bytes + target.item_bytes)
    words = {"source": source, "target": target, "row_parts": row_parts, "column_parts": column_parts}
    for name, dim in (("row", rows), ("column", columns), *((f"batch{i}", dim) for i, dim in enumerate(batch))):
        words |= {name: dim.size, f"{name}_source": dim.source, f"{name}_target": dim.target}
    n.job(
        kernel,
        words,
        tasks=prod(dim.size for dim in batch) * row_parts * column_parts,
        written=[target],
        moved_bytes=source.elements * source.item_bytes + target.elements * target.item_bytes,
    )


def round_in_place(n: JobBuilder, view: View, format: str, *, truncate: bool = False) -> None:
    """Round elements to a format whose values float32 holds.  Raises NotTaken where there is no kernel for it."""
    kernel = rounding_to(format, truncate)
    if kernel is None or view.storage != "f32" or not view.is_dense:
        raise NotTaken(f"rounding to {format}")
    columns = view.shape[-1] if view.shape else 1
    if columns % FACE == 0:
        columns = view.elements
    lines = view.elements // columns
    parts = max(min(columns // _PART_ELEMENTS, columns // FACE), 1)
    words = {"data": view, "columns": columns, "line": columns, "parts": parts}
    moved = 2 * view.elements * view.item_bytes
    n.job(kernel, words, tasks=lines * parts, written=[view], moved_bytes=moved)


def _matrices(source: View, target: View) -> tuple[Dim, Dim, list[Dim]]:
    """Rows, columns and the batch.

    Columns are the dimension along which the target lies most closely; rows that of the source, if it is another one, else the longest.
    """
    dims = [Dim(*d) for d in zip(source.shape, source.strides, target.strides, strict=True) if d[0] != 1]
    dims = joined(sorted(dims, key=lambda dim: -abs(dim.target)))
    one = Dim(1, 0, 0)
    if not dims:
        return one, Dim(1, 1, 1), []
    columns = dims.pop()
    if not dims:
        return one, columns, []
    near = [i for i, dim in enumerate(dims) if dim.source == 1 and columns.source != 1]
    rows = dims.pop(near[0] if near else max(range(len(dims)), key=lambda i: (dims[i].size, i)))
    return rows, columns, dims


def joined(dims: Sequence[Dim]) -> list[Dim]:
    """Neighbouring dimensions, the slowest first, joined where both tensors walk them in one stride."""
    found: list[Dim] = []
    for dim in dims:
        if found and found[-1].source == dim.source * dim.size and found[-1].target == dim.target * dim.size:
            found[-1] = Dim(found[-1].size * dim.size, dim.source, dim.target)
        else:
            found.append(dim)
    return found


def _kernel(widest: int, rows: Dim, columns: Dim, shape: tuple[Storage, Storage, int]) -> movement.Movement:
    """shape: storages, and dimensions of the batch."""
    if columns.target == 1 and columns.source in (0, 1):
        kind = movement.CopyRows if columns.source == 1 else movement.Repeat
        return kind(*shape, _lanes(widest, columns.size))
    if columns.target == 1 and rows.source == 1:
        square = min(widest, _SQUARE)
        if min(rows.size, columns.size) >= square:
            return movement.Transpose(*shape, square)
        if columns.size <= _FEW and rows.target == columns.size and rows.size >= square:
            return movement.Interleave(*shape, square, columns.size, columns.size)
        if rows.size <= _FEW and columns.source == rows.size and columns.size >= square:
            return movement.Separate(*shape, square, rows.size)
    return movement.CopyElements(*shape, 1)


def _widest(n: JobBuilder, source: View, target: View) -> int:
    """Return elements of a vector at most."""
    return max(n.cpu.vector_bytes // max(source.item_bytes, target.item_bytes), 2)


def _lanes(widest: int, size: int) -> int:
    while widest > size:
        widest //= 2
    return widest


def _parts(kernel: movement.Movement, rows: Dim, columns: Dim, element_bytes: int) -> tuple[int, int]:
    """Into how many parts rows and columns are divided: vectors lie in one of them, and few rows are not divided at all."""
    wanted = max(rows.size * columns.size * element_bytes // _PART_BYTES, 1)
    in_rows, in_columns = isinstance(kernel, movement.Transpose | movement.Interleave), not isinstance(kernel, movement.Interleave)
    row_parts = 1 if isinstance(kernel, movement.Separate) else min(wanted, max(rows.size // (kernel.lanes if in_rows else 1), 1))
    most = max(columns.size // kernel.lanes, 1) if in_columns else 1
    return row_parts, min(-(-wanted // row_parts), most)
