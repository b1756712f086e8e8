"""Linear algebra, beside TensorFlow's own results."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

tf = pytest.importorskip("tensorflow", reason="TensorFlow is not installed: it has no build for this Python")

from tests.ttc.importers.tf.cases import check, normal  # noqa: E402


def test_equations_and_factors(tmp_path: Path) -> None:
    def function(a: Any, x: Any) -> dict[str, Any]:
        symmetric = tf.matmul(a, a, transpose_b=True) + tf.eye(3)
        sign, size = tf.linalg.slogdet(a)
        q, r = tf.linalg.qr(a)
        s, u, v = tf.linalg.svd(a)
        values, vectors = tf.linalg.eigh(symmetric)
        factors, order = tf.linalg.lu(a)
        solved = {"solve": tf.linalg.solve(a, x), "adjoint": tf.linalg.solve(a, x, adjoint=True), "inv": tf.linalg.inv(a)}
        triangles = {"low": tf.linalg.triangular_solve(a, x), "up": tf.linalg.triangular_solve(a, x, lower=False, adjoint=True)}
        made = {"qr": tf.matmul(q, r), "svd": tf.matmul(u, s[..., None] * tf.linalg.matrix_transpose(v)), "s": s, "e": values}
        whole = {"det": tf.linalg.det(a), "sign": sign, "log": size, "lu": factors, "order": order, "chol": tf.linalg.cholesky(symmetric)}
        return {**solved, **triangles, **made, **whole, "vectors": tf.matmul(symmetric, vectors) - vectors * values[..., None, :]}

    check(function, normal(2, 3, 3) + 2 * np.eye(3, dtype=np.float32), normal(2, 3, 2, seed=1), folder=tmp_path)


def test_products_of_vectors_and_of_narrow_integers(tmp_path: Path) -> None:
    def function(x: Any, i: Any, j: Any) -> dict[str, Any]:
        sparse = tf.linalg.matmul(x, x, transpose_b=True, a_is_sparse=True)
        return {"cross": tf.linalg.cross(x, x[::-1]), "sparse": sparse, "int8": tf.matmul(i, j, output_type=tf.int32)}

    i = np.full((2, 40), 100, np.int8)
    check(function, normal(4, 3), i, i.T.copy(), folder=tmp_path)
