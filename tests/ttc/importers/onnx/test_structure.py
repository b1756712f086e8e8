"""Graphs that are not well formed."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest
from onnx import NodeProto, helper

from tests.ttc.importers.onnx.cases import function_proto, model_of, normal, save
from ttc.dialects.core.errors import Error
from ttc.importers.onnx import import_onnx

X = {"x": normal(2, 2)}


def relu(source: str, result: str, name: str = "") -> NodeProto:
    return helper.make_node("Relu", [source], [result], name=name)


def call(function: str, source: str = "x", result: str = "y") -> NodeProto:
    return helper.make_node(function, [source], [result], domain="local")


def failure(model: onnx.ModelProto, folder: Path) -> Error:
    with pytest.raises(Error) as caught:
        import_onnx(save(model, folder))
    return caught.value


@pytest.mark.parametrize(
    ("nodes", "message"),
    [
        ([relu("b", "a", "first"), relu("a", "b", "second"), relu("b", "y")], "computed only later, by node 'first'"),
        ([relu("y", "y")], "computed only later"),
        ([relu("nowhere", "y", "n")], "node 'n': nothing defines its input 'nowhere'"),
        ([relu("x", "y"), relu("x", "y")], "'y' is defined twice"),
        ([relu("x", "x"), relu("x", "y")], "'x' is defined twice"),
        ([relu("x", "z")], "nothing defines the output 'y'"),
    ],
)
def test_values(nodes: list[NodeProto], message: str, tmp_path: Path) -> None:
    error = failure(model_of(nodes, X, ["y"]), tmp_path)
    assert error.code == "E0203"
    assert message in error.message
    assert error.where == "model.onnx"


def test_inputs_of_one_name(tmp_path: Path) -> None:
    model = model_of([relu("x", "y")], X, ["y"])
    model.graph.input.append(model.graph.input[0])
    assert failure(model, tmp_path).code == "E0203"


def test_initializers_of_one_name(tmp_path: Path) -> None:
    model = model_of([relu("w", "y")], {}, ["y"], {"w": normal(2)})
    model.graph.initializer.append(model.graph.initializer[0])
    assert failure(model, tmp_path).code == "E0203"


@pytest.mark.parametrize("bodies", [{"f": "f"}, {"f": "g", "g": "h", "h": "f"}])
def test_functions_that_call_themselves(bodies: dict[str, str], tmp_path: Path) -> None:
    functions = [function_proto(name, ["x"], ["y"], [call(inner)]) for name, inner in bodies.items()]
    error = failure(model_of([call("f")], X, ["y"], functions=functions, domains={"local": 1}), tmp_path)
    assert error.code == "E0203"
    assert "calls itself" in error.message


@pytest.mark.parametrize(("levels", "fits"), [(64, True), (65, False), (3000, False)])
def test_depth_of_calls(levels: int, fits: bool, tmp_path: Path) -> None:
    functions = [function_proto(f"f{i}", ["x"], ["y"], [call(f"f{i + 1}")]) for i in range(levels - 1)]
    functions.append(function_proto(f"f{levels - 1}", ["x"], ["y"], [relu("x", "y")]))
    model = model_of([call("f0")], X, ["y"], functions=functions, domains={"local": 1})
    if fits:
        assert len(list(import_onnx(save(model, tmp_path))[0].walk())) == 4  # module, function, relu, return
    else:
        assert "more than 64 deep" in failure(model, tmp_path).message


def test_functions_that_expand_without_end(tmp_path: Path) -> None:
    """Ten levels of a hundred calls."""
    functions = [function_proto("f0", ["x"], ["y"], [relu("x", "y")])]
    for level in range(1, 10):
        nodes = [call(f"f{level - 1}", "x" if i == 0 else f"v{i}", f"v{i + 1}") for i in range(100)]
        functions.append(function_proto(f"f{level}", ["x"], ["v100"], nodes))
    error = failure(model_of([call("f9")], X, ["y"], functions=functions, domains={"local": 1}), tmp_path)
    assert error.code == "E0203"
    assert "once its functions are inlined" in error.message


def test_functions_defined_twice(tmp_path: Path) -> None:
    functions = [function_proto("f", ["x"], ["y"], [relu("x", "y")])] * 2
    assert failure(model_of([call("f")], X, ["y"], functions=functions, domains={"local": 1}), tmp_path).code == "E0203"
