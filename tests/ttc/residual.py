"""A model small enough to compile many times, in which most passes find something to do."""

from __future__ import annotations

import numpy as np
import onnx
from onnx import helper, numpy_helper


def residual_model() -> onnx.ModelProto:
    """softmax(mirrored a @ a^T) @ x with a = relu(x @ w): an input that is read first and last, and a constant that passes may read."""
    draw = np.random.default_rng(0)
    constants = {"w": draw.standard_normal((64, 64)).astype(np.float32) / 8, "order": np.arange(64)[::-1].copy()}
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["xw"], "project"),
        helper.make_node("Relu", ["xw"], ["a"], "relu"),
        helper.make_node("Transpose", ["a"], ["t"], "transpose", perm=[1, 0]),
        helper.make_node("MatMul", ["a", "t"], ["s"], "scores"),
        helper.make_node("Gather", ["s", "order"], ["h"], "mirror"),
        helper.make_node("Softmax", ["h"], ["p"], "softmax"),
        helper.make_node("MatMul", ["p", "x"], ["y"], "mix"),
    ]
    ports = [helper.make_tensor_value_info(name, 1, [64, 64]) for name in ("x", "y")]
    held = [numpy_helper.from_array(value, name) for name, value in constants.items()]
    graph = helper.make_graph(nodes, "residual", ports[:1], ports[1:], held)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)
