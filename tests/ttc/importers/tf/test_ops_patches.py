"""Parts of images, beside TensorFlow's own results."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

tf = pytest.importorskip("tensorflow", reason="TensorFlow is not installed: it has no build for this Python")

from tests.ttc.importers.tf.cases import check, normal  # noqa: E402


def test_patches_maxima_and_boxes(tmp_path: Path) -> None:
    def function(x: Any, boxes: Any) -> dict[str, Any]:
        apart = {"apart": tf.image.extract_patches(x, [1, 2, 3, 1], [1, 2, 3, 1], [1, 1, 1, 1], "VALID")}
        args = ([1, 3, 2, 1], [1, 2, 1, 1], [1, 1, 2, 1])
        dense = {p: tf.image.extract_patches(x, *args, p) for p in ("SAME", "VALID")}
        values, places = tf.nn.max_pool_with_argmax(x, 3, 2, "SAME")
        batch = tf.nn.max_pool_with_argmax(x, 2, 2, "VALID", include_batch_in_index=True)[1]
        crops = {m: tf.image.crop_and_resize(x, boxes, [1, 0, 1], [4, 5], m, -1.0) for m in ("bilinear", "nearest")}
        single = {"single": tf.image.crop_and_resize(x, boxes, [1, 0, 1], [1, 1])}
        return {**apart, **dense, **crops, **single, "max": values, "places": places, "batch": batch}

    boxes = np.array([[0, 0, 1, 1], [0.1, 0.2, 0.9, 1.3], [0.8, 0.9, 0.1, 0.2]], np.float32)
    check(function, normal(2, 6, 9, 3), boxes, folder=tmp_path)
