"""Ops that change shape or order against TensorFlow's interpreter."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.ttc.importers.tflite.cases import FLOAT, INT32, INT64, Result, check_op, const, ints, normal, quantized

X = normal(2, 3, 4)
CODES = Result("INT8", (0.05,), (3,))


def test_reshape(tmp_path: Path) -> None:
    check_op(tmp_path, "RESHAPE", X, const(ints(4, -1)))
    check_op(tmp_path, "RESHAPE", X, new_shape=(6, 4))


def test_squeeze_and_expand(tmp_path: Path) -> None:
    check_op(tmp_path, "SQUEEZE", normal(1, 3, 1, 2), squeeze_dims=(-2,))
    check_op(tmp_path, "SQUEEZE", normal(1, 3, 1, 2))
    check_op(tmp_path, "EXPAND_DIMS", X, const(ints(-2)))


def test_transpose(tmp_path: Path) -> None:
    check_op(tmp_path, "TRANSPOSE", X, const(ints(2, 0, 1)))


@pytest.mark.parametrize("axis", [0, -1])
def test_concatenation(axis: int, tmp_path: Path) -> None:
    check_op(tmp_path, "CONCATENATION", X, normal(2, 3, 4), const(X), axis=axis, fused_activation_function="NONE")


def test_split(tmp_path: Path) -> None:
    check_op(tmp_path, "SPLIT", const(ints(2)), X, results=(FLOAT, FLOAT), num_splits=2)
    check_op(tmp_path, "SPLIT_V", X, const(ints(1, -1, 1)), const(ints(2)), results=(FLOAT,) * 3, num_splits=3)


def test_pack_and_unpack(tmp_path: Path) -> None:
    check_op(tmp_path, "PACK", X, normal(2, 3, 4), axis=1, values_count=2)
    check_op(tmp_path, "UNPACK", X, results=(FLOAT,) * 3, axis=1, num=3)


def test_repetition(tmp_path: Path) -> None:
    check_op(tmp_path, "TILE", X, const(ints(1, 2, 3)))
    check_op(tmp_path, "BROADCAST_TO", normal(3, 1), const(ints(2, 3, 4)))
    check_op(tmp_path, "BROADCAST_ARGS", const(ints(2, 1)), const(ints(3)), results=(INT32,))


def test_reverse(tmp_path: Path) -> None:
    check_op(tmp_path, "REVERSE_V2", X, const(ints(1)))


@pytest.mark.parametrize("result", [INT32, INT64])
def test_shape(result: Result, tmp_path: Path) -> None:
    check_op(tmp_path, "SHAPE", X, results=(result,), out_type=result.kind)


def test_made_of_sizes(tmp_path: Path) -> None:
    check_op(tmp_path, "RANK", X, results=(INT32,))
    check_op(tmp_path, "ZEROS_LIKE", X)
    check_op(tmp_path, "FILL", const(ints(2, 3)), normal())
    check_op(tmp_path, "RANGE", *(const(np.array(v, np.int32)) for v in (3, -8, -3)), results=(INT32,))
    check_op(tmp_path, "RANGE", *(const(np.array(v, np.float32)) for v in (0.5, 3, 0.4)))


def test_matrix_diagonals(tmp_path: Path) -> None:
    check_op(tmp_path, "MATRIX_DIAG", X)
    check_op(tmp_path, "MATRIX_SET_DIAG", X, normal(2, 3))
    check_op(tmp_path, "MATRIX_SET_DIAG", normal(2, 4, 3), normal(2, 3))


def test_embedding_lookup(tmp_path: Path) -> None:
    check_op(tmp_path, "EMBEDDING_LOOKUP", ints(2, 0, 2), const(normal(4, 3)))


@pytest.mark.parametrize(
    ("op", "operands", "options"),
    [
        ("RESHAPE", (const(ints(6, 4)),), {}),
        ("TRANSPOSE", (const(ints(2, 0, 1)),), {}),
        ("TILE", (const(ints(1, 2, 1)),), {}),
        ("REVERSE_V2", (const(ints(2)),), {}),
        ("SQUEEZE", (), {}),
    ],
)
def test_integers_are_moved_as_they_are(op: str, operands: tuple, options: dict, tmp_path: Path) -> None:
    check_op(tmp_path, op, quantized(2, 3, 4), *operands, results=(CODES,), steps=0, **options)


def test_concatenation_of_other_steps(tmp_path: Path) -> None:
    x, y = quantized(2, 3, dtype=np.uint8), quantized(2, 3, scale=0.1, zero=7, dtype=np.uint8)
    check_op(tmp_path, "CONCATENATION", x, y, results=(Result("UINT8", (0.05,), (3,)),), axis=1, fused_activation_function="NONE")
