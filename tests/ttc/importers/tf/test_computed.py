"""Parts at computed places, beside TensorFlow's own results."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

tf = pytest.importorskip("tensorflow", reason="TensorFlow is not installed: it has no build for this Python")

from tests.ttc.importers.tf.cases import check, normal  # noqa: E402


def test_parts_at_computed_places(tmp_path: Path) -> None:
    def function(x: Any, i: Any) -> dict[str, Any]:
        at = tf.argmax(x[:, 0], output_type=tf.int32)
        single = {"row": x[at], "column": x[:, at], "both": x[at, None, 1:], "slice": tf.slice(x, [i[0], 0], [2, 3]), "end": x[..., -1]}
        return {**single, "sized": tf.slice(x, [0, at], [-1, 1]), "element": x[at, at]}

    check(function, normal(4, 4), np.array([1], np.int32), folder=tmp_path)


def test_parts_of_computed_sizes(tmp_path: Path) -> None:
    def function(x: Any) -> dict[str, Any]:
        count = tf.math.count_nonzero(x[:, 0] > 0, dtype=tf.int32)
        chosen = tf.boolean_mask(x, x[:, 0] > 0)
        columns = {"first": chosen[:, 0], "rest": chosen[:, 1:3], "last": chosen[-1], "new": chosen[:, None], "few": chosen[:2]}
        sizes = {
            "size": tf.size(chosen) + 0,
            "rows": tf.shape(chosen)[0] + 0,
            "zeros": tf.zeros_like(chosen),
            "flat": tf.reshape(chosen, [-1]),
        }
        return {**columns, **sizes, "head": x[:count], "shaped": tf.reshape(chosen, [count, 2, 2])}

    x = normal(5, 4)
    x[1:3, 0] = 1.0
    check(function, x, folder=tmp_path)


def test_tensors_of_computed_sizes(tmp_path: Path) -> None:
    check(lambda x: {"ones": tf.ones([tf.math.count_nonzero(x > 0), 2])}, normal(5), folder=tmp_path)
