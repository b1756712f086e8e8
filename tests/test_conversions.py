"""Formats that targets choose by themselves: every number that a model holds comes through, or an error names the one that cannot."""

from __future__ import annotations

from pathlib import Path

import ml_dtypes
import numpy as np
import onnx
import pytest
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

import ttc
from tests.element_types import FLOATS, INTEGERS, NARROW_FLOATS, constant_of, numpy_type
from tests.ttc.importers.tflite.writer import Graph, Op, Tensor
from tests.ttc.importers.tflite.writer import model as tflite_model
from ttc.accuracy.distances import compare
from ttc.runtime.executor import Executor
from ttc.runtime.program import build_program

TARGETS = ("host", "e150", "n150", "p150")
EDGES = 16
"""Numbers of each kind."""


def edges(name: str) -> NDArray:
    """A matrix of 8 columns: the largest, smallest, lowest and subnormal numbers of a type, signed zeros, infinities, NaN."""
    dtype = numpy_type(name)
    if name == "BOOL":
        return np.arange(EDGES).reshape(2, 8) % 3 == 0
    if name in NARROW_FLOATS:
        bits = 4 if name == "FLOAT4E2M1" else 8
        return np.arange(1 << bits, dtype=np.uint8).view(dtype).reshape(-1, 8)
    if name in INTEGERS:
        info = ml_dtypes.iinfo(dtype)
        low, high = int(info.min), int(info.max)
        numbers = [low, min(low + 1, high), high, high - 1, 0, 1, low // 2, high // 2 + 1]
        return np.array([numbers, numbers[::-1]], object).astype(dtype)
    info = ml_dtypes.finfo(dtype)
    small, tiny = float(info.smallest_normal), float(info.smallest_subnormal)
    numbers = [float(info.max), float(info.min), small, -small / 2, tiny, -tiny, np.inf, -np.inf]
    return np.array([numbers, [np.nan, 0.0, -0.0, 1.0, -1.0, 1 + float(info.eps), 1 / 3, -2.5]]).astype(dtype)


def model(name: str, given: dict[str, NDArray], constant: bool) -> onnx.ModelProto:
    """Transpose every array of a type, and choose between it as float32 and an input x; the arrays are constants or inputs."""
    type_ = getattr(TensorProto, name)
    nodes: list[onnx.NodeProto] = []
    inputs = [helper.make_tensor_value_info("c", TensorProto.BOOL, [1]), helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 8])]
    outputs: list[onnx.ValueInfoProto] = []
    for key, values in given.items():
        nodes += [
            helper.make_node("Transpose", [key], [f"{key}_moved"]),
            helper.make_node("Cast", [key], [f"{key}_wide"], to=TensorProto.FLOAT),
            helper.make_node("Where", ["c", f"{key}_wide", "x"], [f"{key}_chosen"]),
        ]
        inputs += [] if constant else [helper.make_tensor_value_info(key, type_, values.shape)]
        outputs.append(helper.make_tensor_value_info(f"{key}_moved", type_, values.shape[::-1]))
        outputs.append(helper.make_tensor_value_info(f"{key}_chosen", TensorProto.FLOAT, values.shape))
    constants = [constant_of(key, name, values) for key, values in given.items() if constant]
    graph = helper.make_graph(nodes, "edges", inputs, outputs, constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 25)], ir_version=13)


def same(found: NDArray, expected: NDArray) -> None:
    """Bit for bit, but for the bits of a NaN."""
    assert found.dtype == expected.dtype
    assert found.shape == expected.shape
    numbers = expected.astype(np.float64) if expected.dtype.kind not in "iub" else None
    if numbers is None:
        np.testing.assert_array_equal(found, expected)
        return
    known = ~np.isnan(numbers)
    np.testing.assert_array_equal(np.isnan(found.astype(np.float64)), ~known)
    np.testing.assert_array_equal(found.astype(np.float64)[known], numbers[known])
    np.testing.assert_array_equal(np.signbit(found.astype(np.float64)[known]), np.signbit(numbers[known]))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("constant", [True, False], ids=["constant", "input"])
@pytest.mark.parametrize("name", [*FLOATS, *NARROW_FLOATS, *INTEGERS, "BOOL"])
def test_every_number_comes_through(name: str, constant: bool, target: str, tmp_path: Path) -> None:
    values = edges(name)
    given = {"few": values[:2], "many": np.tile(values, (2, 1))} if constant else {"v": values}
    onnx.save(model(name, given, constant), tmp_path / "edges.onnx")
    program = ttc.compile(tmp_path / "edges.onnx", target=target)
    feeds = {"x": np.zeros((1, 8), np.float32), "c": np.array([True]), **({} if constant else given)}
    for engine in ("reference", "native"):
        executor = Executor(build_program(program.netlist, program.description, program.constants.sources, engine=engine, threads=1))
        if (name, constant, target in ("n150", "p150")) == ("INT64", False, True):
            with pytest.raises(ttc.Error, match=f"input 'v' holds {values.min()}, which Int32 cannot hold") as caught:
                executor.run(feeds)
            assert caught.value.code == "E0802"
            continue
        found = executor.run(feeds)
        for key, numbers in given.items():
            same(found[f"{key}_moved"], numbers.T)
            with np.errstate(over="ignore", invalid="ignore"):
                same(found[f"{key}_chosen"], numbers.astype(np.float32))


