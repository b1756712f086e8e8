"""Sequences and optionals against onnx's reference evaluator; containers as inputs and outputs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, NodeProto, TensorProto, helper

from tests.ttc.importers.onnx.cases import check, ints, model_of, normal, save
from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.entries import entry_functions, ports
from ttc.importers.onnx import import_onnx

A, B = normal(2, 3), normal(2, 3)
FEEDS = {"a": A, "b": B}


def node(op: str, inputs: list[str], outputs: list[str], **attrs: Any) -> NodeProto:
    return helper.make_node(op, inputs, outputs, name=f"{op}_{outputs[0]}", **attrs)


def model(nodes: list[NodeProto], outputs: list[str], **constants: Any) -> ModelProto:
    return model_of(nodes, FEEDS, outputs, {name: np.array(value, np.int64) for name, value in constants.items()})


PAIR = node("SequenceConstruct", ["a", "b"], ["s"])


def test_construct_insert_erase_at_length(tmp_path: Path) -> None:
    nodes = [
        PAIR,
        node("SequenceInsert", ["s", "b", "zero"], ["t"]),
        node("SequenceInsert", ["t", "a"], ["u"]),
        node("SequenceErase", ["u", "last"], ["v"]),
        node("SequenceErase", ["v"], ["w"]),
        node("SequenceAt", ["v", "minus"], ["y"]),
        node("SequenceLength", ["w"], ["n"]),
    ]
    check(model(nodes, ["y", "n"], zero=0, last=1, minus=-2), FEEDS, tmp_path, wanted=[B, np.array(2)])


@pytest.mark.parametrize(("new_axis", "axis", "wanted"), [(0, 1, np.concatenate([A, B], 1)), (1, -1, np.stack([A, B], -1))])
def test_concat_from_sequence(new_axis: int, axis: int, wanted: np.ndarray, tmp_path: Path) -> None:
    nodes = [PAIR, node("ConcatFromSequence", ["s"], ["y"], axis=axis, new_axis=new_axis)]
    check(model(nodes, ["y"]), FEEDS, tmp_path, wanted=[wanted])


@pytest.mark.parametrize(
    ("split", "keepdims", "index", "wanted"),
    [(None, 1, 2, A[:, 2:]), (None, 0, 1, A[:, 1]), (2, 1, 1, A[:, 2:]), ([1, 2], 0, 1, A[:, 1:])],
)
def test_split_to_sequence(split: Any, keepdims: int, index: int, wanted: np.ndarray, tmp_path: Path) -> None:
    inputs = ["a"] if split is None else ["a", "sizes"]
    nodes = [node("SplitToSequence", inputs, ["s"], axis=1, keepdims=keepdims), node("SequenceAt", ["s", "i"], ["y"])]
    constants = {"i": index, **({} if split is None else {"sizes": split})}
    check(model(nodes, ["y"], **constants), FEEDS, tmp_path, wanted=[wanted])


def test_optionals(tmp_path: Path) -> None:
    nodes = [
        node("Optional", ["a"], ["o"]),
        node("OptionalHasElement", ["o"], ["has"]),
        node("OptionalGetElement", ["o"], ["y"]),
        node("Optional", [], ["e"], type=helper.make_tensor_type_proto(TensorProto.FLOAT, [2])),
        node("OptionalHasElement", ["e"], ["lacks"]),
    ]
    check(model(nodes, ["has", "y", "lacks"]), FEEDS, tmp_path, wanted=[np.array(True), A, np.array(False)])


def failure(made: ModelProto, folder: Path, **options: Any) -> Error:
    with pytest.raises(Error) as caught:
        import_onnx(save(made, folder), **options)
    return caught.value


def test_positions_and_empty_containers_are_errors(tmp_path: Path) -> None:
    outside = model([PAIR, node("SequenceAt", ["s", "i"], ["y"])], ["y"], i=2)
    empty = model([node("SequenceEmpty", [], ["s"]), node("ConcatFromSequence", ["s"], ["y"], axis=0)], ["y"])
    none = model([node("Optional", [], ["o"], type=helper.make_tensor_type_proto(1, [2])), node("OptionalGetElement", ["o"], ["y"])], ["y"])
    assert failure(outside, tmp_path).code == failure(empty, tmp_path).code == failure(none, tmp_path).code == "E0402"


def test_ops_on_tensors_take_no_sequences(tmp_path: Path) -> None:
    error = failure(model([PAIR, node("Relu", ["s"], ["y"])], ["y"]), tmp_path)
    assert error.code == "E0202"
    assert "takes no sequences" in (error.excerpt or "")


def sequence_input() -> ModelProto:
    made = model_of([node("SequenceInsert", ["s", "a"], ["t"])], {"a": A}, [])
    type_ = helper.make_tensor_type_proto(TensorProto.FLOAT, None)
    made.graph.input.append(helper.make_value_info("s", helper.make_sequence_type_proto(type_)))
    made.graph.output.append(helper.make_value_info("t", helper.make_sequence_type_proto(type_)))
    return made


def test_sequences_as_inputs_and_outputs_are_their_tensors(tmp_path: Path) -> None:
    module, _ = import_onnx(save(sequence_input(), tmp_path), values={"s": [A, B[:1]]})
    arguments, results = ports(entry_functions(module)[0])
    assert [port.name for port in arguments] == ["a", "s[0]", "s[1]"]
    assert [port.name for port in results] == ["t[0]", "t[1]", "t[2]"]


def test_sequences_need_values(tmp_path: Path) -> None:
    assert failure(sequence_input(), tmp_path).code == "E0202"
    assert failure(sequence_input(), tmp_path, values={"s": A}).code == "E0206"
    assert failure(sequence_input(), tmp_path, values={"s": [A, [A, 1]]}).code == "E0206"
    assert failure(sequence_input(), tmp_path, values={"s": [np.array("text")]}).code == "E0202"


def test_shapes_from_values_of_integer_inputs(tmp_path: Path) -> None:
    made = model_of([node("Reshape", ["a", "shape"], ["y"])], {"a": A, "shape": ints(3, 2)}, ["y"])
    module, _ = import_onnx(save(made, tmp_path), values={"a": A, "shape": ints(3, -1)})
    returned = entry_functions(module)[0].function_type.outputs.data[0]
    assert "3x2xf32" in str(returned)
