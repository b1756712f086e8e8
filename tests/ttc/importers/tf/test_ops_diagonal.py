"""Diagonals, beside TensorFlow's own results."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

tf = pytest.importorskip("tensorflow", reason="TensorFlow is not installed: it has no build for this Python")

from tests.ttc.importers.tf.cases import check, normal  # noqa: E402


def test_diagonals(tmp_path: Path) -> None:
    def function(x: Any, m: Any, t: Any) -> dict[str, Any]:
        made = {f"diag {k}": tf.linalg.diag(x, k=k, padding_value=7.0) for k in (-1, 0, 2)}
        sized = {"sized": tf.linalg.diag(x[:, :2], k=(0, 1), num_rows=2, num_cols=4), "wide": tf.linalg.diag(x, k=1, num_cols=6)}
        sides = ("LEFT_RIGHT", "RIGHT_LEFT", "LEFT_LEFT", "RIGHT_RIGHT")
        parts = {f"part {s}": tf.linalg.diag_part(m, k=(-2, 1), padding_value=9.0, align=s) for s in sides}
        one = {"one": tf.linalg.diag_part(m, k=1), "trace": tf.linalg.trace(m), "main": tf.linalg.diag_part(m)}
        stored = {"set": tf.linalg.set_diag(m, x), "band": tf.linalg.set_diag(m, x[:, :2, None] * tf.ones(3), k=(0, 1), align="LEFT_RIGHT")}
        whole = {"tensor": tf.linalg.tensor_diag(t), "back": tf.linalg.tensor_diag_part(tf.linalg.tensor_diag(t))}
        return {**made, **sized, **parts, **one, **stored, **whole, "eye": tf.eye(3, 4, [2]) + x[0, 0]}

    check(function, normal(2, 3), normal(2, 3, 4), normal(2, 3, seed=2), folder=tmp_path)
