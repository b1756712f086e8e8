"""Reductions, softmax, normalizations and products of matrices against TensorFlow's interpreter."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.ttc.importers.tflite.cases import BOOL, FLOAT, INT32, INT64, Result, check_op, const, ints, normal, quantized

X = normal(2, 3, 4)
CODES = Result("INT8", (0.05,), (3,))


@pytest.mark.parametrize("keep", [True, False])
@pytest.mark.parametrize("op", ["MEAN", "SUM", "REDUCE_PROD", "REDUCE_MAX", "REDUCE_MIN"])
def test_reductions(op: str, keep: bool, tmp_path: Path) -> None:
    check_op(tmp_path, op, X, const(ints(-1, 0)), keep_dims=keep)


@pytest.mark.parametrize("op", ["REDUCE_ANY", "REDUCE_ALL"])
def test_truth(op: str, tmp_path: Path) -> None:
    check_op(tmp_path, op, X > 0, const(ints(1)), results=(BOOL,))


@pytest.mark.parametrize("op", ["ARG_MAX", "ARG_MIN"])
@pytest.mark.parametrize("result", [INT32, INT64])
def test_places(op: str, result: Result, tmp_path: Path) -> None:
    check_op(tmp_path, op, X, const(np.array(1, np.int32)), results=(result,), output_type=result.kind)


@pytest.mark.parametrize("exclusive", [True, False])
@pytest.mark.parametrize("reverse", [True, False])
def test_cumsum(exclusive: bool, reverse: bool, tmp_path: Path) -> None:
    check_op(tmp_path, "CUMSUM", X, const(np.array(-1, np.int32)), exclusive=exclusive, reverse=reverse)


@pytest.mark.parametrize("beta", [1.0, 0.5])
def test_softmax(beta: float, tmp_path: Path) -> None:
    check_op(tmp_path, "SOFTMAX", X, beta=beta)


def test_other_normalizations(tmp_path: Path) -> None:
    check_op(tmp_path, "LOG_SOFTMAX", X)
    check_op(tmp_path, "L2_NORMALIZATION", X, fused_activation_function="NONE")


@pytest.mark.parametrize(("x", "y"), [(False, False), (True, False), (False, True), (True, True)])
def test_batch_matmul(x: bool, y: bool, tmp_path: Path) -> None:
    a, c = normal(2, 5, 3) if x else normal(2, 3, 5), normal(4, 5) if y else normal(5, 4)
    check_op(tmp_path, "BATCH_MATMUL", a, c, adj_x=x, adj_y=y)


@pytest.mark.parametrize(("op", "steps"), [("MEAN", 1), ("REDUCE_MAX", 0)])
def test_reductions_of_integers(op: str, steps: int, tmp_path: Path) -> None:
    check_op(tmp_path, op, quantized(2, 3, 4), const(ints(1)), results=(CODES,), steps=steps)


def test_softmax_of_integers(tmp_path: Path) -> None:
    check_op(tmp_path, "SOFTMAX", quantized(3, 6), results=(Result("INT8", (1 / 256,), (-128,)),), beta=1.0)


def test_matmul_of_integers(tmp_path: Path) -> None:
    check_op(tmp_path, "BATCH_MATMUL", quantized(2, 3, 5), quantized(2, 5, 4, scale=0.02, zero=0), results=(Result("INT8", (0.1,), (3,)),))


def test_places_of_integers(tmp_path: Path) -> None:
    check_op(tmp_path, "ARG_MAX", quantized(3, 6), const(np.array(-1, np.int32)), results=(INT32,), output_type="INT32")


def test_two_axes_that_are_one_count_once(tmp_path: Path) -> None:
    check_op(tmp_path, "SUM", X, const(ints(1, -2)), results=(FLOAT,))
