"""Segments, beside TensorFlow's own results."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

tf = pytest.importorskip("tensorflow", reason="TensorFlow is not installed: it has no build for this Python")

from tests.ttc.importers.tf.cases import check, normal  # noqa: E402


def test_segments_in_order(tmp_path: Path) -> None:
    def function(x: Any) -> dict[str, Any]:
        ids = tf.constant([0, 0, 2, 2, 3])  # none has rows of segment 1
        found = {n: getattr(tf.math, f"segment_{n}")(x, ids) for n in ("sum", "mean", "max", "min", "prod")}
        rows, which = tf.constant([4, 0, 1]), tf.constant([0, 0, 2])
        sparse = {n: getattr(tf.sparse, f"segment_{n}")(x, rows, which) for n in ("sum", "mean", "sqrt_n")}
        return {**found, **{f"sparse {n}": y for n, y in sparse.items()}, "counted": tf.sparse.segment_sum(x, rows, which, num_segments=4)}

    check(function, normal(5, 3) - 3, folder=tmp_path)


def test_segments_in_any_order(tmp_path: Path) -> None:
    def function(x: Any, i: Any) -> dict[str, Any]:
        names = ("sum", "mean", "max", "min", "prod", "sqrt_n")
        found = {n: getattr(tf.math, f"unsorted_segment_{n}")(x, i, 4) for n in names}
        return {**found, "whole": tf.math.unsorted_segment_max(tf.cast(x * 9, tf.int32), i, 4)}

    check(function, normal(5, 3), np.array([3, 0, -1, 3, 0], np.int32), folder=tmp_path)
