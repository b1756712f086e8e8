"""The row for TensorFlow's choice of boxes, NonMaxSuppression."""

from __future__ import annotations

import numpy as np

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.values import SSAValue
from ttc.importers.common.builder import Builder
from ttc.importers.tf.tables import Rows


def non_max_suppression(
    b: Builder,
    boxes: SSAValue,
    scores: SSAValue,
    max_output_size: SSAValue,
    iou_threshold: SSAValue,
    score_threshold: SSAValue | None = None,
) -> SSAValue:
    """Return indices of the chosen boxes, the best first: as many as there are."""
    if b.rank(boxes) != 2 or b.rank(scores) != 1:
        raise Error("E0401", f"boxes {b.spec(boxes)} and scores {b.spec(scores)} are not of rank 2 and 1")
    limits = [b.cast(b.reshape(max_output_size), np.dtype(np.int64)), b.reshape(iou_threshold)]
    least = None if score_threshold is None else b.reshape(score_threshold)
    batch, scored = b.reshape(boxes, 1, *b.shape(boxes)), b.reshape(scores, 1, 1, *b.shape(scores))
    triples = b.nn("non_max_suppression", batch, scored, *limits, least, centered=False)
    found = b.nn("reshape", b.nn("gather", triples, b.constant(np.array([2])), axis=1), shape=(-1,))
    return b.cast(found, np.dtype(np.int32))


ROWS: Rows = {"NonMaxSuppressionV2": non_max_suppression, "NonMaxSuppressionV3": non_max_suppression}
