"""Elements told apart and counted, beside TensorFlow's own results."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

tf = pytest.importorskip("tensorflow", reason="TensorFlow is not installed: it has no build for this Python")

from tests.ttc.importers.tf.cases import check, normal  # noqa: E402

RAW = tf.raw_ops


def test_counts_and_places(tmp_path: Path) -> None:
    def function(x: Any, i: Any) -> dict[str, Any]:
        edges = [-1.0, 0.0, 1.0]
        sides = {s: tf.searchsorted(edges, x[0], s) for s in ("left", "right")}
        stitched = tf.dynamic_stitch([[0, 3], [[2], [1]], [0]], [x[:2], x[2:4][:, None], x[4:]])
        top = tf.math.in_top_k([0, 1, 2, 3, 9], x, 2)
        return {**sides, "stitched": stitched, "top": top, "histogram": tf.histogram_fixed_width(x, [-1.0, 1.0], 5)}

    check(function, normal(5, 4), np.array([3, 1, 3, 0, 1], np.int32), folder=tmp_path)


def test_elements_told_apart(tmp_path: Path) -> None:
    def function(x: Any, i: Any) -> dict[str, Any]:
        values, places, counts = tf.unique_with_counts(i)
        other, where = RAW.ListDiff(x=i, y=[1, 2])
        parts = {f"part {n}": p for n, p in enumerate(tf.dynamic_partition(x, i % 2, 2))}
        return {"values": values, "places": places, "counts": counts, "other": other, "where": where, **parts}

    check(function, normal(5, 4), np.array([3, 1, 3, 0, 1], np.int32), folder=tmp_path)


def test_combined_slices(tmp_path: Path) -> None:
    def function(x: Any) -> dict[str, Any]:
        return {n: getattr(tf, f"tensor_scatter_nd_{n}")(x, [[1], [3]], x[:2]) for n in ("sub", "max", "min")}

    check(function, normal(5, 4), folder=tmp_path)
