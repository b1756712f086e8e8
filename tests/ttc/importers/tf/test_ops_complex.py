"""Complex numbers, beside TensorFlow's own results."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

tf = pytest.importorskip("tensorflow", reason="TensorFlow is not installed: it has no build for this Python")

from tests.ttc.importers.tf.cases import check, normal  # noqa: E402


def test_complex_numbers(tmp_path: Path) -> None:
    def function(x: Any, y: Any) -> dict[str, Any]:
        z, w = tf.complex(x, y), tf.complex(y, x + 3.0)
        found = {"mul": z * w, "div": z / w, "sum": tf.reduce_sum(z, 1), "exp": tf.exp(z), "log": tf.math.log(w), "inverse": 1.0 / w}
        moved = {"turned": tf.transpose(z), "shape": tf.reshape(z, [4, 3]), "part": z[:, 1:3], "joined": tf.concat([z, w], 0)}
        product = {"product": tf.matmul(z, w, adjoint_b=True), "plain": tf.matmul(z, w, transpose_b=True), "minus": -z + w - 2.0}
        constant = {"constant": z + tf.constant([[1 + 2j]], tf.complex64), "cast": tf.cast(x, tf.complex64) * z}
        every = {**found, **moved, **product, **constant}
        parts = {f"{n} {p}": getattr(tf.math, p)(v) for n, v in every.items() for p in ("real", "imag")}
        return {**parts, "angle": tf.math.angle(w), "real cast": tf.cast(z, tf.float32), "rank": tf.shape(z) + 0}

    check(function, normal(3, 4), normal(3, 4, seed=1), folder=tmp_path)


def test_spectra(tmp_path: Path) -> None:
    def function(x: Any) -> dict[str, Any]:
        windows = tf.signal.stft(x, 16, 8)
        coefficients = {"dct": tf.signal.dct(x), "idct": tf.signal.idct(x), "mdct": tf.signal.mdct(x, 16)}
        return {"stft": tf.abs(windows), "back": tf.signal.inverse_stft(windows, 16, 8), **coefficients}

    check(function, normal(2, 64), folder=tmp_path)
