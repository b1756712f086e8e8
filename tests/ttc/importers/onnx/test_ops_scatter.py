"""Writes at computed places against onnx's reference evaluator."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.ttc.importers.onnx.cases import check, check_node, node_model, normal

X = normal(4, 3, 5)


@pytest.mark.parametrize("reduction", ["none", "add", "mul", "max", "min"])
def test_scatter_elements(reduction: str, tmp_path: Path) -> None:
    indices = np.array([[[0, 1, 2, -1, 3]], [[1, 2, 3, 0, 0]]], np.int64)
    check_node(tmp_path, "ScatterElements", X, indices, normal(2, 1, 5), axis=0, reduction=reduction)


@pytest.mark.parametrize(("opset", "axis"), [(9, 1), (10, 0)])
def test_scatter_is_its_old_name(opset: int, axis: int, tmp_path: Path) -> None:
    x, updates = normal(3, 3), normal(1, 2)
    model, feeds = node_model("Scatter", x, np.array([[1, 2]]), updates, opset=opset, axis=axis)
    expected = x.copy()
    for column, target in enumerate((1, 2)):
        expected[(0, target) if axis == 1 else (target, column)] = updates[0, column]
    check(model, feeds, tmp_path, wanted=[expected])


@pytest.mark.parametrize("reduction", ["none", "add", "mul", "max", "min"])
def test_scatter_nd(reduction: str, tmp_path: Path) -> None:
    indices = np.array([[0, 1], [3, 2], [2, 0]], np.int64)
    check_node(tmp_path, "ScatterND", X, indices, normal(3, 5), reduction=reduction)
