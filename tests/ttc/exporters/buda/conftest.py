"""Small networks whose sizes end within tiles, and what is needed to export them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from tests.draws import rng_of_test
from ttc.compiler.driver import compile_path
from ttc.options import CompileOptions
from ttc.runtime.program import Program


@dataclass(frozen=True)
class Network:
    """nodes: (op, inputs, output, attributes); inputs and outputs by name; weights: arrays by name."""

    nodes: list[tuple[str, list[str], str, dict]]
    inputs: dict[str, np.ndarray]
    output: tuple[str, tuple[int, ...]]
    weights: dict[str, np.ndarray]

    def model(self) -> onnx.ModelProto:
        nodes = [helper.make_node(op, inputs, [out], name=out, **attrs) for op, inputs, out, attrs in self.nodes]
        values = [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape) for n, a in self.inputs.items()]
        outputs = [helper.make_tensor_value_info(self.output[0], TensorProto.FLOAT, self.output[1])]
        weights = [numpy_helper.from_array(value, name) for name, value in self.weights.items()]
        return helper.make_model(
            helper.make_graph(nodes, "network", values, outputs, weights), opset_imports=[helper.make_opsetid("", 18)], ir_version=10
        )


def weight(*shape: int) -> np.ndarray:
    return (rng_of_test().standard_normal(shape) / np.sqrt(shape[-1])).astype(np.float32)


def image() -> Network:
    """A convolution, a depthwise one, a maximum over windows, a product, softmax."""
    pads = {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}
    return Network(
        [
            ("Conv", ["x", "w0", "b0"], "c0", pads),
            ("Relu", ["c0"], "r0", {}),
            ("Conv", ["r0", "w1"], "c1", {**pads, "group": 40}),
            ("Clip", ["c1", "low", "high"], "r1", {}),
            ("MaxPool", ["r1"], "p", {"kernel_shape": [2, 2], "strides": [2, 2]}),
            ("GlobalAveragePool", ["p"], "mean", {}),
            ("Flatten", ["mean"], "flat", {}),
            ("Gemm", ["flat", "w2", "b2"], "g", {"transB": 1}),
            ("Softmax", ["g"], "y", {"axis": 1}),
        ],
        {"x": rng_of_test().standard_normal((1, 3, 14, 14)).astype(np.float32)},
        ("y", (1, 10)),
        {
            **{"w0": weight(40, 3, 3, 3), "b0": weight(40), "w1": weight(40, 1, 3, 3), "w2": weight(10, 40), "b2": weight(10)},
            **{"low": np.float32(0), "high": np.float32(6)},
        },
    )


def sentence() -> Network:
    """Embedding, attention over 40 words whose mask is a comparison of integers, a norm."""
    heads = {"perm": [0, 2, 1, 3]}
    nodes = [("Gather", ["table", "ids"], "e", {})]
    for name in "qkv":
        nodes += [("MatMul", ["e", f"w{name}"], f"{name}0", {}), ("Reshape", [f"{name}0", "split"], f"{name}1", {})]
        nodes += [("Transpose", [f"{name}1"], name, {"perm": [0, 2, 3, 1]} if name == "k" else heads)]
    nodes += [
        ("MatMul", ["q", "k"], "s0", {}),
        ("Cast", ["mask"], "m0", {"to": TensorProto.BOOL}),
        ("Where", ["m0", "s0", "lowest"], "s1", {}),
        ("Softmax", ["s1"], "p", {"axis": -1}),
        ("MatMul", ["p", "v"], "o0", {}),
        ("Transpose", ["o0"], "o1", heads),
        ("Reshape", ["o1", "join"], "o2", {}),
        ("Add", ["o2", "e"], "o3", {}),
        ("LayerNormalization", ["o3", "gain", "bias"], "y", {"axis": -1}),
    ]
    return Network(
        nodes,
        {"ids": rng_of_test().integers(0, 50, (1, 40)), "mask": np.array([[[[1] * 33 + [0] * 7]]], np.int64)},
        ("y", (1, 40, 64)),
        {
            **{"table": weight(50, 64), "wq": weight(64, 64), "wk": weight(64, 64), "wv": weight(64, 64)},
            **{"split": np.array([1, 40, 2, 32]), "join": np.array([1, 40, 64]), "lowest": np.float32(-1e30)},
            **{"gain": weight(64), "bias": weight(64)},
        },
    )


def planes() -> Network:
    """Matrices of two inputs one after another."""
    nodes = [("Concat", ["a", "b"], "ab", {"axis": 1}), ("Sigmoid", ["ab"], "y", {})]
    inputs = dict(zip("ab", rng_of_test().standard_normal((2, 1, 2, 64, 32)).astype(np.float32), strict=True))
    return Network(nodes, inputs, ("y", (1, 4, 64, 32)), {})


NETWORKS: dict[str, Callable[[], Network]] = {"image": image, "planes": planes, "sentence": sentence}


@pytest.fixture
def compiled(tmp_path: Path) -> Callable[..., tuple[Program, dict[str, np.ndarray]]]:
    """Compile a network of NETWORKS with kernels buda; gives its program and inputs."""

    def make(name: str, **options: str) -> tuple[Program, dict[str, np.ndarray]]:
        network, path = NETWORKS[name](), tmp_path / f"{name}.onnx"
        onnx.save(network.model(), path)
        return compile_path(path, CompileOptions(kernels="buda", **options)).program(), network.inputs

    return make
