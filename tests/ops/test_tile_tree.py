"""tile.tree_ensemble: a stump, and shapes that do not suit."""

from __future__ import annotations

import numpy as np

from tests.ops.tile_cases import check_error, check_op
from ttc.dialects.tile.base import twin


def test_a_stump() -> None:
    x = np.array([[0, 1], [0, 3]], np.float32)
    nodes, splits, roots = np.array([[1, 0, ~0, ~1]], np.int32), np.array([2], np.float32), np.array([0], np.int32)
    weights = np.array([[5], [7]], np.float32)
    check_op(twin("tree_ensemble"), [x, nodes, splits, roots, weights, None], {"aggregate": "sum", "count": 1}, weights)


def test_shapes_that_do_not_suit() -> None:
    check_error(twin("tree_ensemble"), [(2, 2), (1, 4), (2,), (1,), (2, 1)], {"aggregate": "sum", "count": 1}, "E0403")
