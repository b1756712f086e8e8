"""Numpy semantics of the ops on boxes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ttc.dialects.core.errors import Error
from ttc.dialects.nn.kernels import KERNELS


@KERNELS.rule("non_max_suppression")
def non_max_suppression(
    boxes: NDArray, scores: NDArray, most: NDArray, overlap: NDArray, least_score: NDArray | None = None, *, centered: bool
) -> NDArray:
    """[count, 3]: image, class and box of those that no better one of their class overlaps too much, best first."""
    count, limit, least = int(most), float(overlap), -np.inf if least_score is None else float(least_score)
    if np.isnan(limit) or np.isnan(least):
        raise Error("E0802", f"an overlap of {limit} or a score of {least} is no number")
    rows: list[tuple[int, int, int]] = []
    for image in range(scores.shape[0]):
        corners = _corners(boxes[image].astype(np.float64), centered)
        for kind in range(scores.shape[1]):
            kept = _best(corners, scores[image, kind], count, limit, None if least_score is None else least)
            rows.extend((image, kind, box) for box in kept)
    return np.array(rows, np.int64).reshape(len(rows), 3)


def _corners(boxes: NDArray, centered: bool) -> NDArray:
    """[n, 4]: lower then upper ends along both dimensions."""
    if centered:
        middle, half = boxes[:, :2], boxes[:, 2:] / 2
        return np.concatenate([middle - half, middle + half], axis=1)
    return np.concatenate([np.minimum(boxes[:, :2], boxes[:, 2:]), np.maximum(boxes[:, :2], boxes[:, 2:])], axis=1)


def _best(corners: NDArray, scores: NDArray, most: int, overlap: float, least_score: float | None) -> list[int]:
    order = np.argsort(-scores, kind="stable")
    if least_score is not None:
        order = order[scores[order] > least_score]
    kept: list[int] = []
    while len(order) and len(kept) < most:
        first, order = int(order[0]), order[1:]
        kept.append(first)
        order = order[_overlaps(corners[first], corners[order]) <= overlap]
    return kept


def _overlaps(box: NDArray, others: NDArray) -> NDArray:
    """[n]: intersection over union of a box with others; 0 where either is empty."""
    extents = np.minimum(box[2:], others[:, 2:]) - np.maximum(box[:2], others[:, :2])
    shared = np.prod(np.maximum(extents, 0), axis=1)
    areas = np.prod(others[:, 2:] - others[:, :2], axis=1)
    union = np.prod(box[2:] - box[:2]) + areas - shared
    return np.where((shared > 0) & (union > 0), shared / np.where(union > 0, union, 1), 0)
