"""Suppression of overlapping boxes, by hand and against a loop over pairs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.ops.cases import check_error, check_op, run_op, spec
from ttc.dialects.core.errors import Error
from ttc.dialects.nn.detection import NonMaxSuppressionOp

BOXES = np.array([[[0, 0, 1, 1], [0, 0.1, 1, 1.1], [0, -0.1, 1, 0.9], [0, 10, 1, 11], [0, 10.1, 1, 11.1], [0, 100, 1, 101]]], np.float32)
SCORES = np.array([[[0.9, 0.75, 0.6, 0.95, 0.5, 0.3]]], np.float32)
CORNERS = {"centered": False}


def limits(most: int = 3, overlap: float = 0.5, least_score: float | None = None) -> list[np.ndarray]:
    """The operands after boxes and scores."""
    return [np.array(most, np.int64), np.array(overlap, np.float32), *([] if least_score is None else [np.array(least_score, np.float32)])]


def operands(boxes: np.ndarray, scores: np.ndarray, **changes: Any) -> list[np.ndarray | None]:
    found: list[np.ndarray | None] = [boxes, scores, *limits(**changes)]
    return found if len(found) == 5 else [*found, None]


def rows(*boxes: int) -> np.ndarray:
    return np.array([(0, 0, box) for box in boxes], np.int64).reshape(-1, 3)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, rows(3, 0, 5)),
        ({"most": 2}, rows(3, 0)),
        ({"most": 0}, rows()),
        ({"least_score": 0.4}, rows(3, 0)),
        ({"least_score": 0.95}, rows()),
        ({"overlap": 1.0, "most": 9}, rows(3, 0, 1, 2, 4, 5)),
    ],
)
def test_limits(changes: dict[str, Any], expected: np.ndarray) -> None:
    check_op(NonMaxSuppressionOp, operands(BOXES, SCORES, **changes), CORNERS, expected)


def test_corners_in_any_order_and_centres_are_the_same_boxes() -> None:
    flipped = BOXES[..., [2, 3, 0, 1]]
    check_op(NonMaxSuppressionOp, operands(flipped, SCORES), CORNERS, rows(3, 0, 5))
    low, high = BOXES[..., :2], BOXES[..., 2:]
    centres = np.concatenate([(low + high) / 2, high - low], axis=-1)
    check_op(NonMaxSuppressionOp, operands(centres, SCORES), {"centered": True}, rows(3, 0, 5))


def overlap(a: np.ndarray, b: np.ndarray) -> float:
    height, width = (min(a[i + 2], b[i + 2]) - max(a[i], b[i]) for i in (0, 1))
    shared = max(height, 0) * max(width, 0)
    return shared / ((a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - shared)


def test_images_and_classes_against_pairs(rng: np.random.Generator) -> None:
    corner = rng.random((2, 20, 2))
    boxes = np.concatenate([corner, corner + 0.1 + rng.random((2, 20, 2)) / 2], axis=-1).astype(np.float32)
    scores = rng.random((2, 3, 20)).astype(np.float32)
    expected: list[tuple[int, int, int]] = []
    for image, kind in np.ndindex(2, 3):
        kept: list[int] = []
        for box in np.argsort(-scores[image, kind]):
            if len(kept) < 6 and all(overlap(boxes[image, k], boxes[image, box]) <= 0.3 for k in kept):
                kept.append(int(box))
        expected += [(image, kind, box) for box in kept]
    check_op(NonMaxSuppressionOp, operands(boxes, scores, most=6, overlap=0.3), CORNERS, np.array(expected))


def test_empty_boxes_overlap_nothing() -> None:
    boxes = np.zeros((1, 3, 4), np.float32)
    check_op(NonMaxSuppressionOp, operands(boxes, np.ones((1, 1, 3), np.float32)), CORNERS, rows(0, 1, 2))


def test_types() -> None:
    most, overlap = spec(dtype="int64"), spec()
    assert NonMaxSuppressionOp.infer(spec(2, 5, 4), spec(2, 7, 5), most, overlap, **CORNERS) == spec(-1, 3, dtype="int64")
    check_error("E0401", NonMaxSuppressionOp, [spec(2, 5, 3), spec(2, 7, 5), most, overlap, None], CORNERS)
    check_error("E0401", NonMaxSuppressionOp, [spec(2, 5, 4), spec(2, 7, 6), most, overlap, None], CORNERS)
    check_error("E0401", NonMaxSuppressionOp, [spec(2, 5, 4), spec(2, 7, 5), spec(1, dtype="int64"), overlap, None], CORNERS)
    check_error("E0403", NonMaxSuppressionOp, [spec(2, 5, 4), spec(2, 7, 5), overlap, overlap, None], CORNERS)
    integers = [spec(2, 5, 4, dtype="int32"), spec(2, 7, 5, dtype="int32")]
    check_error("E0403", NonMaxSuppressionOp, [*integers, most, overlap, None], CORNERS)


def test_limits_that_are_no_numbers() -> None:
    with pytest.raises(Error) as caught:
        run_op(NonMaxSuppressionOp, operands(BOXES, SCORES, overlap=float("nan")), CORNERS)
    assert caught.value.code == "E0802"
