"""Tensors of no elements: every op gives what onnxruntime gives, or numpy where that has no answer, on both engines of both targets."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray
from onnx import helper, numpy_helper
from onnxruntime import InferenceSession

import ttc
from ttc.runtime.executor import Executor
from ttc.runtime.program import build_program

IMAGE = np.zeros((0, 3, 4, 4), np.float32)
WIDE, TALL = np.zeros((2, 0), np.float32), np.zeros((0, 3), np.float32)
FULL = np.arange(6, dtype=np.float32).reshape(2, 3)
ONES = np.ones(3, np.float32)
Case = tuple[str, Sequence[NDArray], Sequence[NDArray], dict[str, Any]]
"""An op, its inputs, its constants, its attributes."""


def ints(*values: int) -> NDArray:
    return np.array(values, np.int64)


def none(*shape: int, dtype: Any = np.int64) -> NDArray:
    return np.zeros(shape, dtype)


REDUCTIONS = ("ReduceSum", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceSumSquare")
UNARY = ("Relu", "Transpose", "Flatten", "Sigmoid", "Erf", "Shape", "Size", "NonZero", "Not")
SHAPES = [((2, 0), (0, 3)), ((0, 2), (2, 3)), ((2, 3), (3, 0)), ((5, 2, 0), (0, 3)), ((0, 2, 4), (0, 4, 3)), ((2, 0), (0,))]
CASES: dict[str, Any] = {
    **{f"{op} along {axis} of {shape}": (op, [none(*shape, dtype=np.float32)], [], {"axis": axis})
       for op in ("Softmax", "LogSoftmax", "Hardmax") for shape, axis in (((0, 3), 0), ((0, 3), 1), ((3, 0), 1))},
    **{f"{op} along {axis}": (op, [TALL], [ints(axis)], {"keepdims": axis}) for op in REDUCTIONS for axis in (0, 1)},
    **{f"ReduceMean along {axis}": ("ReduceMean", [shape], [ints(axis)], {}) for axis, shape in ((1, TALL), (0, WIDE))},
    **{f"{op} of nothing": (op, [none(0, 4, dtype=np.bool_ if op == "Not" else np.float32)], [], {}) for op in UNARY},
    **{f"MatMul {a} {b}": ("MatMul", [none(*a, dtype=np.float32), none(*b, dtype=np.float32)], [], {}) for a, b in SHAPES},
    **{f"MatMul {a} with {b}": ("MatMul", [none(*a, dtype=np.float32)], [none(*b, dtype=np.float32)], {}) for a, b in SHAPES},
    "Gemm": ("Gemm", [WIDE, TALL], [ONES], {}),
    "MatMul of the device": ("MatMul", [none(0, 64, dtype=np.float32)], [none(64, 64, dtype=np.float32)], {}),
    "MaxPool": ("MaxPool", [IMAGE], [], {"kernel_shape": [2, 2]}),
    "AveragePool": ("AveragePool", [IMAGE], [], {"kernel_shape": [2, 2]}),
    "GlobalAveragePool": ("GlobalAveragePool", [IMAGE], [], {}),
    "Conv": ("Conv", [IMAGE], [np.ones((2, 3, 3, 3), np.float32)], {}),
    "ConvTranspose": ("ConvTranspose", [IMAGE], [np.ones((3, 2, 3, 3), np.float32)], {}),
    "BatchNormalization": ("BatchNormalization", [IMAGE], [ONES] * 4, {}),
    "InstanceNormalization": ("InstanceNormalization", [IMAGE], [ONES] * 2, {}),
    "LayerNormalization": ("LayerNormalization", [TALL], [ONES] * 2, {}),
    "Concat": ("Concat", [TALL, FULL], [], {"axis": 0}),
    "Concat of two": ("Concat", [TALL, TALL], [], {"axis": 1}),
    "TopK of none": ("TopK", [FULL], [ints(0)], {}),
    "TopK of nothing": ("TopK", [none(0, 4, dtype=np.float32)], [ints(2)], {}),
    "Gather of no places": ("Gather", [FULL, none(0)], [], {"axis": 1}),
    "Gather of constant no places": ("Gather", [FULL], [none(0, 2)], {"axis": 0}),
    "Gather from nothing": ("Gather", [WIDE, ints(0, 1, 1)], [], {"axis": 0}),
    "GatherElements": ("GatherElements", [FULL, none(0, 3)], [], {"axis": 0}),
    "GatherND": ("GatherND", [FULL, none(0, 1)], [], {}),
    "ScatterElements": ("ScatterElements", [FULL, none(0, 3), TALL], [], {"axis": 0}),
    "ScatterND": ("ScatterND", [FULL, none(0, 1), TALL], [], {}),
    "CumSum": ("CumSum", [TALL], [np.array(0)], {}),
    "Expand": ("Expand", [FULL[:1]], [ints(0, 3)], {}),
    "Tile": ("Tile", [FULL], [ints(0, 1)], {}),
    "Pad": ("Pad", [TALL], [ints(1, 0, 1, 0)], {}),
    "Split": ("Split", [FULL], [ints(0, 2)], {"axis": 0}),
    "Where": ("Where", [none(0, 3, dtype=np.bool_), FULL[:1], TALL], [], {}),
    "Add": ("Add", [TALL, ONES], [], {}),
    "Einsum": ("Einsum", [WIDE, TALL], [], {"equation": "ij,jk->ik"}),
    "OneHot": ("OneHot", [none(0)], [ints(3), np.array([0, 1], np.float32)], {}),
    "Compress": ("Compress", [FULL, none(2, dtype=np.bool_)], [], {"axis": 0}),
    "QuantizeLinear": ("QuantizeLinear", [TALL], [np.float32(1), np.uint8(3)], {}),
    "DepthToSpace": ("DepthToSpace", [none(0, 4, 2, 2, dtype=np.float32)], [], {"blocksize": 2}),
}  # fmt: skip
OUTPUTS = {"TopK": 2, "Split": 2}


def model_of(op: str, inputs: Sequence[NDArray], constants: Sequence[NDArray], attrs: dict[str, Any]) -> onnx.ModelProto:
    """One node, and a relu of its own beside it."""
    names = [f"x{i}" for i in range(len(inputs) + len(constants))]
    given = dict(zip(names, [*inputs, *constants], strict=True))
    results = [f"y{i}" for i in range(OUTPUTS.get(op, 1))]
    node = helper.make_node(op, names, results, **attrs)
    graph = helper.make_graph(
        [node, helper.make_node("Relu", ["beside"], ["z"])],
        "empty",
        [
            helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(np.asarray(given[name]).dtype), np.shape(given[name]))
            for name in names[: len(inputs)]
        ]
        + [helper.make_tensor_value_info("beside", 1, [3])],
        [onnx.ValueInfoProto(name=name) for name in (*results, "z")],
        [numpy_helper.from_array(np.asarray(given[name]), name) for name in names[len(inputs) :]],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)


@pytest.mark.parametrize("name", CASES)
def test_of_nothing(name: str, tmp_path: Path) -> None:
    op, inputs, constants, attrs = CASES[name]
    model = model_of(op, inputs, constants, attrs)
    feeds = {**{f"x{i}": x for i, x in enumerate(inputs)}, "beside": np.array([-1, 0, 2], np.float32)}
    inference = InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    wanted = [np.asarray(y) for y in inference.run(None, feeds)]
    onnx.save(model, tmp_path / "empty.onnx")
    for target in ("host", "n150"):
        program = ttc.compile(tmp_path / "empty.onnx", target=target)
        for engine in ("reference", "native"):
            built = build_program(program.netlist, program.description, program.constants.sources, engine=engine, threads=1)
            for found, expected in zip(Executor(built).run(feeds).values(), wanted, strict=True):
                assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
                np.testing.assert_array_equal(found, expected)


def test_sizes_of_a_resize(tmp_path: Path) -> None:
    """onnxruntime ends the process on it."""
    node = helper.make_node("Resize", ["x", "", "", "sizes"], ["y"])
    x, y = helper.make_tensor_value_info("x", 1, IMAGE.shape), onnx.ValueInfoProto(name="y")
    graph = helper.make_graph([node], "resize", [x], [y], [numpy_helper.from_array(ints(0, 3, 8, 8), "sizes")])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10), tmp_path / "resize.onnx")
    for target in ("host", "n150"):
        (found,) = Executor(ttc.compile(tmp_path / "resize.onnx", target=target)).run({"x": IMAGE}).values()
        assert (found.shape, found.dtype) == ((0, 3, 8, 8), np.float32)
