"""Graphs that call graphs, branches and loops, variables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ttc
from tests.ttc.importers.tflite.cases import imported, interpreted, normal
from tests.ttc.importers.tflite.writer import Graph, Op, Tensor, model
from ttc.dialects.core.errors import Error
from ttc.importers.common import control
from ttc.importers.tflite import import_tflite

X = normal(2, 3)


def unary(op: str) -> Graph:
    """x[2, 3] -> op(x)."""
    return Graph([Tensor("a", X.shape), Tensor("b", X.shape)], ["a"], ["b"], [Op(op, ["a"], ["b"])])


def branch(condition: Tensor, *before: Op, inputs: tuple[str, ...] = ("x",)) -> bytes:
    """exp(x) where a condition holds, -x elsewhere."""
    tensors = [
        Tensor("x", X.shape),
        condition,
        Tensor("zero", data=np.zeros((), np.float32)),
        Tensor("axes", (2,), "INT32", np.arange(2, dtype=np.int32)),
    ]
    tensors += [Tensor("sum"), Tensor("y", X.shape)]
    ops = [*before, Op("IF", [condition.name, "x"], ["y"], {"then_subgraph_index": 1, "else_subgraph_index": 2})]
    return model(Graph(tensors, inputs, ["y"], ops), unary("EXP"), unary("NEG"))


@pytest.mark.parametrize("taken", [True, False])
def test_a_known_branch_is_taken(taken: bool, tmp_path: Path) -> None:
    data = branch(Tensor("c", kind="BOOL", data=np.array(taken)))
    np.testing.assert_allclose(imported(data, {"x": X}, tmp_path)[0], np.exp(X) if taken else -X, rtol=1e-6)
    module, _ = import_tflite(tmp_path / "model.tflite")
    assert "branch" not in str(module)


@pytest.mark.parametrize("sign", [1, -1])
def test_data_decides_on_a_branch(sign: int, tmp_path: Path) -> None:
    before = [Op("SUM", ["x", "axes"], ["sum"]), Op("GREATER", ["sum", "zero"], ["c"])]
    data, x = branch(Tensor("c", kind="BOOL"), *before), np.abs(X) * sign
    np.testing.assert_allclose(imported(data, {"x": x}, tmp_path)[0], interpreted(data, {"x": x})[0], rtol=1e-6)


def loop(limit: Tensor, *, inputs: tuple[str, ...] = ("x",)) -> bytes:
    """Doubles x as long as a counter is below a limit."""
    scalar = {"shape": (), "kind": "INT32"}
    main = Graph(
        [
            Tensor("x", X.shape),
            Tensor("i", data=np.zeros((), np.int32), **scalar),
            limit,
            Tensor("n", **scalar),
            Tensor("m", **scalar),
            Tensor("y", X.shape),
        ],
        inputs,
        ["y", "n"],
        [Op("WHILE", ["i", limit.name, "x"], ["n", "m", "y"], {"cond_subgraph_index": 1, "body_subgraph_index": 2})],
    )
    carried = [Tensor("i", **scalar), Tensor("limit", **scalar), Tensor("x", X.shape)]
    condition = Graph([*carried, Tensor("c", kind="BOOL")], ["i", "limit", "x"], ["c"], [Op("LESS", ["i", "limit"], ["c"])])
    body = Graph(
        [*carried, Tensor("one", data=np.ones((), np.int32), **scalar), Tensor("j", **scalar), Tensor("double", X.shape)],
        ["i", "limit", "x"],
        ["j", "limit", "double"],
        [Op("ADD", ["i", "one"], ["j"]), Op("ADD", ["x", "x"], ["double"])],
    )
    return model(main, condition, body)


@pytest.mark.parametrize("turns", [0, 3])
def test_known_iterations_are_written_out(turns: int, tmp_path: Path) -> None:
    data = loop(Tensor("limit", kind="INT32", data=np.array(turns, np.int32)))
    found = imported(data, {"x": X}, tmp_path)
    np.testing.assert_allclose(found[0], X * 2**turns)
    assert found[1] == turns
    assert "loop" not in str(import_tflite(tmp_path / "model.tflite")[0])


@pytest.mark.parametrize("turns", [0, 4, 3_000])
def test_data_decides_on_iterations(turns: int, tmp_path: Path) -> None:
    data = loop(Tensor("limit", kind="INT32"), inputs=("x", "limit"))
    feeds = {"x": X * 0, "limit": np.array(turns, np.int32)}
    for y, z in zip(imported(data, feeds, tmp_path), interpreted(data, feeds), strict=True):
        np.testing.assert_allclose(y, z)


def test_many_known_iterations_stay_a_loop(tmp_path: Path) -> None:
    data = loop(Tensor("limit", kind="INT32", data=np.array(5_000, np.int32)))
    assert imported(data, {"x": X * 0}, tmp_path)[1] == 5_000


def test_a_called_graph_stands_in_its_place(tmp_path: Path) -> None:
    main = Graph([Tensor("x", X.shape), Tensor("y", X.shape)], ["x"], ["y"], [Op("CALL", ["x"], ["y"], {"subgraph": 1})])
    composite = Op("STABLEHLO_COMPOSITE", ["x"], ["y"], {"name": "odml.exp", "decomposition_subgraph_index": 1})
    for graph in (main, Graph(main.tensors, main.inputs, main.outputs, [composite])):
        np.testing.assert_allclose(imported(model(graph, unary("EXP")), {"x": X}, tmp_path)[0], np.exp(X), rtol=1e-6)


@pytest.mark.parametrize(
    ("op", "options"),
    [
        ("CALL", {"subgraph": 0}),
        ("CALL", {"subgraph": 9}),
        ("STABLEHLO_COMPOSITE", {"name": "x", "decomposition_subgraph_index": -1}),
        ("WHILE", {"cond_subgraph_index": 0, "body_subgraph_index": 0}),
        ("WHILE", {"cond_subgraph_index": 1, "body_subgraph_index": 5}),
    ],
)
def test_graphs_that_cannot_be_called(op: str, options: dict[str, Any], tmp_path: Path) -> None:
    main = Graph([Tensor("x", X.shape), Tensor("y", X.shape)], ["x"], ["y"], [Op(op, ["x"], ["y"], options)])
    with pytest.raises(Error) as caught:
        imported(model(main, unary("EXP")), {"x": X}, tmp_path)
    assert caught.value.code == "E0203"


def counter(*, assigned: bool = True, started: bool = True) -> bytes:
    """y = x + variable, which x is added to."""
    shape = X.shape
    handle = {"container": "", "shared_name": "total"}
    tensors = [Tensor("x", shape), Tensor("v", (), "RESOURCE"), Tensor("held", shape), Tensor("y", shape)]
    ops = [
        *([Op("CALL_ONCE", [], [], {"init_subgraph_index": 1})] if started else []),
        Op("VAR_HANDLE", [], ["v"], handle),
        Op("READ_VARIABLE", ["v"], ["held"]),
        Op("ADD", ["held", "x"], ["y"]),
        *([Op("ASSIGN_VARIABLE", ["v", "y"], [])] if assigned else []),
    ]
    first = Tensor("first", shape, data=np.full(shape, 10, np.float32))
    start = [Op("VAR_HANDLE", [], ["v"], handle), Op("ASSIGN_VARIABLE", ["v", "first"], [])]
    return model(Graph(tensors, ["x"], ["y"], ops), Graph([Tensor("v", (), "RESOURCE"), first], [], [], start))


def test_a_variable_keeps_its_value(tmp_path: Path) -> None:
    (tmp_path / "counter.tflite").write_bytes(counter())
    ttc.compile(tmp_path / "counter.tflite", target="host").save(tmp_path / "counter.tti")
    with ttc.load(tmp_path / "counter.tti") as executor:
        for runs in (1, 2, 3):
            found = executor.run({"x": X})
            np.testing.assert_allclose(found["y"], 10 + runs * X, rtol=1e-6, atol=1e-5)
    np.testing.assert_allclose(interpreted(counter(), {"x": X}, runs=3)[0], 10 + 3 * X, rtol=1e-6, atol=1e-5)


def test_a_variable_that_is_only_read(tmp_path: Path) -> None:
    np.testing.assert_allclose(imported(counter(assigned=False), {"x": X}, tmp_path)[0], 10 + X, rtol=1e-6, atol=1e-5)


def test_a_variable_that_nothing_sets(tmp_path: Path) -> None:
    with pytest.raises(Error, match="before it is set") as caught:
        imported(counter(started=False), {"x": X}, tmp_path)
    assert caught.value.code == "E0203"


def doubling(depth: int) -> bytes:
    """Graphs each of which branches to the next one either way, by data."""
    tensors = [Tensor("a", X.shape), Tensor("zero", data=np.zeros((), np.float32)), Tensor("sum"), Tensor("c", kind="BOOL")]
    tensors += [Tensor("axes", (2,), "INT32", np.arange(2, dtype=np.int32)), Tensor("b", X.shape)]
    test = [Op("SUM", ["a", "axes"], ["sum"]), Op("GREATER", ["sum", "zero"], ["c"])]
    branches = [Op("IF", ["c", "a"], ["b"], {"then_subgraph_index": k, "else_subgraph_index": k}) for k in range(1, depth + 1)]
    return model(*(Graph(tensors, ["a"], ["b"], [*test, op]) for op in branches), Graph(tensors, ["a"], ["b"], [Op("EXP", ["a"], ["b"])]))


@pytest.mark.parametrize(("depth", "most", "why"), [(17, 1 << 15, "nest more than 16 deep"), (8, 500, "more than 500 ops")])
def test_branches_in_branches_are_bounded(depth: int, most: int, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control, "MAX_OPS", most)
    (tmp_path / "model.tflite").write_bytes(doubling(depth))
    with pytest.raises(Error, match=why) as caught:
        import_tflite(tmp_path / "model.tflite")
    assert caught.value.code == "E0203"


def test_calls_that_double_are_bounded(tmp_path: Path) -> None:
    data = doubling(5)
    (tmp_path / "model.tflite").write_bytes(data)
    module, _ = import_tflite(tmp_path / "model.tflite")
    assert str(module).count("nn.branch") == 31
    calls = [Op("CALL", ["a"], ["b"], {"subgraph": k}) for k in range(1, 31)]
    tensors = [Tensor("a", X.shape), Tensor("b", X.shape), Tensor("c", X.shape)]
    graphs = [Graph(tensors, ["a"], ["c"], [op, Op("CALL", ["b"], ["c"], op.options)]) for op in calls]
    (tmp_path / "model.tflite").write_bytes(model(*graphs, unary("EXP")))
    with pytest.raises(Error, match="more than 32768 operators") as caught:
        import_tflite(tmp_path / "model.tflite")
    assert caught.value.code == "E0203"
