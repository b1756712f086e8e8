"""nn.tree_ensemble by hand: which branch a value takes, and how leaves are put together."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.ops.cases import check_batch, check_error, check_op, run_op, spec
from ttc.dialects.core.errors import Error
from ttc.dialects.nn.tree import TreeEnsembleOp

# x0 <= 0.5 (or NaN) ? (x1 <= 2 ? leaf 0 : leaf 1) : leaf 2, and a tree that is leaf 1
NODES = np.array([[0, 1, 1, ~2], [1, 0, ~0, ~1]], np.int32)
SPLITS = np.array([0.5, 2], np.float32)
ROOTS = np.array([0, ~1], np.int32)
WEIGHTS = np.array([[1], [10], [100]], np.float32)
X = np.array([[0.5, 2], [0.5, np.nan], [0.6, 0], [np.nan, 0], [-np.inf, np.inf]], np.float32)
SUM: dict[str, Any] = {"aggregate": "sum", "count": 1}


def given(**changes: NDArray | None) -> list[NDArray | None]:
    arrays: dict[str, NDArray | None] = {"x": X, "nodes": NODES, "splits": SPLITS, "roots": ROOTS, "weights": WEIGHTS, "targets": None}
    return list({**arrays, **changes}.values())


def test_branches() -> None:
    check_op(TreeEnsembleOp, given(), SUM, np.array([[11], [20], [110], [11], [20]], np.float32))
    check_batch(TreeEnsembleOp, given(), [True, *[False] * 5], SUM, 5)


def test_aggregates_of_targets() -> None:
    weights = np.array([[1, 4], [10, -10], [100, 7]], np.float32)
    targets = np.array([[0, 2], [2, 0], [1, -1]], np.int32)
    changed = given(weights=weights, targets=targets)
    rows = {"sum": [[-9, 0, 14], [-20, 0, 20], [-10, 100, 10]], "min": [[-10, 0, 4], [-10, 0, 10], [-10, 100, 10]]}
    rows["max"] = [[1, 0, 10], [-10, 0, 10], [-10, 100, 10]]
    for aggregate, found in rows.items():
        wanted = np.array([found[i] for i in (0, 1, 2, 0, 1)], np.float32)
        check_op(TreeEnsembleOp, changed, {"aggregate": aggregate, "count": 3}, wanted)
    check_op(TreeEnsembleOp, given(weights=weights), {"aggregate": "sum", "count": 2}, weights[[0, 1, 2, 0, 1]] + weights[1])


@pytest.mark.parametrize(
    "changes",
    [
        {"nodes": np.array([[0, 0, 0, ~2], [1, 0, ~0, ~1]], np.int32)},  # to itself
        {"nodes": np.array([[0, 0, 1, ~2], [1, 0, 0, ~1]], np.int32)},  # back
        {"nodes": np.array([[0, 0, 2, ~2], [1, 0, ~0, ~1]], np.int32)},
        {"nodes": np.array([[0, 0, 1, ~3], [1, 0, ~0, ~1]], np.int32)},
        {"nodes": np.array([[2, 0, 1, ~2], [1, 0, ~0, ~1]], np.int32)},
        {"nodes": np.array([[-1, 0, 1, ~2], [1, 0, ~0, ~1]], np.int32)},
        {"roots": np.array([2], np.int32)},
        {"roots": np.array([~3], np.int32)},
        {"targets": np.array([[0], [1], [0]], np.int32)},
        {"targets": np.array([[0], [-2], [0]], np.int32)},
    ],
)
def test_what_leads_nowhere_is_an_error(changes: dict[str, NDArray]) -> None:
    with pytest.raises(Error) as caught:
        run_op(TreeEnsembleOp, given(**changes), SUM)
    assert caught.value.code == "E0802"


def test_shapes_that_do_not_suit() -> None:
    nodes, splits, roots, weights = spec(2, 4, dtype="int32"), spec(2), spec(1, dtype="int32"), spec(3, 1)
    right = [spec(5, 2), nodes, splits, roots, weights]
    for index, wrong, code in (
        (0, spec(5), "E0401"),
        (0, spec(5, 0), "E0401"),
        (0, spec(5, 2, dtype="int32"), "E0403"),
        (1, spec(2, 3, dtype="int32"), "E0401"),
        (1, spec(2, 4, dtype="int64"), "E0403"),
        (2, spec(3), "E0401"),
        (2, spec(2, dtype="float64"), "E0403"),
        (3, spec(0, dtype="int32"), "E0401"),
        (4, spec(3, 2), "E0401"),
    ):
        check_error(code, TreeEnsembleOp, [*right[:index], wrong, *right[index + 1 :], None], SUM)
    check_error("E0401", TreeEnsembleOp, [*right, spec(2, 1, dtype="int32")], SUM)
    check_error("E0402", TreeEnsembleOp, [*right, None], {"aggregate": "mean", "count": 1})
    check_error("E0402", TreeEnsembleOp, [*right, None], {"aggregate": "sum", "count": 0})
