"""Programs in Float64: what they compute, and that nothing narrow is left."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

import ttc
from ttc.comparison.widened import widened
from ttc.dialects.core.formats import format_named
from ttc.runtime.executor import Executor
from ttc.runtime.program import Program


@pytest.fixture
def weights(rng: np.random.Generator) -> np.ndarray:
    return rng.standard_normal((6, 5)).astype(np.float32)


def compiled(tmp_path, weights: np.ndarray, **options: object) -> Program:
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["a"]),
        helper.make_node("Tanh", ["a"], ["b"]),
        helper.make_node("Cast", ["b"], ["y"], to=1),
    ]
    ports = [helper.make_tensor_value_info(name, 1, shape) for name, shape in (("x", [4, 6]), ("y", [4, 5]))]
    graph = helper.make_graph(nodes, "m", ports[:1], ports[1:], [numpy_helper.from_array(weights, "w")])
    path = tmp_path / "m.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8), path)
    return ttc.compile(path, **options)


@pytest.mark.parametrize("options", [{"target": "host"}, {"target": "n150", "format": "Bfp8_b"}, {"target": "n150", "format": "Float16_b"}])
def test_nothing_is_rounded(tmp_path, weights: np.ndarray, options: dict[str, str], rng: np.random.Generator) -> None:
    program = compiled(tmp_path, weights, **options)
    wide = widened(program)
    assert {q.tensor.format for q in wide.netlist.queues.values()} == {"Float64"}
    assert not any(format_named(s.format).is_float and s.format != "Float64" for s in wide.constants.sources.values())
    x = rng.standard_normal((4, 6))
    with Executor(wide) as executor:
        found, held = executor.run({"x": x})["y"], executor.parameters()["w"]
    assert (found.dtype, held.dtype) == (np.float64, np.float64)
    assert np.abs(found - np.tanh(x @ held)).max() < 1e-14


def test_parameters_can_be_moved_by_less_than_float32_holds(tmp_path, weights: np.ndarray) -> None:
    program = compiled(tmp_path, weights, target="n150", format="Float16_b")
    wide = widened(program)
    moved = weights.astype(np.float64) * (1 + 1e-9)
    with Executor(wide.with_parameters({"w": moved})) as executor:
        found = executor.run({"x": np.eye(4, 6)})["y"]
    assert np.abs(found - np.tanh(moved[:4])).max() < 1e-14
    assert program.netlist.queues != wide.netlist.queues
