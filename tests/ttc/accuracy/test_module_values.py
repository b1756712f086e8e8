"""What modules compute, at every point of the pipeline."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest

from ttc.accuracy.module_values import drawn_inputs, evaluate
from ttc.compiler.driver import compile_path
from ttc.dialects.core.batch_axis import BatchAxis
from ttc.dialects.core.errors import Error
from ttc.instruments.numerics import NumericCheck
from ttc.options import CompileOptions, resolve
from ttc.passes.base import Unit
from ttc.runtime.executor import Executor
from ttc.settings.train_options import TrainOptions

STOPS = ("import", "nn:canonicalize", "nn", "tile", "netlist:lower-to-netlist", "netlist:balance", "netlist:size-queues", "netlist")


def test_all_stages_agree_with_the_archive(small_onnx: Path) -> None:
    fields = {"batch": 64}  # a streamed batch
    first = compile_path(small_onnx, resolve(CompileOptions, {**fields, "to": "import"})).unit
    inputs = drawn_inputs(first.module, 3)
    assert inputs["forward"]["x"].shape[0] == 64
    whole = compile_path(small_onnx, resolve(CompileOptions, fields))
    with Executor(whole.program()) as executor:
        expected = executor.run(inputs["forward"])
    for stop in STOPS:
        unit = compile_path(small_onnx, resolve(CompileOptions, {**fields, "to": stop})).unit
        found = evaluate(unit, inputs)["forward"]
        assert list(found) == list(expected)
        for name, value in expected.items():
            np.testing.assert_allclose(found[name].reshape(value.shape), value, rtol=1e-4, atol=1e-5, err_msg=stop)


def test_time_first_at_every_stage(tmp_path: Path) -> None:
    """Microbatches are parts of the second dimension of the input, and stand behind steps in the first one of a result."""
    nodes = [onnx.helper.make_node("CumSum", ["x", "first"], ["y"]), onnx.helper.make_node("Reshape", ["y", "shape"], ["z"])]
    shapes = {"x": [3, 128, 8], "y": [3, 128, 8], "z": [384, 8]}
    ports = [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape) for name, shape in shapes.items()]
    weights = [onnx.numpy_helper.from_array(np.array(value), name) for name, value in {"first": 0, "shape": [384, 8]}.items()]
    graph = onnx.helper.make_graph(nodes, "sums", ports[:1], ports[1:], weights)
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 20)], ir_version=10), tmp_path / "sums.onnx")
    x = np.random.default_rng(sum(b"time first")).standard_normal((3, 128, 8), np.float32)
    for stop in STOPS:
        unit = compile_path(tmp_path / "sums.onnx", resolve(CompileOptions, {"target": "n150", "to": stop})).unit
        found = evaluate(unit, {"forward": {"x": x}})["forward"]
        np.testing.assert_allclose(found["y"], x.cumsum(0), rtol=1e-4, atol=1e-5, err_msg=stop)
        np.testing.assert_allclose(found["z"], x.cumsum(0).reshape(384, 8), rtol=1e-4, atol=1e-5, err_msg=stop)
    whole = compile_path(tmp_path / "sums.onnx", resolve(CompileOptions, {"target": "n150"}))
    assert whole.package is not None
    program = whole.package.netlist.programs["forward"]
    assert [(port.batch, port.samples) for port in (*program.arguments, *program.results)] == [
        (BatchAxis(1), 128),
        (BatchAxis(1), 128),
        (BatchAxis(0, 3), 128),
    ]
    text = tmp_path / "sums.mlir"
    text.write_text(compile_path(tmp_path / "sums.onnx", resolve(CompileOptions, {"target": "n150", "to": "netlist"})).text())
    resumed = compile_path(text, resolve(CompileOptions, {"weights": str(tmp_path / "sums.onnx")}))
    assert resumed.package is not None
    assert resumed.package.netlist == whole.package.netlist
    with Executor(whole.program()) as executor:
        (count,) = {graph.input_count for graph in whole.package.netlist.graphs.values()}
        assert count > 1
        np.testing.assert_allclose(executor.run({"x": x})["z"], x.cumsum(0).reshape(384, 8), rtol=1e-4, atol=1e-5)


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


@pytest.mark.parametrize("target", ["n150", "host"])
def test_steps_of_several_microbatches_at_every_stage(small_onnx: Path, target: str) -> None:
    """A step takes more rows under the names that other programs take fewer under; on a device it is two functions."""
    trained = TrainOptions(loss="mse", optimizer="sgd:lr=0.1", microbatches=3)

    def unit_at(stop: str) -> Unit:
        return compile_path(small_onnx, replace(resolve(CompileOptions, {"batch": 4, "target": target, "to": stop}), training=trained)).unit

    first, after = unit_at("nn:accumulate-gradients"), unit_at("nn:apply-optimizer")
    inputs = drawn_inputs(after.module, 3)
    assert [inputs[name]["x"].shape[0] for name in ("forward", "backward", "step")] == [4, 4, 12]
    assert drawn_inputs(first.module, 3)["step"].keys() == {"x", "target"}
    expected = evaluate(after, inputs)["step"]
    assert "new optimizer.step" in expected
    for stop in ("nn", "tile", "netlist:balance", "netlist"):
        found = evaluate(unit_at(stop), inputs)["step"]
        assert found.keys() == expected.keys()
        for name, value in expected.items():
            np.testing.assert_allclose(found[name].reshape(value.shape), value, rtol=1e-4, atol=1e-5, err_msg=f"{stop}: {name}")


def test_arrays_that_fit_no_program(small_onnx: Path) -> None:
    unit = compile_path(small_onnx, resolve(CompileOptions, {"batch": 4, "to": "nn"})).unit
    with pytest.raises(Error, match="there is no input 'x' of shape") as caught:
        drawn_inputs(unit.module, 0, {"x": np.zeros((1, 1), np.float32)})
    assert caught.value.code == "E0801"
