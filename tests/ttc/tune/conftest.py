"""Small models whose ops stand precision differently."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper


@pytest.fixture
def two_layers(tmp_path: Path) -> Path:
    """y = relu(x @ w) @ v and z = x @ u: `u` stands 4 bits, `w` does not: its small columns lie beside a large one that nothing reads."""
    rng = np.random.default_rng(0)
    w = rng.standard_normal((64, 64)).astype(np.float32)
    w[:, ::16] *= 3000
    v = rng.standard_normal((64, 64)).astype(np.float32)
    v[::16] = 0
    weights = {"w": w, "v": v, "u": rng.choice([-1.0, 1.0], (64, 64)).astype(np.float32)}
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["h"], name="/first"),
        helper.make_node("Relu", ["h"], ["r"], name="/relu"),
        helper.make_node("MatMul", ["r", "v"], ["y"], name="/second"),
        helper.make_node("MatMul", ["x", "u"], ["z"], name="/side"),
    ]
    graph = helper.make_graph(
        nodes,
        "two",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [32, 64])],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, [32, 64]) for name in ("y", "z")],
        [numpy_helper.from_array(value, name) for name, value in weights.items()],
    )
    path = tmp_path / "two.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10), path)
    return path
