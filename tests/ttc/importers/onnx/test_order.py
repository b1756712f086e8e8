"""Nodes that stand before those that make what they read."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from onnx import GraphProto, NodeProto, TensorProto, helper

from tests.ttc.importers.onnx.cases import function_proto, model_of, normal, save
from ttc.dialects.core.errors import Error
from ttc.importers.onnx import import_onnx
from ttc.importers.onnx.order import sort_nodes

X = {"x": normal(2, 2)}


def node(op: str, reads: str, makes: str) -> NodeProto:
    return helper.make_node(op, reads.split(), [makes], name=makes)


def graph(nodes: list[NodeProto], output: str) -> GraphProto:
    return helper.make_graph(nodes, "inner", [], [helper.make_tensor_value_info(output, TensorProto.FLOAT, [2, 2])])


def sorted_names(nodes: list[NodeProto]) -> list[str]:
    model = model_of(nodes, X, ["y"])
    sort_nodes(model)
    return [node.name for node in model.graph.node]


def test_sorted_nodes_stay() -> None:
    nodes = [node("Relu", "x", "a"), node("Exp", "x", "b"), node("Neg", "a", "c"), node("Add", "b c", "y")]
    assert sorted_names(nodes) == ["a", "b", "c", "y"]


def test_a_node_moves_before_its_first_reader() -> None:
    nodes = [node("Relu", "x", "a"), node("Add", "a c", "y"), node("Exp", "x", "b"), node("Neg", "b", "c"), node("Abs", "x", "d")]
    assert sorted_names(nodes) == ["a", "b", "c", "y", "d"]


def test_a_long_chain_backwards() -> None:
    count = 20_000
    names = ["x", *(f"v{i}" for i in range(count)), "y"]
    nodes = [node("Relu", names[i], names[i + 1]) for i in reversed(range(count + 1))]
    assert sorted_names(nodes) == names[1:]


def test_what_a_subgraph_reads_comes_first_and_its_nodes_are_sorted(tmp_path: Path) -> None:
    then = graph([node("Neg", "inside", "left"), node("Exp", "outside", "inside")], "left")
    other = graph([node("Relu", "x", "right")], "right")
    choice = helper.make_node("If", ["on"], ["y"], name="y", then_branch=then, else_branch=other)
    model = model_of([choice, node("Abs", "x", "outside")], {**X, "on": np.array(True)}, ["y"])
    sort_nodes(model)
    assert [n.name for n in model.graph.node] == ["outside", "y"]
    assert [n.name for n in next(a.g for a in model.graph.node[1].attribute if a.name == "then_branch").node] == ["inside", "left"]
    assert any(op.name == "nn.exp" for op in import_onnx(save(model, tmp_path))[0].walk())


def test_a_name_of_a_subgraph_is_its_own() -> None:
    then = graph([node("Neg", "x", "late")], "late")
    choice = helper.make_node("If", ["x"], ["y"], name="y", then_branch=then, else_branch=then)
    assert sorted_names([choice, node("Abs", "y", "late")]) == ["y", "late"]


def test_functions(tmp_path: Path) -> None:
    function = function_proto("f", ["x"], ["y"], [node("Neg", "a", "y"), node("Exp", "x", "a")])
    call = helper.make_node("f", ["x"], ["y"], domain="local")
    module, _ = import_onnx(save(model_of([call], X, ["y"], functions=[function], domains={"local": 1}), tmp_path))
    assert [op.name for op in module.walk() if op.name.startswith("nn.")] == ["nn.exp", "nn.neg"]


def test_a_cycle_in_a_subgraph(tmp_path: Path) -> None:
    loop = graph([node("Neg", "b", "a"), node("Exp", "a", "b")], "b")
    choice = helper.make_node("If", ["on"], ["y"], name="y", then_branch=loop, else_branch=graph([node("Relu", "x", "r")], "r"))
    with pytest.raises(Error, match="nothing defines the value") as caught:
        import_onnx(save(model_of([choice], {**X, "on": np.array(True)}, ["y"]), tmp_path))
    assert caught.value.code == "E0203"
