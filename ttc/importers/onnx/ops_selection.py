"""Ops whose result has as many elements as the data decides."""

from __future__ import annotations

from xdsl.ir import SSAValue

from ttc.dialects.nn.base import axis_in
from ttc.importers.onnx.builder import Builder


def compress_9(b: Builder, x: SSAValue, condition: SSAValue, *, axis: int | None = None) -> SSAValue:
    return b.nn("compress", x, condition, axis=None if axis is None else axis_in(axis, len(b.shape(x))))


def unique_11(b: Builder, x: SSAValue, *, axis: int | None = None, sorted: int = 1) -> tuple[SSAValue, ...]:
    return b.nn_all("unique", x, sorted=bool(sorted), axis=None if axis is None else axis_in(axis, len(b.shape(x))))


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
        centered=bool(center_point_box),
        most=0 if most is None else max(int(b.number(most, "max_output_boxes_per_class")), 0),
        overlap=0.0 if overlap is None else b.number(overlap, "iou_threshold"),
        least_score=None if least_score is None else b.number(least_score, "score_threshold"),
    )
