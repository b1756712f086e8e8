"""Lists of tensors in loops and branches, beside TensorFlow's own results."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

tf = pytest.importorskip("tensorflow", reason="TensorFlow is not installed: it has no build for this Python")

from tests.ttc.importers.tf.cases import check, normal  # noqa: E402


def test_lists_that_data_fills(tmp_path: Path) -> None:
    def function(x: Any) -> dict[str, Any]:
        def step(i: Any, y: Any, kept: Any) -> tuple[Any, Any, Any]:
            return i + 1, y * 2.0, kept.write(i, y)

        array = tf.TensorArray(tf.float32, 6, element_shape=[3])
        count, _, kept = tf.while_loop(lambda i, y, _: tf.reduce_max(y) < 20.0, step, [0, tf.abs(x[0]) + 1.0, array])
        at = tf.argmax(x[:, 0], output_type=tf.int32)
        rows = tf.TensorArray(tf.float32, 4).unstack(x)
        written = tf.TensorArray(tf.float32, 3, element_shape=[3]).write(at % 3, x[1])
        chosen = tf.cond(x[0, 0] > 0, lambda: tf.linalg.matmul(x, x, transpose_b=True)[:, :3], lambda: rows.write(0, x[2]).stack())
        joined = {"joined": rows.concat(), "few": rows.gather([2, 0]), "read": rows.read(at), "written": written.stack()}
        return {"kept": kept.stack(), "count": count, "chosen": chosen, "length": written.size() + 0, **joined}

    check(function, normal(4, 3), folder=tmp_path)


@pytest.mark.parametrize(("limit", "most"), [("control.MAX_TRIPS", 8), ("walk.MAX_UNROLLED", 300)])
def test_scans_too_long_to_unroll(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str, most: int) -> None:
    """Their lists have no shape before the first iteration stores in them."""
    monkeypatch.setattr(f"ttc.importers.tf.{limit}", most)

    def function(x: Any) -> dict[str, Any]:
        return {"scan": tf.scan(lambda y, row: y * 0.5 + row, x), "map": tf.map_fn(lambda row: tf.reduce_sum(row) * row, x)}

    check(function, normal(40, 3), folder=tmp_path)


def test_counts_of_bounded_size_and_bits(tmp_path: Path) -> None:
    def function(i: Any, x: Any) -> dict[str, Any]:
        counts = {"many": tf.math.bincount(i, minlength=5, maxlength=5, binary_output=True, axis=-1), "not": tf.bitwise.invert(i)}
        parts = {"xlog1py": tf.math.xlog1py(x, tf.abs(x)), "xdivy": tf.math.xdivy(tf.nn.relu(x), tf.nn.relu(x))}
        return {
            **counts,
            **parts,
            "bits": tf.bitcast(x, tf.int32),
            "eighth": tf.cast(tf.cast(x, tf.dtypes.experimental.float8_e4m3fn), tf.float32),
        }

    check(function, np.array([[3, 1], [9, 0]], np.int32), normal(3, 4), folder=tmp_path)
