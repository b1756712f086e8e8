"""Rows for TFLite's choice of boxes, NonMaxSuppression."""

from __future__ import annotations

import numpy as np

from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.values import SSAValue
from ttc.importers.common.builder import Builder
from ttc.importers.common.unsupported import Unsupported
from ttc.importers.tflite.building import TfliteBuilder
from ttc.importers.tflite.tables import Rows

INT64 = np.dtype(np.int64)
MAX_BOXES = 1 << 16


def non_max_suppression_v4(
    b: TfliteBuilder, boxes: SSAValue, scores: SSAValue, most: SSAValue, overlap: SSAValue, least: SSAValue
) -> tuple[SSAValue, ...]:
    """Return indices of the chosen boxes, then zeros; and how many there are."""
    found, places, count = _chosen(b, boxes, scores, most, overlap, least)
    return _listed(b, found, places, count), _number(b, found)


def non_max_suppression_v5(
    b: TfliteBuilder, boxes: SSAValue, scores: SSAValue, most: SSAValue, overlap: SSAValue, least: SSAValue, sigma: SSAValue
) -> tuple[SSAValue, ...]:
    """Return indices of the chosen boxes with their scores, which overlaps do not lower; and how many there are."""
    if b.number(sigma, "sigma") != 0:
        raise Unsupported("scores that overlaps lower")
    found, places, count = _chosen(b, boxes, scores, most, overlap, least)
    chosen = b.nn("gather", scores, found, axis=0)
    return _listed(b, found, places, count), _listed(b, chosen, places, count), _number(b, found)


def _chosen(
    b: TfliteBuilder, boxes: SSAValue, scores: SSAValue, most: SSAValue, overlap: SSAValue, least: SSAValue
) -> tuple[SSAValue, SSAValue, int]:
    """Return indices [?] of the chosen boxes, places [?, 1] for them, and how many there may be."""
    count = b.whole(most, "number of boxes")
    if not 1 <= count <= MAX_BOXES or b.rank(boxes) != 2 or b.rank(scores) != 1:
        raise Error("E0401", f"{count} boxes cannot be chosen from {b.spec(boxes)} with scores {b.spec(scores)}")
    limits = [b.constant(np.array(count, np.int64)), b.reshape(overlap), b.reshape(least)]
    scored = b.reshape(scores, 1, 1, *b.shape(scores))
    triples = b.nn("non_max_suppression", b.reshape(boxes, 1, *b.shape(boxes)), scored, *limits, centered=False)
    found = b.nn("reshape", b.nn("gather", triples, b.constant(np.array([2])), axis=1), shape=(-1,))
    ones = b.cast(b.nn("equal", found, found), INT64)
    places = b.nn("cumsum", ones, axis=0, exclusive=True, reverse=False)
    return found, b.nn("reshape", places, shape=(-1, 1)), count


def _listed(b: Builder, values: SSAValue, places: SSAValue, count: int) -> SSAValue:
    zeros = b.constant(np.zeros(count, b.dtype(values)))
    return b.nn("scatter_nd", zeros, places, values, reduction="none")


def _number(b: Builder, found: SSAValue) -> SSAValue:
    return b.nn("reduce_sum", b.cast(b.nn("equal", found, found), INT64), axes=(0,), keepdims=False)


ROWS: Rows = {"NON_MAX_SUPPRESSION_V4": non_max_suppression_v4, "NON_MAX_SUPPRESSION_V5": non_max_suppression_v5}
