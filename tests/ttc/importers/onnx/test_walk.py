"""Whole graphs: functions, refused nodes, names, leaves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import NodeProto, helper

from tests.ttc.importers.onnx.cases import check, function_proto, imported, ints, model_of, normal, save
from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.entries import entry_functions, module_attr, ports
from ttc.dialects.core.ir.leaves import ConstantOp, LeafOp, ParamOp
from ttc.dialects.core.ir.locations import source_names
from ttc.importers.onnx import import_onnx

X = {"x": normal(2, 3)}


def node(op: str, inputs: list[str], outputs: list[str], name: str = "", **attrs: Any) -> NodeProto:
    return helper.make_node(op, inputs, outputs, name=name, **attrs)


def failure(path: Path) -> Error:
    with pytest.raises(Error) as caught:
        import_onnx(path)
    return caught.value


def test_all_refused_nodes_are_in_one_table(tmp_path: Path) -> None:
    """What depends on a refused node is passed over; what does not is looked at."""
    nodes = [
        *[node("MaxRoiPool", ["x", "x"], [f"n{i}"], f"pool{i}", pooled_shape=[2, 2]) for i in range(5)],
        node("Relu", ["n0"], ["r"], "after"),
        node("Unknown", ["r"], ["u"], "what"),
        node("Undrawn", ["u"], ["d"], "draw"),
        node("Reshape", ["x", "s"], ["z"], "dynamic"),
        node("Fancy", ["x"], ["f"], "fancy", domain="com.example"),
    ]
    error = failure(save(model_of(nodes, {**X, "s": ints(1)}, ["d"], opset=20), tmp_path))
    assert error.code == "E0202"
    assert error.message == "9 nodes of 5 ops cannot be imported"
    assert error.excerpt is not None
    rows = [line.split() for line in error.excerpt.splitlines()]
    assert rows[0] == ["op", "domain", "count", "nodes", "why"]
    assert rows[1] == ["MaxRoiPool", "ai.onnx", "20", "5", "pool0,", "pool1,", "pool2,", "...", "no", "mapping"]
    assert {(row[0], row[4]) for row in rows[2:]} == {
        ("Unknown", "what"),
        ("Undrawn", "draw"),
        ("Reshape", "dynamic"),
        ("Fancy", "fancy"),
    }
    assert "needs a constant shape" in error.excerpt
    assert "its domain is not imported" in error.excerpt


def test_functions_are_inlined_with_attributes_and_defaults(tmp_path: Path) -> None:
    leaky = node("LeakyRelu", ["a"], ["b"])
    leaky.attribute.add(name="alpha", ref_attr_name="slope", type=1)
    body = [node("leaky", ["a"], ["d"], domain="local"), node("leaky", ["d"], ["e"], domain="local", slope=0.25)]
    functions = [
        function_proto("leaky", ["a"], ["b"], [leaky], attribute_protos=[helper.make_attribute("slope", 0.5)]),
        function_proto("twice", ["a"], ["e"], body),
    ]
    model = model_of([node("twice", ["x"], ["y"], "outer", domain="local")], X, ["y"], functions=functions, domains={"local": 1})
    x = X["x"]
    check(model, X, tmp_path, wanted=[np.where(x < 0, x * np.float32(0.125), x)])
    module, _ = import_onnx(save(model, tmp_path))
    first = entry_functions(module)[0].body.block.first_op
    assert first is not None
    assert source_names(first.location) == ("outer/leaky_d/LeakyRelu_b",)


def test_a_function_may_leave_an_operand_out(tmp_path: Path) -> None:
    body = [node("Clip", ["a", "low", "high"], ["b"])]
    model = model_of(
        [node("f", ["x", "", "high"], ["y"], domain="local")],
        X,
        ["y"],
        {"high": np.array(0, np.float32)},
        functions=[function_proto("f", ["a", "low", "high"], ["b"], body)],
        domains={"local": 1},
    )
    check(model, X, tmp_path, wanted=[np.minimum(X["x"], 0)])


def test_ops_without_a_mapping_come_from_onnx_s_definition(tmp_path: Path) -> None:
    model = model_of([node("MeanVarianceNormalization", ["x"], ["y"], "mvn", axes=[0])], X, ["y"])
    check(model, X, tmp_path, atol=1e-4)
    module, _ = import_onnx(save(model, tmp_path))
    (function,) = entry_functions(module)
    names = [name for op in function.body.block.ops for name in source_names(op.location)]
    assert names
    assert all(name.startswith("mvn/") for name in names)


def test_definitions_may_leave_out_outputs_that_are_not_asked_for(tmp_path: Path) -> None:
    feeds = {name: normal(1, 2, 4, 8) for name in "qkv"}
    model = model_of([node("Attention", ["q", "k", "v"], ["y"])], feeds, ["y"], opset=23)
    scores = feeds["q"] @ feeds["k"].swapaxes(2, 3) / np.sqrt(np.float32(8))
    e = np.exp(scores)
    check(model, feeds, tmp_path, wanted=[e / e.sum(axis=-1, keepdims=True) @ feeds["v"]])


def test_outputs_may_repeat_and_be_inputs_or_initializers(tmp_path: Path) -> None:
    w = normal(4)
    model = model_of([node("Relu", ["x"], ["y"])], X, ["x", "y", "w", "y", "x"], {"w": w})
    found = imported(model, X, tmp_path)
    relu = np.maximum(X["x"], 0)
    for value, wanted in zip(found, [X["x"], relu, w, relu, X["x"]], strict=True):
        np.testing.assert_array_equal(value, wanted)


def test_names_are_kept_and_ops_are_located(tmp_path: Path) -> None:
    feeds = {"in put/0:1": normal(2)}
    nodes = [node("Relu", ["in put/0:1"], ["r"], "/layer.0/Relu"), node("Abs", ["r"], ["out::1"])]
    module, _ = import_onnx(save(model_of(nodes, feeds, ["out::1"]), tmp_path))
    (function,) = entry_functions(module)
    assert function.sym_name.data == "forward"
    assert [[p.name for p in side] for side in ports(function)] == [["in put/0:1"], ["out::1"]]
    assert [source_names(op.location) for op in function.body.block.ops][:2] == [("/layer.0/Relu",), ("Abs_out::1",)]
    assert (module_attr(module, "model"), module_attr(module, "stage")) == ("model", "import")


def test_leaves_come_once_each_first_and_in_order_of_use(tmp_path: Path) -> None:
    constants = {"unused": normal(3), "a": normal(3), "b": normal(3), "i": ints(0, 1), "j": np.arange(20)}
    nodes = [
        node("Add", ["x", "b"], ["s"]),
        node("Mul", ["s", "a"], ["t"]),
        node("Add", ["t", "b"], ["u"]),
        node("Gather", ["u", "i"], ["v"]),
        node("Gather", ["v", "j"], ["y"]),
        node("Reshape", ["x", "shape"], ["z"]),
    ]
    model = model_of(nodes, X, ["y", "z"], {**constants, "j": np.zeros(20, np.int64), "shape": ints(-1)})
    module, weights = import_onnx(save(model, tmp_path))
    ops = list(entry_functions(module)[0].body.block.ops)
    leaves = [op for op in ops if isinstance(op, LeafOp)]
    assert ops[: len(leaves)] == leaves
    assert [(type(leaf), source_names(leaf.location)) for leaf in leaves] == [
        (ParamOp, ("b",)),
        (ParamOp, ("a",)),
        (ConstantOp, ("i",)),
        (ConstantOp, ("j",)),
    ]
    assert list(weights) == ["b", "a", "j"]


def test_errors_of_ops_name_file_and_node(tmp_path: Path) -> None:
    error = failure(save(model_of([node("Add", ["x", "w"], ["y"], "sum")], X, ["y"], {"w": normal(7)}), tmp_path))
    assert (error.code, error.where) == ("E0401", "model.onnx: sum")


def test_long_chains_of_constants_are_followed(tmp_path: Path) -> None:
    nodes = [node("Shape", ["x"], ["s0"])]
    nodes += [node("Add", [f"s{i}", "zero"], [f"s{i + 1}"]) for i in range(2000)]
    nodes += [node("Reshape", ["x", "s2000"], ["y"])]
    model = model_of(nodes, X, ["y"], {"zero": ints(0)})
    (y,) = imported(model, X, tmp_path)
    np.testing.assert_array_equal(y, X["x"])


def test_shapes_worked_out_by_the_graph(tmp_path: Path) -> None:
    """Flattening as exporters write it: Shape, Gather, Unsqueeze, Concat, Reshape."""
    nodes = [
        node("Shape", ["x"], ["shape"]),
        node("Gather", ["shape", "zero"], ["rows"]),
        node("Unsqueeze", ["rows", "axis"], ["rows1"]),
        node("Concat", ["rows1", "rest"], ["target"], axis=0),
        node("Reshape", ["x", "target"], ["y"]),
    ]
    feeds = {"x": normal(2, 3, 4)}
    check(model_of(nodes, feeds, ["y"], {"zero": np.array(0), "axis": ints(0), "rest": ints(-1)}), feeds, tmp_path)
