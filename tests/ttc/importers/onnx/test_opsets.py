"""Opsets, and nodes that do not keep to their schemas."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from onnx import ModelProto, NodeProto, helper

from tests.ttc.importers.onnx.cases import model_of, normal, save
from ttc.dialects.core.errors import Error
from ttc.importers.onnx import import_onnx
from ttc.importers.onnx.opsets import newest

X = {"x": normal(2, 3)}


def failure(model: ModelProto, folder: Path) -> Error:
    with pytest.raises(Error) as caught:
        import_onnx(save(model, folder))
    return caught.value


@pytest.mark.parametrize("opset", [0, 1000, -1])
def test_opsets_outside_the_supported_ones(opset: int, tmp_path: Path) -> None:
    error = failure(model_of([helper.make_node("Relu", ["x"], ["y"])], X, ["y"], opset=opset), tmp_path)
    assert error.code == "E0202"
    assert f"uses opset {opset} of ONNX; opsets 1 to {newest()} are supported" in error.message


@pytest.mark.parametrize("opset", [7, 13, newest()])
def test_oldest_and_newest(opset: int, tmp_path: Path) -> None:
    module, _ = import_onnx(save(model_of([helper.make_node("Relu", ["x"], ["y"])], X, ["y"], opset=opset), tmp_path))
    assert "nn.relu" in str(module)


def test_no_opset(tmp_path: Path) -> None:
    model = model_of([helper.make_node("Relu", ["x"], ["y"])], X, ["y"])
    del model.opset_import[:]
    assert failure(model, tmp_path).code == "E0202"


def test_two_versions_of_a_domain(tmp_path: Path) -> None:
    model = model_of([helper.make_node("Relu", ["x"], ["y"])], X, ["y"])
    model.opset_import.append(helper.make_opsetid("ai.onnx", 17))
    assert failure(model, tmp_path).code == "E0203"


@pytest.mark.parametrize(
    ("op", "inputs", "outputs", "attrs", "message"),
    [
        ("Relu", ["x", "x"], ["y"], {}, "Relu takes 1 inputs, not 2"),
        ("Relu", ["x"], ["y", "z"], {}, "Relu gives 1 outputs, not 2"),
        ("Add", ["x", ""], ["y"], {}, "Add needs its input 'B'"),
        ("Add", ["x"], ["y"], {}, "Add takes 2 inputs, not 1"),
        ("Concat", ["x", "x"], ["y"], {}, "Concat needs its attribute 'axis'"),
        ("Concat", ["x", "x"], ["y"], {"axis": 1.0}, "attribute 'axis' of Concat is FLOAT, not INT"),
        ("Softmax", ["x"], ["y"], {"axes": 1}, "Softmax-13 has no attribute 'axes'"),
        ("Cast", ["x"], ["y"], {}, "Cast needs its attribute 'to'"),
    ],
)
def test_nodes_that_do_not_keep_to_their_schema(
    op: str, inputs: list[str], outputs: list[str], attrs: dict[str, Any], message: str, tmp_path: Path
) -> None:
    node = helper.make_node(op, inputs, outputs, name="bad", **attrs)
    error = failure(model_of([node], X, ["y"]), tmp_path)
    assert (error.code, error.where) == ("E0203", "model.onnx: bad")
    assert message in error.message


def test_an_attribute_given_twice(tmp_path: Path) -> None:
    node: NodeProto = helper.make_node("Softmax", ["x"], ["y"], axis=0)
    node.attribute.append(node.attribute[0])
    assert failure(model_of([node], X, ["y"]), tmp_path).code == "E0203"
