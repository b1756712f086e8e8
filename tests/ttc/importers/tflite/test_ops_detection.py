"""The choice of boxes against TensorFlow's interpreter."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tests.draws import generator
from tests.ttc.importers.tflite.cases import FLOAT, INT32, check_op, const

CORNERS = generator("ops_detection.CORNERS").random((12, 2)).astype(np.float32)
BOXES = np.concatenate([CORNERS, CORNERS + generator("ops_detection.BOXES").uniform(0.2, 0.6, (12, 2)).astype(np.float32)], axis=1)
SCORES = generator("ops_detection.SCORES").random(12).astype(np.float32)
LIMITS = [const(np.array(0.4, np.float32)), const(np.array(0.2, np.float32))]


def test_boxes_are_chosen(tmp_path: Path) -> None:
    check_op(tmp_path, "NON_MAX_SUPPRESSION_V4", BOXES, SCORES, const(np.array(8, np.int32)), *LIMITS, results=(INT32, INT32))


def test_boxes_are_chosen_with_scores(tmp_path: Path) -> None:
    limits = [const(np.array(8, np.int32)), *LIMITS, const(np.array(0.0, np.float32))]
    check_op(tmp_path, "NON_MAX_SUPPRESSION_V5", BOXES, SCORES, *limits, results=(INT32, FLOAT, INT32))
