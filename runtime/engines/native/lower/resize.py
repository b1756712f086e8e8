"""Lowering of images sampled anew: dimension by dimension, as the reference does it."""

from __future__ import annotations

from math import prod

import numpy as np

from ttc.dialects.core.kernels.resampling import ResampledAxis, Taps, taps
from ttc.runtime.engines.native.graph.tensors import View
from ttc.runtime.engines.native.jobs.copies import constant
from ttc.runtime.engines.native.jobs.job import NotTaken
from ttc.runtime.engines.native.jobs.lowering import Lowering
from ttc.runtime.engines.native.kernels.resize import Resample
from ttc.runtime.engines.native.lower import LOWERINGS

_FLOATS = ("f32", "bf16", "f16", "f64")
_MOST_TAPS = 1 << 20
"""The most taps of all samples of a dimension."""


@LOWERINGS.rule("resize")
def resize(n: Lowering) -> None:
    """Lower tile.resize: x sampled anew along every dimension whose size or scale changes."""
    x = n.operand(0)
    if x.storage not in _FLOATS:
        raise NotTaken(f"{x.storage} sampled anew")
    found = [(axis, sampling) for axis in range(len(x.shape)) if (sampling := _sampling(n, x, axis)) is not None]
    if not found:
        n.alias(x)
        return
    tables = [(axis, _taps(sampling)) for axis, sampling in found]
    for axis, table in tables:
        shape = (*x.shape[:axis], len(table.places), *x.shape[axis + 1 :])
        last = axis == tables[-1][0]
        target = n.result() if last else n.temp(shape, "f64" if x.storage == "f64" else "f32")
        _resample(n, x, axis, table, target)
        x = target


def _sampling(n: Lowering, x: View, axis: int) -> ResampledAxis | None:
    """Return how a dimension is sampled; None if it stays."""
    rank, size = len(x.shape), x.shape[axis]
    sizes, scales, window = (_numbers(n, name) for name in ("sizes", "scales", "window"))
    count, scale, start, end = sizes[axis], scales[axis], window[axis], window[rank + axis]
    if (count, scale, start, end) == (size, 1.0, 0.0, 1.0):
        return None
    mode, coordinates, rounding = (str(n.attr(name)) for name in ("mode", "coordinates", "rounding"))
    cubic, outside, antialias = n.attr("cubic", 0.0), bool(n.attr("exclude_outside", False)), bool(n.attr("antialias", False))
    if not isinstance(cubic, int | float) or not all(np.isfinite((scale, start, end))):
        raise NotTaken("numbers of another kind")
    return ResampledAxis(size, int(count), float(scale), start, end, mode, coordinates, rounding, float(cubic), outside, antialias)


def _taps(s: ResampledAxis) -> Taps:
    widest = 8 / min(s.scale, 1.0) if s.antialias else 8
    if s.count * widest > _MOST_TAPS:
        raise NotTaken("a kernel too wide")
    found = taps(s)
    if found.outside.any():
        raise NotTaken("samples outside")
    chosen = found.weights.argmax(axis=1)
    rows = np.arange(s.count)
    if np.all((found.weights == 0) | (found.weights == 1)) and np.all(found.weights.sum(axis=1) == 1):
        return Taps(found.places[rows, chosen][:, None], np.ones((s.count, 1)), found.outside)
    return found


def _resample(n: Lowering, x: View, axis: int, table: Taps, y: View) -> None:
    """Resample along one dimension, by a table of taps."""
    shape = (prod(x.shape[:axis]), x.shape[axis], prod(x.shape[axis + 1 :]))
    rows = x.reshaped(shape)
    if rows is None or (rows.strides[2] != 1 and rows.shape[2] != 1):
        rows = n.densified(x).reshaped(shape)
    if rows is None:
        raise NotTaken("no elements")
    lanes = max(n.cpu.vector_bytes // 4, 4)
    while lanes > shape[2]:
        lanes //= 2
    kernel = Resample(x.storage, y.storage, table.places.shape[1], lanes)
    words = {
        "source": rows,
        "places": constant(table.places, "i64"),
        "weights": constant(table.weights, "f64" if x.storage == "f64" else "f32"),
        "target": y,
        "rows": len(table.places),
        "columns": shape[2],
        "source_batch": rows.strides[0],
        "source_row": rows.strides[1],
    }
    moved = x.elements * x.item_bytes + y.elements * y.item_bytes
    tasks = shape[0] * len(table.places)
    n.job(kernel, words, tasks=tasks, written=[y], flops=2 * y.elements * kernel.taps, moved_bytes=moved)


def _numbers(n: Lowering, name: str) -> tuple[float, ...]:
    found = n.attr(name)
    if not isinstance(found, tuple) or not all(isinstance(x, int | float) for x in found):
        raise NotTaken(f"{name} of another kind")
    return tuple(x for x in found if isinstance(x, int | float))
