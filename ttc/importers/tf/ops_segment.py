"""Rows combined by the segments that they belong to."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.values import SSAValue
from ttc.importers.common.builder import Builder
from ttc.importers.common.parts import part
from ttc.importers.tf.tables import Rows

Combine: TypeAlias = Callable[[Builder, SSAValue, SSAValue, int], SSAValue]
INT64 = np.dtype(np.int64)
MAX_SEGMENTS = 1 << 24


def _start(reduction: str, dtype: np.dtype, *, sorted_: bool) -> float:
    """Return what a segment without rows holds: 0, or 1 of a product; the least or largest number where segments need not be in order."""
    if reduction in ("add", "mul"):
        return 0.0 if reduction == "add" else 1.0
    if sorted_:
        return 0.0
    limits = np.iinfo(dtype) if dtype.kind in "iu" else np.finfo(dtype)
    return limits.min if reduction == "max" else limits.max


def _combined(b: Builder, data: SSAValue, ids: SSAValue, count: int, reduction: str, empty: float) -> SSAValue:
    """[count, ...]: rows of equal ids combined; ids outside, which are count or below 0, count for nothing."""
    rank = b.rank(ids)
    if not 0 <= count <= MAX_SEGMENTS or b.shape(data)[:rank] != b.shape(ids):
        raise Error("E0401", f"{count} segments by {b.spec(ids)} do not fit {b.spec(data)}")
    rest = b.shape(data)[rank:]
    places = b.cast(ids, INT64)
    places = b.nn("where", b.nn("less", places, b.constant(np.array(0))), b.constant(np.array(count)), places)
    start = b.nn("expand", b.constant(np.array(empty).astype(b.dtype(data))), shape=(count + 1, *rest))
    found = b.nn("scatter_nd", start, b.reshape(places, *b.shape(ids), 1), data, reduction=reduction)
    return part(b, found, 0, 0, count)


def unsorted(reduction: str) -> Callable[..., SSAValue]:
    """Return a row that combines segments in any order, whose number is given."""

    def apply(b: Builder, data: SSAValue, segment_ids: SSAValue, num_segments: SSAValue) -> SSAValue:
        count = int(b.number(num_segments, "num_segments"))
        return _combined(b, data, segment_ids, count, reduction, _start(reduction, b.dtype(data), sorted_=False))

    return apply


def _count(b: Builder, ids: SSAValue) -> int:
    """Segments in order: as many as the last one says.  Raises E0401, E0402, Unsupported."""
    found = b.need(ids, "segment_ids")
    if found.ndim != 1 or found.dtype.kind not in "iu" or (np.diff(found) < 0).any() or found.min(initial=0) < 0:
        raise Error("E0402", f"segment_ids {found.dtype}{list(found.shape)} are no rising numbers from 0 on")
    return int(found[-1]) + 1 if found.size else 0


def _reduced(b: Builder, data: SSAValue, ids: SSAValue, count: int, reduction: str) -> SSAValue:
    """Segments in order: those without rows are 0, or 1 in a product."""
    if reduction in ("add", "mul"):
        return _combined(b, data, ids, count, reduction, _start(reduction, b.dtype(data), sorted_=True))
    found = _combined(b, data, ids, count, reduction, _start(reduction, b.dtype(data), sorted_=False))
    return b.nn("where", b.nn("greater", _sizes(b, data, ids, count), b.scalar(0, data)), found, b.scalar(0, data))


def _sizes(b: Builder, data: SSAValue, ids: SSAValue, count: int) -> SSAValue:
    """[count, 1, ...]: rows of each segment, in the data's dtype."""
    ones = b.constant(np.ones(b.shape(ids), b.dtype(data)))
    return b.reshape(_combined(b, ones, ids, count, "add", 0.0), count, *(1,) * (b.rank(data) - 1))


def _mean(b: Builder, data: SSAValue, ids: SSAValue, count: int, *, rooted: bool = False) -> SSAValue:
    """Sums divided by the numbers of rows, or by their square roots."""
    sizes = b.nn("maximum", _sizes(b, data, ids, count), b.scalar(1, data))
    total = _combined(b, data, ids, count, "add", 0.0)
    return b.nn("div", total, b.nn("sqrt", sizes) if rooted else sizes)


def _by(reduction: str) -> Combine:
    if reduction in ("mean", "sqrt"):
        return lambda b, data, ids, count: _mean(b, data, ids, count, rooted=reduction == "sqrt")
    return lambda b, data, ids, count: _reduced(b, data, ids, count, reduction)


def ordered(reduction: str) -> Callable[..., SSAValue]:
    """Return a row that combines segments in order, known at import."""
    combine = _by(reduction)

    def apply(b: Builder, data: SSAValue, segment_ids: SSAValue) -> SSAValue:
        return combine(b, data, segment_ids, _count(b, segment_ids))

    return apply


def sparse(reduction: str, *, counted: bool = False) -> Callable[..., SSAValue]:
    """Return a row that combines the rows that indices name, segment by segment.  counted: the number of segments is given."""
    combine = _by(reduction)

    def apply(
        b: Builder,
        data: SSAValue,
        indices: SSAValue,
        segment_ids: SSAValue,
        num_segments: SSAValue | None = None,
        *,
        sparse_gradient: bool = False,
    ) -> SSAValue:
        if counted != (num_segments is not None):
            raise Error("E0203", "num_segments is missing, or one too many")
        count = _count(b, segment_ids) if num_segments is None else int(b.number(num_segments, "num_segments"))
        return combine(b, b.nn("gather", data, b.cast(indices, INT64), axis=0), segment_ids, count)

    return apply


ROWS: Rows = {
    **{f"UnsortedSegment{name}": unsorted(op) for name, op in (("Sum", "add"), ("Prod", "mul"), ("Max", "max"), ("Min", "min"))},
    **{f"Segment{name}": ordered(op) for name, op in (("Sum", "add"), ("Prod", "mul"), ("Max", "max"), ("Min", "min"), ("Mean", "mean"))},
    **{f"Segment{name}V2": unsorted(op) for name, op in (("Sum", "add"), ("Prod", "mul"), ("Max", "max"), ("Min", "min"))},
    **{f"SparseSegment{name}": sparse(op) for name, op in (("Sum", "add"), ("Mean", "mean"), ("SqrtN", "sqrt"))},
    **{f"SparseSegment{n}WithNumSegments": sparse(op, counted=True) for n, op in (("Sum", "add"), ("Mean", "mean"), ("SqrtN", "sqrt"))},
}
