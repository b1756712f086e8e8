"""Reductions, places of extremes, cumulative sums and products."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING, Literal, cast

from ttc.runtime.engines.native.graph.storage import Storage
from ttc.runtime.engines.native.graph.tensors import View, dense_strides
from ttc.runtime.engines.native.jobs.job import NotTaken
from ttc.runtime.engines.native.jobs.lines import TASK_BYTES, LineAxis, along, axes_of, chunk_of, fold_words, lead_words, submit_lines
from ttc.runtime.engines.native.jobs.lowering import Lowering
from ttc.runtime.engines.native.kernels.extremes import ExtremePlaceKernel
from ttc.runtime.engines.native.kernels.reduce import Reduce, ReduceColumns, ReduceRows, Reduction
from ttc.runtime.engines.native.kernels.scan import Scan
from ttc.runtime.engines.native.lower import LOWERINGS

if TYPE_CHECKING:
    from ttc.runtime.engines.native.kernels.words import Word

_FUNCTIONS = ("sum", "mean", "max", "min", "prod")
_COLUMNS = 64
"""The least columns of a task: whole cache lines of many rows."""
_SPLIT_ELEMENTS, _FEW_TASKS, _PARTS = 1 << 17, 8, 64
"""A reduction of so many elements to so few tasks is made in two steps, by way of so many parts at most."""


@LOWERINGS.rule("reduce")
def reduce(n: Lowering) -> None:
    """Lower tile.reduce: the total over some dimensions."""
    n.only("fn", "axes", "keepdims")
    x, fn, axes = n.operand(0), n.attr("fn"), n.attr("axes")
    if fn not in _FUNCTIONS or not isinstance(axes, tuple):
        raise NotTaken("another reduction")
    if x.storage == "bool" or (fn == "mean" and x.storage not in ("f32", "f64", "f16", "bf16")):
        raise NotTaken(f"{fn} of {x.storage}")
    rank = len(x.shape)
    reduced = sorted({int(axis) % rank for axis in axes if isinstance(axis, int)})
    count = prod(x.shape[axis] for axis in reduced)
    kind = cast(Reduction, fn)
    split = _split_axis(x, reduced)
    if split is not None:
        axis, parts = split
        x = _with_split_axis(x, axis, parts)
        reduced = [i + (i > axis) for i in reduced]  # the parts stay, in front of what is left of their axis
        reduced[reduced.index(axis)] = axis + 1
        shape = [1 if i in reduced else size for i, size in enumerate(x.shape)]
        totals = n.temp(shape, _total_storage(x.storage))
        reduce_into(n, "sum" if kind == "mean" else kind, x, reduced, totals, 1)
        x, reduced = totals, [axis, *reduced]
    y = n.result()
    kept = [1 if i in reduced else size for i, size in enumerate(x.shape)]
    reduce_into(n, kind, x, sorted(reduced), replace(y, shape=tuple(kept), strides=dense_strides(kept)), count)


def _total_storage(storage: Storage) -> Storage:
    return "f32" if storage in ("f16", "bf16") else storage


def _split_axis(x: View, reduced: Sequence[int]) -> tuple[int, int] | None:
    """Return the reduced axis to be cut, and into how many parts; None if that is not worth while, or no size has a divisor."""
    kept = prod(size for i, size in enumerate(x.shape) if i not in reduced)
    if x.elements < _SPLIT_ELEMENTS or kept >= _FEW_TASKS * _COLUMNS:
        return None
    for axis in reduced:
        divisors = [p for p in range(_FEW_TASKS, _PARTS + 1) if x.shape[axis] % p == 0]
        if divisors:
            return axis, divisors[-1]
    return None


def _with_split_axis(x: View, axis: int, parts: int) -> View:
    size, stride = x.shape[axis], x.strides[axis]
    shape = (*x.shape[:axis], parts, size // parts, *x.shape[axis + 1 :])
    return replace(x, shape=shape, strides=(*x.strides[:axis], stride * (size // parts), stride, *x.strides[axis + 1 :]))


def reduce_into(n: Lowering, fn: Reduction, x: View, reduced: Sequence[int], y: View, count: int) -> None:
    """Add the jobs of y, of size 1 in the reduced dimensions, from x.  count: elements that a mean is of.  Raises NotTaken."""
    order = [i for i in sorted(range(len(x.shape)), key=lambda i: (x.strides[i] != 0, -abs(x.strides[i]))) if x.shape[i] != 1]
    lead = axes_of(x.shape, (x, y), [i for i in order if i not in reduced])
    folds = axes_of(x.shape, (x,), [i for i in order if i in reduced])
    along_row = not order or order[-1] in reduced
    row = folds.pop() if folds else LineAxis(1, (x.item_bytes,))
    if along_row and row.strides[0] == x.item_bytes:
        kernel = ReduceRows(fn, x.storage, y.storage, len(lead), len(folds))
        words = {"length": row.size, "count": count}
        _submit(n, kernel, words, (x, y), (lead, folds), 1)
    elif not along_row and lead[-1].strides == (x.item_bytes, y.item_bytes):
        columns = lead.pop().size
        rows = x.elements // columns // prod(axis.size for axis in lead)
        piece = min(columns, max(TASK_BYTES // (rows * x.item_bytes) // _COLUMNS * _COLUMNS, _COLUMNS))
        pieces = -(-columns // piece)
        kernel = ReduceColumns(fn, x.storage, y.storage, len(lead), len(folds))
        words = {"rows": row.size, "row_step": row.strides[0], "columns": columns, "pieces": pieces, "piece": piece, "count": count}
        _submit(n, kernel, words, (x, y), (lead, folds), pieces)
    elif x.is_dense:
        raise NotTaken("no dense dimension")
    else:
        reduce_into(n, fn, n.densified(x), reduced, y, count)


def _submit(
    n: Lowering,
    kernel: Reduce,
    words: Mapping[str, Word],
    tensors: tuple[View, View],
    axes: tuple[list[LineAxis], list[LineAxis]],
    pieces: int,
) -> None:
    (x, y), (lead, folds) = tensors, axes
    whole = {**words, "x": x, "y": y, **lead_words(lead, ("x", "y")), **fold_words(folds)}
    tasks = pieces * prod(axis.size for axis in lead)
    bytes_read = x.elements * x.item_bytes
    moved = bytes_read + y.elements * y.item_bytes
    chunk = chunk_of(bytes_read // tasks)
    n.job(kernel, whole, tasks=tasks, written=[y], chunk=chunk, flops=x.elements, moved_bytes=moved)


LOWERINGS.add("argmax", lambda n: _place(n, "max"))
LOWERINGS.add("argmin", lambda n: _place(n, "min"))
LOWERINGS.add("cumsum", lambda n: _scan(n, "sum"))
LOWERINGS.add("cumprod", lambda n: _scan(n, "prod"))


def _place(n: Lowering, fn: Literal["max", "min"]) -> None:
    n.only("axis", "keepdims", "select_last")
    x = n.operand(0)
    x = replace(x, storage="u8") if x.storage == "bool" else x
    axis = _axis(n, x)
    if x.shape[axis] >= 1 << 31:
        raise NotTaken("a longer axis")
    y = n.result()
    kept = [1 if i == axis else size for i, size in enumerate(x.shape)]
    strides = [0 if i == axis else stride for i, stride in enumerate(dense_strides(kept))]
    y_lines = replace(y, shape=x.shape, strides=tuple(strides))
    x, lines = along(n, x, y_lines, axis)
    kernel = ExtremePlaceKernel(x.storage, y.storage, len(lines.lead), lines.columns > 0, fn, bool(n.attr("select_last", False)))
    submit_lines(n, kernel, lines, (x, y), flops=2 * x.elements)


def _scan(n: Lowering, fn: Literal["sum", "prod"]) -> None:
    n.only("axis", "exclusive", "reverse")
    x = n.operand(0)
    if x.storage == "bool":
        raise NotTaken("truth values")
    axis = _axis(n, x)
    y = n.result()
    x, lines = along(n, x, y, axis)
    exclusive, reverse = bool(n.attr("exclusive", False)), bool(n.attr("reverse", False))
    exclusive, reverse = bool(n.attr("exclusive", False)), bool(n.attr("reverse", False))
    kernel = Scan(x.storage, y.storage, len(lines.lead), lines.columns > 0, fn, exclusive, reverse)
    submit_lines(n, kernel, lines, (x, y), flops=x.elements)


def _axis(n: Lowering, x: View) -> int:
    axis = n.attr("axis")
    if not isinstance(axis, int) or not x.shape:
        raise NotTaken("no axis")
    return axis % len(x.shape)
