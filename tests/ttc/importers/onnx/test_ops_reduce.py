"""Reductions against onnx's reference evaluator."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.ttc.importers.onnx.cases import check, check_node, ints, node_model, normal

X = normal(2, 3, 4)
POSITIVE = np.abs(X) + np.float32(0.1)
OPS = ["ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceSumSquare"]


@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize(("axes", "keepdims"), [((1,), 1), ((-1, 0), 0)])
def test_axes_as_attribute(op: str, axes: tuple[int, ...], keepdims: int, tmp_path: Path) -> None:
    check_node(tmp_path, op, POSITIVE, opset=13, axes=axes, keepdims=keepdims)


@pytest.mark.parametrize("op", ["ReduceSum", *OPS])
@pytest.mark.parametrize("keepdims", [0, 1])
def test_axes_as_operand(op: str, keepdims: int, tmp_path: Path) -> None:
    check_node(tmp_path, op, POSITIVE, ints(-1, 0), constant=(1,), keepdims=keepdims)


def test_no_axes_means_all(tmp_path: Path) -> None:
    check_node(tmp_path, "ReduceSum", X)


@pytest.mark.parametrize(
    ("op", "wanted"),
    [("ReduceSum", POSITIVE), ("ReduceL1", POSITIVE), ("ReduceSumSquare", POSITIVE**2), ("ReduceLogSum", np.log(POSITIVE))],
)
def test_no_axes_may_reduce_nothing(op: str, wanted: np.ndarray, tmp_path: Path) -> None:
    model, feeds = node_model(op, POSITIVE, noop_with_empty_axes=1)
    check(model, feeds, tmp_path, wanted=[wanted])


def test_log_sum_exp_does_not_overflow(tmp_path: Path) -> None:
    x = np.array([[1000, 1000.5], [-np.inf, -np.inf], [np.inf, 0]], np.float32)
    model, feeds = node_model("ReduceLogSumExp", x, ints(1), constant=(1,), keepdims=0)
    wanted = np.array([1000 + np.log(1 + np.exp(0.5)), -np.inf, np.inf], np.float32)
    check(model, feeds, tmp_path, wanted=[wanted], atol=1e-3)


@pytest.mark.parametrize("op", ["ArgMax", "ArgMin"])
@pytest.mark.parametrize(("axis", "keepdims", "last"), [(0, 1, 0), (-1, 0, 0), (1, 1, 1)])
def test_arg(op: str, axis: int, keepdims: int, last: int, tmp_path: Path) -> None:
    check_node(tmp_path, op, np.round(X), axis=axis, keepdims=keepdims, select_last_index=last)


@pytest.mark.parametrize(("exclusive", "reverse"), [(0, 0), (1, 0), (0, 1), (1, 1)])
def test_cum_sum(exclusive: int, reverse: int, tmp_path: Path) -> None:
    check_node(tmp_path, "CumSum", X, np.array(1, np.int64), constant=(1,), exclusive=exclusive, reverse=reverse)
