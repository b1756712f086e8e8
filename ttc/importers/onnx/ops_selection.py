"""Ops whose result has as many elements as the data decides."""

from __future__ import annotations

import numpy as np

from ttc.dialects.core.ir.values import SSAValue
from ttc.dialects.core.shapes import axis_in
from ttc.importers.common.builder import Builder
from ttc.importers.onnx.tables import MAPPINGS


@MAPPINGS.rule("Compress-9")
def compress_9(b: Builder, x: SSAValue, condition: SSAValue, *, axis: int | None = None) -> SSAValue:
    return b.nn("compress", x, condition, axis=None if axis is None else axis_in(axis, b.rank(x)))


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
    """Without a limit of boxes there are none."""
    return b.nn(
        "non_max_suppression",
        boxes,
        scores,
        b.constant(np.array(0, np.int64)) if most is None else b.reshape(most),
        b.scalar(0, boxes) if overlap is None else b.reshape(overlap),
        None if least_score is None else b.reshape(least_score),
        centered=bool(center_point_box),
    )