def halves() -> dict[str, NDArray]:
    """Weights of two layers in half precision, a part of them subnormal there."""
    rng = np.random.default_rng(16)
    found = {"w": rng.standard_normal((32, 64)) * 1e-5, "b": rng.standard_normal(64) * 1e-6, "v": rng.standard_normal((64, 8)) * 1e-2}
    return {name: value.astype(np.float16) for name, value in found.items()}


def expected_of(weights: dict[str, NDArray], x: NDArray) -> NDArray:
    w, b, v = (weights[name].astype(np.float64) for name in "wbv")
    return np.maximum(x @ w + b, 0) @ v


@pytest.mark.parametrize("target", TARGETS)
def test_weights_in_half_precision_that_the_model_casts(target: str, tmp_path: Path) -> None:
    weights = halves()
    nodes = [helper.make_node("Cast", [name], [f"{name}32"], to=TensorProto.FLOAT) for name in weights]
    nodes += [
        helper.make_node("Gemm", ["x", "w32", "b32"], ["h"]),
        helper.make_node("Relu", ["h"], ["r"]),
        helper.make_node("MatMul", ["r", "v32"], ["y"]),
    ]
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in (("x", [4, 32]), ("y", [4, 8])))
    graph = helper.make_graph(nodes, "half", [x], [y], [numpy_helper.from_array(value, name) for name, value in weights.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10), tmp_path / "half.onnx")
    check_halves(tmp_path / "half.onnx", target)


@pytest.mark.parametrize("target", TARGETS)
def test_weights_of_a_tflite_file_in_half_precision(target: str, tmp_path: Path) -> None:
    weights = halves()
    stored = {"w": weights["w"].T, "b": weights["b"], "v": weights["v"].T}
    tensors = [Tensor("x", (4, 32)), Tensor("r", (4, 64)), Tensor("y", (4, 8))]
    tensors += [Tensor(name, value.shape, "FLOAT16", value) for name, value in stored.items()]
    tensors += [Tensor(f"{name}32", value.shape) for name, value in stored.items()]
    ops = [
        *(Op("DEQUANTIZE", [name], [f"{name}32"]) for name in stored),
        Op("FULLY_CONNECTED", ["x", "w32", "b32"], ["r"], {"fused_activation_function": "RELU"}),
        Op("FULLY_CONNECTED", ["r", "v32", None], ["y"], {"fused_activation_function": "NONE"}),
    ]
    path = tmp_path / "half.tflite"
    path.write_bytes(tflite_model(Graph(tensors, ["x"], ["y"], ops)))
    check_halves(path, target)


def check_halves(path: Path, target: str) -> None:
    x = np.random.default_rng(3).standard_normal((4, 32)).astype(np.float32)
    with Executor(ttc.compile(path, target=target)) as executor:
        (found,) = executor.run({"x": x}).values()
    assert compare(found, expected_of(halves(), x).astype(np.float32)).relative_l2 < 1e-5


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", ["INT64", "INT32", "INT16", "INT8", "UINT64", "UINT32", "UINT16", "UINT8"])
def test_integers_come_round_at_their_own_width(name: str, target: str, tmp_path: Path) -> None:
    """Sums, differences and products as they are, and as what reads them sees them: a device may hold them wider or narrower."""
    type_, dtype = getattr(TensorProto, name), numpy_type(name)
    functions = {"Add": np.add, "Sub": np.subtract, "Mul": np.multiply}
    nodes = [helper.make_node(op, ["a", "b"], [op]) for op in functions]
    nodes += [helper.make_node("Cast", [op], [f"{op}64"], to=TensorProto.DOUBLE) for op in functions]
    inputs = [helper.make_tensor_value_info(n, type_, [8]) for n in "ab"]
    outputs = [helper.make_tensor_value_info(op, type_, [8]) for op in functions]
    outputs += [helper.make_tensor_value_info(f"{op}64", TensorProto.DOUBLE, [8]) for op in functions]
    graph = helper.make_graph(nodes, "round", inputs, outputs)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10), tmp_path / "round.onnx")
    a, b = edges(name)
    with Executor(ttc.compile(tmp_path / "round.onnx", target=target)) as executor:
        found = executor.run({"a": a, "b": b})
    for op, function in functions.items():
        expected = function(a, b, dtype=dtype)
        np.testing.assert_array_equal(found[op], expected)
        np.testing.assert_array_equal(found[f"{op}64"], expected.astype(np.float64))
