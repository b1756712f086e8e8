"""What an ONNX file says of itself."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from tests.ttc.importers.onnx.cases import model_of, normal
from ttc.dialects.core.errors import Error
from ttc.importers.base import describe_model
from ttc.importers.onnx import describe


def test_facts(small_onnx: Path) -> None:
    found = describe(small_onnx)
    assert describe_model(small_onnx) == found
    assert (found.kind, found.opsets) == ("ONNX", {"ai.onnx": 18})
    assert found.ops == {"Add": 1, "MatMul": 1, "Relu": 1, "Softmax": 1}
    assert (found.weights, found.weight_elements, found.weight_bytes) == (2, 36, 144)
    assert found.inputs is not None
    assert [(item.name, item.dims, item.dtype) for item in found.inputs] == [("x", ("batch", 8), np.float32)]


def test_weights_in_constant_nodes_count(tmp_path: Path) -> None:
    held = helper.make_node("Constant", [], ["c"], value=onnx.numpy_helper.from_array(normal(8, 4)))
    nodes = [held, helper.make_node("MatMul", ["x", "c"], ["p"]), helper.make_node("MatMul", ["p", "w"], ["y"])]
    onnx.save(model_of(nodes, {"x": normal(2, 8)}, ["y"], {"w": normal(4, 4)}), tmp_path / "m.onnx")
    found = describe(tmp_path / "m.onnx")
    assert (found.weights, found.weight_elements, found.weight_bytes) == (2, 48, 192)


def test_bodies_count_once(tmp_path: Path) -> None:
    branch = helper.make_graph([helper.make_node("Exp", ["x"], ["e"])], "b", [], [onnx.ValueInfoProto(name="e")])
    chosen = helper.make_node("If", ["c"], ["y"], then_branch=branch, else_branch=branch)
    function = helper.make_function("own", "F", ["a"], ["b"], [helper.make_node("Neg", ["a"], ["b"])], [helper.make_opsetid("", 18)])
    calls = [helper.make_node("F", ["y"], ["z"], domain="own"), helper.make_node("F", ["z"], ["w"], domain="own")]
    feeds = {"x": normal(2), "c": np.array(True)}
    onnx.save(model_of([chosen, *calls], feeds, ["w"], functions=[function], domains={"own": 3}), tmp_path / "m.onnx")
    found = describe(tmp_path / "m.onnx")
    assert found.ops == {"Exp": 2, "own.F": 2, "If": 1, "Neg": 1}
    assert found.opsets == {"ai.onnx": 18, "own": 3}


def test_inputs_that_are_no_tensors(tmp_path: Path) -> None:
    kind = helper.make_sequence_type_proto(helper.make_tensor_type_proto(TensorProto.FLOAT, None))
    model = model_of([helper.make_node("SequenceLength", ["s"], ["n"])], {}, ["n"])
    model.graph.input.append(helper.make_value_info("s", kind))
    onnx.save(model, tmp_path / "m.onnx")
    assert describe(tmp_path / "m.onnx").inputs is None


def test_what_is_no_model(tmp_path: Path) -> None:
    (tmp_path / "m.onnx").write_bytes(b"\xff" * 40)
    with pytest.raises(Error) as caught:
        describe(tmp_path / "m.onnx")
    assert (caught.value.code, caught.value.where) == ("E0201", "m.onnx")
    assert describe_model(tmp_path / "none.onnx") is None
    assert describe_model(tmp_path / "m.unknown") is None
