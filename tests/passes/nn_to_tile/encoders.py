"""An encoder of a transformer as an ONNX model, for tests of programs that chips divide."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

ROWS, WIDTH, HEADS, INNER = 32, 256, 8, 512


class Encoder:
    """An encoder of a transformer as ONNX nodes, its norms behind its sums; weights come from a generator."""

    def __init__(self, rng: np.random.Generator, batch: int = 1, rows: int = ROWS) -> None:
        self.rng, self.batch, self.rows = rng, batch, rows
        self.nodes: list[onnx.NodeProto] = []
        self.weights: list[onnx.TensorProto] = []

    def add(self, kind: str, *inputs: str, **attrs: Any) -> str:
        """Add a node; returns the name of its result."""
        name = f"n{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [name], name, **attrs))
        return name

    def weight(self, *shape: int) -> str:
        """Add a weight of small random numbers."""
        name = f"w{len(self.weights)}"
        scale = np.sqrt(shape[0]) if len(shape) > 1 else 1.0
        self.weights.append(numpy_helper.from_array((self.rng.normal(size=shape) / scale).astype(np.float32), name))
        return name

    def constant(self, *values: int) -> str:
        """Add a list of integers."""
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.array(values, np.int64), name))
        return name

    def linear(self, x: str, rows: int, columns: int) -> str:
        return self.add("Add", self.add("MatMul", x, self.weight(rows, columns)), self.weight(columns))

    def heads(self, x: str, perm: tuple[int, ...]) -> str:
        split = self.add("Reshape", self.linear(x, WIDTH, WIDTH), self.constant(self.batch, self.rows, HEADS, WIDTH // HEADS))
        return self.add("Transpose", split, perm=perm)

    def norm(self, x: str) -> str:
        return self.add("LayerNormalization", x, self.weight(WIDTH), self.weight(WIDTH), axis=-1)

    def model(self) -> onnx.ModelProto:
        """The whole model: [batch, rows, WIDTH] to the same."""
        scores = self.add("MatMul", self.heads("x", (0, 2, 1, 3)), self.heads("x", (0, 2, 3, 1)))
        attended = self.add("MatMul", self.add("Softmax", scores, axis=-1), self.heads("x", (0, 2, 1, 3)))
        joined = self.add("Reshape", self.add("Transpose", attended, perm=(0, 2, 1, 3)), self.constant(self.batch, self.rows, WIDTH))
        x = self.norm(self.add("Add", "x", self.linear(joined, WIDTH, WIDTH)))
        inner = self.add("Relu", self.linear(x, WIDTH, INNER))
        last = self.norm(self.add("Add", x, self.linear(inner, INNER, WIDTH)))
        ports = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [self.batch, self.rows, WIDTH]) for name in ("x", last)]
        graph = helper.make_graph(self.nodes, "encoder", ports[:1], ports[1:], self.weights)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)
