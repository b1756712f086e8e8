"""What modules compute, at every point of the pipeline."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest

from ttc.accuracy.module_values import drawn_inputs, evaluate
from ttc.compiler.driver import compile_path
from ttc.dialects.core.errors import Error
from ttc.instruments.numerics import NumericCheck
from ttc.options import CompileOptions, resolve

STOPS = ("import", "nn:canonicalize", "nn", "tile", "netlist:lower-to-netlist", "netlist:balance", "netlist:size-queues", "netlist")


def test_all_stages_agree_with_the_archive(small_onnx: Path) -> None:
    fields = {"batch": 64}  # a streamed batch
    first = compile_path(small_onnx, resolve(CompileOptions, {**fields, "to": "import"})).unit
    inputs = drawn_inputs(first.module, 3)
    assert inputs["forward"]["x"].shape[0] == 64
    whole = compile_path(small_onnx, resolve(CompileOptions, fields))
    from ttc.runtime.executor import Executor

    with Executor(whole.program()) as executor:
        expected = executor.run(inputs["forward"])
    for stop in STOPS:
        unit = compile_path(small_onnx, resolve(CompileOptions, {**fields, "to": stop})).unit
        found = evaluate(unit, inputs)["forward"]
        assert list(found) == list(expected)
        for name, value in expected.items():
            np.testing.assert_allclose(found[name].reshape(value.shape), value, rtol=1e-4, atol=1e-5, err_msg=stop)


def test_inputs_are_the_same_for_the_same_seed(small_onnx: Path) -> None:
    unit = compile_path(small_onnx, resolve(CompileOptions, {"batch": 2, "to": "import"})).unit
    one, same, other = (drawn_inputs(unit.module, seed)["forward"]["x"] for seed in (1, 1, 2))
    np.testing.assert_array_equal(one, same)
    assert not np.array_equal(one, other)
    with pytest.raises(Error) as caught:
        evaluate(unit, {"forward": {}})
    assert caught.value.code == "E0801"


def test_texts_go_through_all_stages(tmp_path: Path) -> None:
    path = tmp_path / "texts.onnx"
    nodes = [onnx.helper.make_node("StringConcat", ["s", "s"], ["y"], name="/Concat")]
    ports = [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.STRING, [4]) for name in ("s", "y")]
    graph = onnx.helper.make_graph(nodes, "texts", ports[:1], ports[1:])
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 20)], ir_version=10), path)
    unit = compile_path(path, resolve(CompileOptions, {"to": "import"})).unit
    inputs = drawn_inputs(unit.module, 0)
    given = inputs["forward"]["s"].tolist()
    assert set(given) <= {"0", "1"}
    assert evaluate(unit, inputs)["forward"]["y"].tolist() == [text + text for text in given]
    compile_path(path, CompileOptions(), [NumericCheck()])
