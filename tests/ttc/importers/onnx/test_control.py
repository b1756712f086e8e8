"""If, Loop and Scan against onnx's reference evaluator, and what bounds them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import GraphProto, NodeProto, TensorProto, helper

from tests.ttc.importers.onnx.cases import check, function_proto, imported, ints, model_of, normal, save
from ttc.dialects.core.errors import Error
from ttc.dialects.core.ir.entries import entry_functions, module_attr
from ttc.dialects.core.ir.locations import source_names
from ttc.dialects.core.ir.spec import spec_of
from ttc.importers.onnx import calls, control, import_onnx

X = {"x": normal(2, 3)}


def node(op: str, inputs: list[str], outputs: list[str], **attrs: Any) -> NodeProto:
    return helper.make_node(op, inputs, outputs, name=f"{op}_{outputs[0]}", **attrs)


def body(nodes: list[NodeProto], inputs: list[str], outputs: list[str], shape: tuple[int, ...] | None = None) -> GraphProto:
    """A subgraph; inputs and outputs are float tensors of the shape, but for those whose names say otherwise."""
    kinds = {"i": TensorProto.INT64, "go": TensorProto.BOOL, "more": TensorProto.BOOL}
    infos = [
        [helper.make_tensor_value_info(n, kinds.get(n, TensorProto.FLOAT), () if n in kinds else shape) for n in names]
        for names in (inputs, outputs)
    ]
    return helper.make_graph(nodes, "body", *infos)


def refusal(model: onnx.ModelProto, folder: Path, code: str = "E0202", **options: Any) -> str:
    with pytest.raises(Error) as caught:
        import_onnx(save(model, folder), **options)
    assert caught.value.code == code
    return caught.value.excerpt or caught.value.message


def ops_of(model: onnx.ModelProto, folder: Path, **options: Any) -> list[str]:
    """Names of the ops of the imported function."""
    return [op.name for op in entry_functions(import_onnx(save(model, folder), **options)[0])[0].body.block.ops]


def branches(first: str = "Exp", second: str = "Neg") -> dict[str, GraphProto]:
    return {
        "then_branch": body([node(first, ["x"], ["b"])], [], ["b"], (2, 3)),
        "else_branch": body([node(second, ["x"], ["b"])], [], ["b"], (2, 3)),
    }


@pytest.mark.parametrize("value", [False, True])
def test_a_known_condition_chooses_its_branch(value: bool, tmp_path: Path) -> None:
    model = model_of([node("If", ["c"], ["y"], **branches())], X, ["y"], {"c": np.array(value)})
    check(model, X, tmp_path)
    module, _ = import_onnx(save(model, tmp_path))
    assert [op.name for op in entry_functions(module)[0].body.block.ops] == ["nn.exp" if value else "nn.neg", "func.return"]


@pytest.mark.parametrize("value", [False, True])
def test_an_unknown_condition_selects(value: bool, tmp_path: Path) -> None:
    check(model_of([node("If", ["c"], ["y"], **branches())], {**X, "c": np.array(value)}, ["y"]), {**X, "c": np.array(value)}, tmp_path)


def test_branches_of_different_shapes_take_the_value_given(tmp_path: Path) -> None:
    model = model_of([node("If", ["c"], ["y"], **branches("Exp", "ReduceMax"))], {**X, "c": np.array(True)}, ["y"])
    module, _ = import_onnx(save(model, tmp_path), values={"c": np.array(True)})
    assert [row[0] for row in module_attr(module, "fixed_inputs")] == ["c"]
    assert "nn.branch" not in ops_of(model, tmp_path, values={"c": np.array(True)})
    for value in (True, False):
        check(model, {**X, "c": np.array(value)}, tmp_path)
    assert "nn.branch" in ops_of(model, tmp_path)


def counting(trips: np.ndarray | None, more: list[NodeProto], constants: dict[str, np.ndarray] | None = None) -> onnx.ModelProto:
    """x is doubled in each iteration; each result is also stacked."""
    nodes = [node("Add", ["a", "a"], ["out"]), node("Identity", ["out"], ["each"]), *more]
    graph = body(nodes, ["i", "go", "a"], ["more", "out", "each"], (2, 3))
    inputs = ["n" if trips is not None else "", "", "x"]
    made = {**(constants or {}), **({} if trips is None else {"n": trips})}
    return model_of([node("Loop", inputs, ["y", "all"], body=graph)], X, ["y", "all"], made)


GO_ON = [node("Identity", ["go"], ["more"])]


@pytest.mark.parametrize("trips", [0, 1, 3])
def test_loops_of_a_known_count(trips: int, tmp_path: Path) -> None:
    x = X["x"]
    wanted = [x * 2**trips, np.array([x * 2 ** (i + 1) for i in range(trips)], np.float32).reshape(trips, 2, 3)]
    check(counting(np.array(trips, np.int64), GO_ON), X, tmp_path, wanted=wanted)


def test_loops_until_a_condition_that_follows_from_the_count(tmp_path: Path) -> None:
    model = counting(None, [node("Less", ["i", "last"], ["more"])], {"last": np.array(2, np.int64)})
    x = X["x"]
    check(model, X, tmp_path, wanted=[x * 8, np.stack([x * 2, x * 4, x * 8])])


def test_iterations_are_told_apart_in_names(tmp_path: Path) -> None:
    module, _ = import_onnx(save(counting(np.array(2, np.int64), GO_ON), tmp_path))
    adds = [op for op in entry_functions(module)[0].body.block.ops if op.name == "nn.add"]
    assert [source_names(op.location) for op in adds] == [("Loop_y[0]/Add_out",), ("Loop_y[1]/Add_out",)]


def test_loops_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control, "MAX_TRIPS", 5)
    assert "nn.loop" not in ops_of(counting(np.array(5, np.int64), GO_ON), tmp_path)
    many = counting(np.array(6, np.int64), GO_ON)
    module, _ = import_onnx(save(many, tmp_path))
    loop = next(op for op in entry_functions(module)[0].body.block.ops if op.name == "nn.loop")
    assert [str(spec_of(r.type)) for r in loop.results] == ["float32[2, 3]", "float32[6, 2, 3]"]
    check(many, X, tmp_path, wanted=[X["x"] * 64, np.stack([X["x"] * 2**i for i in range(1, 7)])])
    assert "never ends" in refusal(counting(None, GO_ON), tmp_path)


def test_loops_in_loops_are_bounded_in_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls, "MAX_MAPPED", 1000)
    inner = body([node("Add", ["a", "a"], ["out"]), *GO_ON], ["i", "go", "a"], ["more", "out"], (2, 3))
    loop = node("Loop", ["n", "", "a2"], ["out2"], body=inner)
    outer = helper.make_graph(
        [loop, node("Identity", ["go2"], ["more2"])],
        "outer",
        [helper.make_empty_tensor_value_info(n) for n in ("i2", "go2", "a2")],
        [helper.make_empty_tensor_value_info(n) for n in ("more2", "out2")],
    )
    nodes = [node("Loop", ["n", "", "x"], ["y"], body=outer)]
    assert ops_of(model_of(nodes, X, ["y"], {"n": np.array(5, np.int64)}), tmp_path).count("nn.add") == 25
    assert ops_of(model_of(nodes, X, ["y"], {"n": np.array(4000, np.int64)}), tmp_path) == ["nn.loop", "func.return"]


def test_values_that_nothing_defines(tmp_path: Path) -> None:
    graph = body([node("Add", ["a", "nowhere"], ["out"]), *GO_ON], ["i", "go", "a"], ["more", "out"])
    model = model_of([node("Loop", ["n", "", "x"], ["y"], body=graph)], X, ["y"], {"n": np.array(1, np.int64)})
    assert "nothing defines the value 'nowhere'" in refusal(model, tmp_path, "E0203")


def test_a_subgraph_with_another_number_of_inputs(tmp_path: Path) -> None:
    graph = body([node("Identity", ["go"], ["more"])], ["i", "go"], ["more"])
    model = model_of([node("Loop", ["n", "", "x"], ["y"], body=graph)], X, ["y"], {"n": np.array(1, np.int64)})
    assert "takes 2 inputs, not 3" in refusal(model, tmp_path, "E0203")


@pytest.mark.parametrize(
    "attrs", [{}, {"scan_input_axes": [1], "scan_input_directions": [1], "scan_output_axes": [-1]}, {"scan_output_directions": [1]}]
)
def test_scan(attrs: dict[str, Any], tmp_path: Path) -> None:
    x, start = normal(4, 4), normal(4)
    graph = body([node("Add", ["s", "e"], ["out"]), node("Neg", ["out"], ["each"])], ["s", "e"], ["out", "each"], (4,))
    feeds = {"start": start, "x": x}
    parts = x.T[::-1] if attrs.get("scan_input_axes") else x
    sums = start + np.cumsum(parts, axis=0, dtype=np.float32)
    stack = -sums[::-1] if "scan_output_directions" in attrs else -sums
    wanted = [sums[-1], stack.T if "scan_output_axes" in attrs else stack]
    model = model_of([node("Scan", ["start", "x"], ["y", "all"], body=graph, num_scan_inputs=1, **attrs)], feeds, ["y", "all"])
    check(model, feeds, tmp_path, wanted=wanted)


def test_scan_of_opset_8_has_a_batch(tmp_path: Path) -> None:
    x, start = normal(2, 3, 4), normal(2, 4)
    graph = body([node("Add", ["s", "e"], ["out"]), node("Identity", ["out"], ["each"])], ["s", "e"], ["out", "each"], (4,))
    feeds = {"start": start, "x": x}
    sums = start[:, None] + np.cumsum(x, axis=1, dtype=np.float32)
    model = model_of([node("Scan", ["", "start", "x"], ["y", "all"], body=graph, num_scan_inputs=1)], feeds, ["y", "all"], opset=8)
    check(model, feeds, tmp_path, wanted=[sums[:, -1], sums])


def test_scan_needs_inputs_of_one_length(tmp_path: Path) -> None:
    graph = body([node("Add", ["e", "f"], ["out"])], ["e", "f"], ["out"])
    feeds = {"a": normal(3, 2), "b": normal(4, 2)}
    model = model_of([node("Scan", ["a", "b"], ["y"], body=graph, num_scan_inputs=2)], feeds, ["y"])
    assert "scanned inputs differ in length: 3 and 4 elements" in refusal(model, tmp_path, "E0401")


def test_positions_of_sequences_are_known(tmp_path: Path) -> None:
    nodes = [node("SequenceConstruct", ["x", "x"], ["s"]), node("SequenceAt", ["s", "at"], ["y"])]
    assert "needs a constant position" in refusal(model_of(nodes, {**X, "at": ints(0)[0]}, ["y"]), tmp_path)


def test_functions_in_loops_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chain = [helper.make_node("Neg", [f"v{i}"], [f"v{i + 1}"]) for i in range(50)]
    function = function_proto("many", ["v0"], ["v50"], chain)
    graph = body([helper.make_node("many", ["a"], ["out"], domain="local"), *GO_ON], ["i", "go", "a"], ["more", "out"], (2, 3))
    nodes = [node("Loop", ["n", "", "x"], ["y"], body=graph)]
    for trips, limit, accepted in ((1, 200, True), (30, 200, True), (3, 100, False)):
        monkeypatch.setattr(calls, "MAX_MAPPED", limit)
        constants = {"n": np.array(trips, np.int64)}
        model = model_of(nodes, X, ["y"], constants, functions=[function], domains={"local": 1})
        if accepted:
            check(model, X, tmp_path, wanted=[X["x"]])
        else:
            assert "nodes once loops are unrolled" in refusal(model, tmp_path)


def test_functions_that_call_themselves_in_branches_end(tmp_path: Path) -> None:
    call = helper.make_node("again", ["v"], ["w"], domain="local")
    branch = helper.make_graph([call], "branch", [], [helper.make_empty_tensor_value_info("w")])
    other = helper.make_graph([helper.make_node("Neg", ["v"], ["w"])], "other", [], [helper.make_empty_tensor_value_info("w")])
    choice = helper.make_node("If", ["c"], ["r"], then_branch=branch, else_branch=other)
    largest = [helper.make_node("ReduceMax", ["v"], ["m"], keepdims=0), helper.make_node("Cast", ["m"], ["c"], to=TensorProto.BOOL)]
    function = function_proto("again", ["v"], ["r"], [*largest, choice])
    model = model_of([helper.make_node("again", ["x"], ["y"], domain="local")], X, ["y"], functions=[function], domains={"local": 1})
    assert "16 deep" in refusal(model, tmp_path, "E0203")


def test_constants_of_a_body_are_made_once(tmp_path: Path) -> None:
    table = normal(20, 2, 3)
    nodes = [node("Gather", ["table", "i"], ["row"], axis=0), node("Add", ["a", "row"], ["out"]), *GO_ON]
    graph = body(nodes, ["i", "go", "a"], ["more", "out"], (2, 3))
    graph.initializer.append(onnx.numpy_helper.from_array(table, "table"))
    model = model_of([node("Loop", ["n", "", "x"], ["y"], body=graph)], X, ["y"], {"n": np.array(3, np.int64)})
    check(model, X, tmp_path, wanted=[X["x"] + table[:3].sum(axis=0)])
    _, weights = import_onnx(save(model, tmp_path))
    assert len(list(weights)) == 1


def nested(depth: int, *, growing: bool) -> list[NodeProto]:
    """Loops inside each other, of 5 iterations while a condition that data decides holds, or whose values grow by what the inner gives."""
    if not depth:
        return [node("Exp", ["x"], ["r0"])]
    combine = (
        node("Concat", ["a", f"r{depth - 1}"], [f"o{depth}"], axis=0) if growing else node("Add", ["a", f"r{depth - 1}"], [f"o{depth}"])
    )
    ahead = [node("ReduceMax", [f"r{depth - 1}"], ["largest"], keepdims=0), node("Cast", ["largest"], ["more"], to=TensorProto.BOOL)]
    graph = body([*nested(depth - 1, growing=growing), combine, *ahead], ["i", "go", "a"], ["more", f"o{depth}"])
    return [node("Loop", ["trips", "", "x"], [f"r{depth}"], body=graph)]


@pytest.mark.parametrize(("growing", "most"), [(False, 2_000), (True, 40_000)])
def test_loops_in_loops_are_mapped_a_few_times_each(growing: bool, most: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls, "MAX_MAPPED", most)
    depth = 12
    model = model_of(nested(depth, growing=growing), X, [f"r{depth}"], {"trips": np.array(5, np.int64)})
    assert ops_of(model, tmp_path).count("nn.loop") == 1


def rates() -> onnx.ModelProto:
    """A choice by sample rate, whose other branch is for inputs of another size."""
    then = body([node("Exp", ["x"], ["b"])], [], ["b"])
    other = body([node("Reshape", ["x", "seven"], ["b"])], [], ["b"])
    nodes = [node("Equal", ["sr", "rate"], ["c"]), node("If", ["c"], ["y"], then_branch=then, else_branch=other)]
    return model_of(nodes, {**X, "sr": np.array(16000)}, ["y"], {"rate": np.array(16000), "seven": ints(7)})


def test_a_branch_that_is_not_taken_need_not_fit(tmp_path: Path) -> None:
    feeds = {**X, "sr": np.array(16000)}
    (y,) = imported(rates(), feeds, tmp_path, values={"sr": np.array(16000)})
    np.testing.assert_allclose(y, np.exp(X["x"]), rtol=1e-6)


@pytest.mark.parametrize("swapped", [False, True])
def test_a_branch_that_does_not_fit_is_refused_when_it_is_taken(swapped: bool, tmp_path: Path) -> None:
    model = rates()
    if swapped:
        for attribute in model.graph.node[1].attribute:
            attribute.name = {"then_branch": "else_branch", "else_branch": "then_branch"}[attribute.name]
    fits, fails = (np.array(8000), np.array(16000)) if swapped else (np.array(16000), np.array(8000))
    (y,) = imported(model, {**X, "sr": fits}, tmp_path)
    np.testing.assert_allclose(y, np.exp(X["x"]), rtol=1e-6)
    with pytest.raises(Error, match=r"does not fit the shapes .*Reshape_b") as caught:
        imported(model, {**X, "sr": fails}, tmp_path)
    assert caught.value.code == "E0802"


@pytest.mark.parametrize("swapped", [False, True])
def test_of_branches_of_different_ranks_the_one_that_changes_nothing_is_left(swapped: bool, tmp_path: Path) -> None:
    same, wide = body([node("Identity", ["x"], ["b"])], [], ["b"]), body([node("Unsqueeze", ["x", "first"], ["b"])], [], ["b"])
    then, other = (wide, same) if swapped else (same, wide)
    nodes = [node("Equal", ["sr", "rate"], ["c"]), node("If", ["c"], ["i"], then_branch=then, else_branch=other), node("Exp", ["i"], ["y"])]
    model = model_of(nodes, {**X, "sr": np.array(16000)}, ["y"], {"rate": np.array(16000), "first": ints(0)})
    fits, fails = (np.array(8000), np.array(16000)) if swapped else (np.array(16000), np.array(8000))
    (y,) = imported(model, {**X, "sr": fits}, tmp_path)
    np.testing.assert_allclose(y, np.exp(X["x"]), rtol=1e-6)
    with pytest.raises(Error, match=r"gives other types than the one that changes nothing: .*1, 2, 3") as caught:
        imported(model, {**X, "sr": fails}, tmp_path)
    assert caught.value.code == "E0802"


def test_branches_neither_of_which_fits_name_what_decides(tmp_path: Path) -> None:
    model = rates()
    for attribute in model.graph.node[1].attribute:
        attribute.g.CopyFrom(body([node("Reshape", ["x", "seven"], ["b"])], [], ["b"]))
    with pytest.raises(Error) as caught:
        import_onnx(save(model, tmp_path))
    assert (caught.value.code, caught.value.where) == ("E0401", "model.onnx: If_y[then]/Reshape_b")
    assert "--values sr=" in str(caught.value.hint)
