"""Schedules against the engines' limit: the row of a small network."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("onnx")

import onnx  # noqa: E402
from onnx import TensorProto, helper  # noqa: E402

import schedules  # noqa: E402


def test_a_row(tmp_path: Path) -> None:
    """Two products of 8 samples: the time is at least what engines and DRAM need, and is made of its parts."""
    weights = [helper.make_tensor(name, TensorProto.FLOAT, [256, 256], [0.01] * 65536) for name in ("a", "b")]
    nodes = [helper.make_node("MatMul", ["x", "a"], ["h"]), helper.make_node("MatMul", ["h", "b"], ["y"])]
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [8, 128, 256]) for name in ("x", "y")]
    model = helper.make_model(helper.make_graph(nodes, "g", ends[:1], ends[1:], weights), opset_imports=[helper.make_opsetid("", 18)])
    onnx.save(model, tmp_path / "small-8.onnx")
    row = schedules.row_of("small", "n150", 8, 1, tmp_path)
    assert row.time_by_limit > 1
    assert (row.epochs, row.microbatches) == (1, 8)
    assert 0 < row.prologue < 1
    assert 0 < row.switching < 1
    assert "time / limit" in schedules.text(row)
