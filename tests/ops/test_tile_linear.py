"""tile.matmul and tile.det against numpy."""

from __future__ import annotations

import numpy as np
import pytest

from tests.draws import generator
from tests.ops.tile_cases import check_error, check_op
from ttc.dialects.tile.base import twin
from ttc.dialects.tile.linear import MatmulOp

A = generator("tile_linear.A").standard_normal((2, 3, 5)).astype(np.float32)
B = generator("tile_linear.B").standard_normal((5, 4)).astype(np.float32)
BIAS = generator("tile_linear.BIAS").standard_normal(4).astype(np.float32)
PLAIN = {"transpose_a": False, "transpose_b": False}


@pytest.mark.parametrize("transpose_a", [False, True])
@pytest.mark.parametrize("transpose_b", [False, True])
def test_matmul(transpose_a: bool, transpose_b: bool) -> None:
    a, b = (np.swapaxes(A, 1, 2) if transpose_a else A), (B.T if transpose_b else B)
    check_op(MatmulOp, [a, b, None], {"transpose_a": transpose_a, "transpose_b": transpose_b}, A @ B, 1e-6)


def test_matmul_with_bias_and_activation() -> None:
    y = A @ B + BIAS
    check_op(MatmulOp, [A, B, BIAS], PLAIN, y, 1e-6)
    check_op(MatmulOp, [A, B, BIAS], {**PLAIN, "activation": "relu"}, np.maximum(y, 0), 1e-6)
    attrs = {**PLAIN, "activation": "leaky_relu", "activation_args": (0.5,)}
    check_op(MatmulOp, [A, B, BIAS], attrs, np.where(y >= 0, y, y / 2).astype(np.float32), 1e-6)


@pytest.mark.parametrize("shapes", [[(2, 3), (4, 5), None], [(3,), (3, 4), None], [(2, 3), (3, 4), (5,)], [(2, 3), (3, 4), (7, 2, 4)]])
def test_what_does_not_fit(shapes: list[tuple[int, ...] | None]) -> None:
    check_error(MatmulOp, shapes, PLAIN, "E0401")


def test_determinants() -> None:
    x = np.array([[[2, 1], [4, 3]], [[0, 1], [1, 0]]], np.float32)
    check_op(twin("det"), [x], {}, np.array([2, -1], np.float32), 1e-6)
    check_error(twin("det"), [(2, 3)], {}, "E0401")
