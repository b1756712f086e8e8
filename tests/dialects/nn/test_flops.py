"""Arithmetic of ops, counted."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray

from tests.ttc.importers.onnx.cases import ints, node_model, normal
from ttc.dialects.nn.flops import flops_of
from ttc.importers.onnx import import_onnx
from ttc.reports.readiness import nn_ops

RNN = {"hidden_size": 4}


@pytest.mark.parametrize(
    ("op", "operands", "constants", "attrs", "expected"),
    [
        ("MatMul", (normal(2, 3, 4), normal(4, 5)), {}, {}, 2 * 2 * 3 * 5 * 4),
        ("MatMul", (normal(4), normal(4)), {}, {}, 2 * 4),
        ("Gemm", (normal(4, 3), normal(5, 4)), {}, {"transA": 1, "transB": 1}, 2 * 3 * 5 * 4),
        ("Conv", (normal(2, 6, 8, 8), normal(4, 3, 3, 3)), {}, {"group": 2, "pads": [1] * 4}, 2 * 2 * 4 * 8 * 8 * 3 * 9),
        ("ConvTranspose", (normal(1, 6, 8, 8), normal(6, 4, 2, 2)), {}, {"strides": [2, 2]}, 2 * 6 * 8 * 8 * 4 * 4),
        ("MaxPool", (normal(1, 2, 8, 8),), {}, {"kernel_shape": [2, 2], "strides": [2, 2]}, 2 * 4 * 4 * 4),
        ("LSTM", (normal(5, 2, 3), normal(1, 16, 3), normal(1, 16, 4)), {}, RNN, 2 * 5 * 2 * (16 * 3 + 16 * 4)),
        ("Relu", (normal(3, 7),), {}, {}, 21),
        ("ReduceSum", (normal(3, 7), ints(1)), {1}, {}, 21),
        ("Add", (normal(3, 1), normal(1, 7)), {}, {}, 21),
        ("Transpose", (normal(3, 7),), {}, {}, 0),
        ("Gather", (normal(3, 7), ints(1, 1)), {}, {}, 0),
    ],
)
def test_what_ops_count(
    op: str, operands: tuple[NDArray, ...], constants: set[int], attrs: dict[str, object], expected: int, tmp_path: Path
) -> None:
    model, _ = node_model(op, *operands, constant=tuple(constants), **attrs)
    onnx.save(model, tmp_path / "m.onnx")
    module, _ = import_onnx(tmp_path / "m.onnx")
    counted = {found.name: flops_of(found) for found in nn_ops(module)}
    main = {name: count for name, count in counted.items() if name not in ("nn.reshape", "nn.transpose", "nn.slice")}
    assert max(main.values() or counted.values()) == expected


def test_sizes_that_depend_on_data_count_as_one(tmp_path: Path) -> None:
    model, _ = node_model("Unique", np.array([1, 2, 1], np.float32), outputs=1)
    model.graph.node.append(onnx.helper.make_node("Neg", ["y0"], ["z"]))
    model.graph.output[0].name = "z"
    onnx.save(model, tmp_path / "m.onnx")
    module, _ = import_onnx(tmp_path / "m.onnx")
    assert [flops_of(found) for found in nn_ops(module)] == [3, 1]
