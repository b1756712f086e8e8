"""One archive for several shapes: its programs, the weights that they share, and how a run finds its own."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper

import ttc
from tests.ttc.importers.onnx.cases import model_of, normal
from ttc.cli import main
from ttc.compiler.driver import compile_path
from ttc.compiler.variants import _shared, variants
from ttc.dialects.core.errors import Error
from ttc.dialects.core.plain.weights import WeightStore
from ttc.options import CompileOptions, resolve
from ttc.runtime.manifest import make_manifest, manifest_from_json, manifest_to_json

TARGETS = ("host", "n150")


@pytest.fixture
def network(tmp_path: Path) -> Path:
    """Two products with a transposed weight, on rows of any number."""
    nodes = [
        helper.make_node("Gemm", ["x", "w", "b"], ["h"], transB=1),
        helper.make_node("Relu", ["h"], ["r"]),
        helper.make_node("Gemm", ["r", "v"], ["y"], transB=1),
    ]
    model = model_of(nodes, {"x": normal(2, 48)}, ["y"], {"w": normal(96, 48), "b": normal(96), "v": normal(8, 96)})
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "n"
    onnx.save(model, tmp_path / "m.onnx")
    return tmp_path / "m.onnx"


def code(call: object, *arguments: object, **named: object) -> str:
    with pytest.raises(Error) as caught:
        call(*arguments, **named)  # pyright: ignore[reportCallIssue]
    return caught.value.code


def test_names_of_programs() -> None:
    def of(**fields: object) -> list[str]:
        return [variant.name for variant in variants(resolve(CompileOptions, fields))]

    assert of() == of(batch=4) == of(shape=["x=1x8"]) == ["forward"]
    assert of(batch="1,8,32") == of(batch=(1, 8, 32)) == ["forward", "forward_8", "forward_32"]
    assert of(shape=["x=1x8", "x=2x8", "k=3"]) == of(shape={"x": [(1, 8), (2, 8)], "k": (3,)}) == ["forward", "forward_2x8"]
    both = variants(resolve(CompileOptions, {"shape": ["a=1", "b=5", "a=2", "b=6", "c=9"]}))
    assert [dict(v.shapes) for v in both] == [{"a": (1,), "b": (5,), "c": (9,)}, {"a": (2,), "b": (6,), "c": (9,)}]
    assert code(of, shape=["a=1", "a=2", "b=1", "b=2", "b=3"]) == "E0101"
    assert code(of, shape=["a=1", "a=2"], batch="1,8") == "E0101"
    assert code(of, shape=["a=1", "a=1"]) == "E0101"
    assert code(of, batch="1,1") == "E0101"


@pytest.mark.parametrize("target", TARGETS)
def test_weights_are_stored_once(target: str, network: Path, tmp_path: Path) -> None:
    one, three = tmp_path / "one.tti", tmp_path / "three.tti"
    ttc.compile(network, target=target, batch=1).save(one)
    program = ttc.compile(network, target=target, batch=[1, 8, 32])
    program.save(three)
    assert list(program.netlist.programs) == ["forward", "forward_8", "forward_32"]
    weights = 4 * (96 * 48 + 96 + 8 * 96)
    assert one.stat().st_size > weights
    assert three.stat().st_size < one.stat().st_size + weights / 2, "three programs, one set of weights"
    keys = [queue.key for queue in program.netlist.queues.values() if queue.key is not None]
    assert len(keys) == len(set(keys)), "and one set of queues"


@pytest.mark.parametrize("target", TARGETS)
def test_a_run_finds_its_program(target: str, network: Path, tmp_path: Path) -> None:
    ttc.compile(network, target=target, batch=[2, 5]).save(tmp_path / "m.tti")
    x = normal(6, 48)
    with ttc.load(tmp_path / "m.tti") as executor, ttc.Executor(ttc.compile(network, target="host", batch=3)) as three:
        wanted = three.run({"x": x[:3]})["y"]
        for rows in (2, 5):
            found = executor.run({"x": x[:rows]})["y"]
            assert found.shape == (rows, 8)
            np.testing.assert_allclose(found[:3], wanted[: min(rows, 3)], rtol=1e-4, atol=1e-4)
        assert [len(y["y"]) for y in executor.run_many([{"x": x[:5]}, {"x": x[:2]}])] == [5, 2]
        assert len(executor(x[:5])[0]) == 5
        padded = executor.run({"x": x[:3]}, pad_batch=True)["y"]
        np.testing.assert_allclose(padded, wanted, rtol=1e-4, atol=1e-4)
        with pytest.raises(Error) as caught:
            executor.run({"x": x[:3]})
        assert caught.value.code == "E0801"
        assert "forward: x [2, 48]; forward_5: x [5, 48]" in caught.value.message
        assert "pad_batch" in (caught.value.hint or "")
        assert code(executor.run, {"x": x}, pad_batch=True) == "E0801", "larger than any batch"
        assert code(executor.run, {"x": x[:3]}, "forward_5") == "E0801", "a program that is named is taken as it is"
        assert code(executor.run, {"z": x[:3]}) == "E0801"


def test_samples_that_depend_on_each_other_are_not_padded(tmp_path: Path) -> None:
    model = model_of([helper.make_node("Softmax", ["x"], ["y"], axis=0)], {"x": normal(2, 4)}, ["y"])
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "n"
    onnx.save(model, tmp_path / "m.onnx")
    with ttc.Executor(ttc.compile(tmp_path / "m.onnx", target="host", batch=[2, 8])) as executor:
        assert executor.description.independent_batches == ()
        assert code(executor.run, {"x": normal(5, 4)}, pad_batch=True) == "E0801"
        assert executor.run({"x": normal(8, 4)})["y"].shape == (8, 4)


def test_a_batch_in_the_second_dimension_is_padded(tmp_path: Path) -> None:
    """Sums over steps, which come first: each sample has its own, and the last ones are without the steps."""
    nodes = [
        helper.make_node("CumSum", ["x", "first"], ["y"]),
        helper.make_node("ReduceSum", ["x", "firsts"], ["last"], keepdims=0),
    ]
    weights = {"first": np.array(0), "firsts": np.array([0])}
    model = model_of(nodes, {"x": normal(3, 2, 8)}, ["y", "last"], weights)
    model.graph.input[0].type.tensor_type.shape.dim[1].dim_param = "n"
    onnx.save(model, tmp_path / "m.onnx")
    shapes = [{"x": (3, 2, 8)}, {"x": (3, 5, 8)}]
    program = ttc.compile(tmp_path / "m.onnx", target="host", shapes=shapes)
    assert program.description.independent_batches == (("forward", ("x",)), ("forward_3x5x8", ("x",)))
    assert program.description.batch_axes == tuple((name, (("x", 1), ("y", 1))) for name in ("forward", "forward_3x5x8"))
    x = normal(3, 4, 8)
    program.save(tmp_path / "m.tti")
    with ttc.load(tmp_path / "m.tti") as executor:
        found = executor.run({"x": x}, pad_batch=True)
    np.testing.assert_allclose(found["y"], x.cumsum(0), rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(found["last"], x.sum(0), rtol=1e-5, atol=1e-5)


def test_shapes_of_images_and_of_torch_modules(tmp_path: Path) -> None:
    model = model_of([helper.make_node("GlobalAveragePool", ["x"], ["y"])], {"x": normal(1, 3, 8, 8)}, ["y"])
    for axis, name in ((2, "h"), (3, "w")):
        model.graph.input[0].type.tensor_type.shape.dim[axis].dim_param = name
    onnx.save(model, tmp_path / "m.onnx")
    program = ttc.compile(tmp_path / "m.onnx", target="host", shapes=[{"x": (1, 3, 8, 8)}, {"x": (1, 3, 16, 12)}])
    assert list(program.netlist.programs) == ["forward", "forward_1x3x16x12"]
    x = normal(1, 3, 16, 12)
    with ttc.Executor(program) as executor:
        np.testing.assert_allclose(executor.run({"x": x})["y"][..., 0, 0], x.mean((2, 3)), rtol=1e-5, atol=1e-6)
    assert code(ttc.compile, tmp_path / "m.onnx", shapes=[{"x": (1, 3, 8, 8)}], shape={"x": (1, 3, 8, 8)}) == "E0101"
    assert code(ttc.compile, tmp_path / "m.onnx", shapes=[{"x": (1, 3, 8, 8)}, {}]) == "E0101"


def test_weights_of_one_name_that_differ_are_both_kept() -> None:
    one, other = WeightStore(), WeightStore()
    for store in (one, other):
        store.add_array("same", np.array([1.0, np.nan]))
    one.add_array("size", np.array([2]))
    other.add_array("size", np.array([8]))
    other.add_array("new", np.array([0]))
    assert _shared(one, other) == {"size": "size.1"}
    assert {key: one[key].value().tolist() for key in one if key != "same"} == {"size": [2], "size.1": [8], "new": [0]}


def test_a_manifest_that_names_no_batch_of_a_program_is_refused(network: Path) -> None:
    options = resolve(CompileOptions, {"target": "host", "batch": "2,8"})
    package = compile_path(network, options).package
    assert package is not None
    document = json.loads(manifest_to_json(make_manifest(package.description, package.netlist, {}, {})))
    assert document["independent_batches"] == [["forward", ["x"]], ["forward_8", ["x"]]]
    assert document["options"]["batch"] == "2,8"
    for axes in ([["backward", [["x", 1]]]], [["forward", [["x", 2]]]], [["forward", [["z", 0]]]], [["forward", [["y", -1]]]]):
        assert code(manifest_from_json, json.dumps({**document, "batch_axes": axes}).encode()) == "E0703"
    for rows in ([["backward", ["x"]]], [["forward", []]], [["forward", ["z"]]]):
        assert code(manifest_from_json, json.dumps({**document, "independent_batches": rows}).encode()) == "E0703"


def test_text_of_several_programs_is_resumed(network: Path, tmp_path: Path) -> None:
    """IR of stage nn, with the weights of the model, gives the archive that the model gives."""
    options = {"target": "host", "batch": "2,8"}
    text = tmp_path / "m.mlir"
    text.write_text(compile_path(network, resolve(CompileOptions, {**options, "to": "nn"})).text())
    compile_path(text, resolve(CompileOptions, {"weights": network})).save(tmp_path / "again.tti")
    compile_path(network, resolve(CompileOptions, options)).save(tmp_path / "m.tti")
    assert (tmp_path / "again.tti").read_bytes() == (tmp_path / "m.tti").read_bytes()


def test_commands(network: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    archive = str(tmp_path / "m.tti")
    assert main(["compile", str(network), "-o", archive, "--batch", "2,8", "-q"]) == 0
    np.save(tmp_path / "x.npy", normal(5, 48))
    one = ["--input", f"x={tmp_path / 'x.npy'}"]
    assert main(["run", archive, *one]) == 2
    assert "forward_8: x [8, 48]" in capsys.readouterr().err
    assert main(["run", archive, *one, "--pad-batch", "--json", "--check", str(network)]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["program"], found["outputs"][0]["shape"]) == ("forward_8", [5, 8])
    np.save(tmp_path / "x.npy", normal(8, 48))
    assert main(["run", archive, *one, "--engine", "both", "-q"]) == 0
    assert main(["bench", archive, *one, "--runs", "2", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["program"] == "forward_8"
    assert main(["info", archive, "--program", "forward_8", "--json"]) == 0
    assert list(json.loads(capsys.readouterr().out)["programs"]) == ["forward_8"]
    assert main(["perf", archive, "--program", "forward_8", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["samples"] == 8
    flops = []
    for program in ("forward", "forward_8"):
        assert main(["check", str(network), "--batch", "2,8", "--program", program, "--json"]) == 0
        flops.append(json.loads(capsys.readouterr().out)["flops"]["total"])
    assert flops[1] == 4 * flops[0]
    for command in (["info", archive], ["check", str(network), "--batch", "2,8"], ["run", archive], ["bench", archive], ["perf", archive]):
        assert main([*command, "--program", "forward_9"]) == 2
        assert "error[E0803]" in capsys.readouterr().err
