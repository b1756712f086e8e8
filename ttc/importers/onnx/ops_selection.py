"""Ops whose result has as many elements as the data decides."""

from __future__ import annotations

import numpy as np

from ttc.dialects.core.ir.spec import DYNAMIC
from ttc.dialects.core.ir.values import SSAValue
from ttc.dialects.core.shapes import axis_in
from ttc.importers.common.builder import Builder
from ttc.importers.onnx.tables import MAPPINGS


@MAPPINGS.rule("Compress-9")
def compress_9(b: Builder, x: SSAValue, condition: SSAValue, *, axis: int | None = None) -> SSAValue:
    """Select slices by a condition; one that is known says how many there are."""
    known, spec = b.known(condition), b.spec(x)
    along = None if axis is None else axis_in(axis, spec.rank)
    size = spec.elements if along is None and spec.is_static else DYNAMIC if along is None else spec.shape[along]
    places = np.array([], np.int64) if known is None else np.flatnonzero(known)
    if known is not None and known.ndim == 1 and size != DYNAMIC and (not places.size or places[-1] < size):
        return b.nn("gather", b.reshape(x, size) if along is None else x, b.constant(places, np.dtype(np.int64)), axis=along or 0)
    return b.nn("compress", x, condition, axis=along)


@MAPPINGS.rule("Unique-11")
def unique_11(b: Builder, x: SSAValue, *, axis: int | None = None, sorted: int = 1) -> tuple[SSAValue, ...]:
    return b.nn_all("unique", x, sorted=bool(sorted), axis=None if axis is None else axis_in(axis, b.rank(x)))


@MAPPINGS.rule("NonMaxSuppression-10")
def non_max_suppression_10(
    b: Builder,
    boxes: SSAValue,
    scores: SSAValue,
    most: SSAValue | None = None,
    overlap: SSAValue | None = None,
    least_score: SSAValue | None = None,
    *,
    center_point_box: int = 0,
) -> SSAValue:
    """Select boxes; without a limit of boxes there are none."""
    return b.nn(
        "non_max_suppression",
        boxes,
        scores,
        b.constant(np.array(0, np.int64)) if most is None else b.reshape(most),
        b.scalar(0, boxes) if overlap is None else b.reshape(overlap),
        None if least_score is None else b.reshape(least_score),
        centered=bool(center_point_box),
    )
