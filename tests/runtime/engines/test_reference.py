"""The reference engine: graphs, op by op."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from ttc.dialects.core.errors import Error
from ttc.dialects.core.plain.functions import Function, TensorType, Work
from ttc.dialects.core.plain.interpret import kernels
from ttc.dialects.netlist.model import Graph, Host, Netlist, Op
from ttc.runtime.engines.base import bound_queues, held_keys
from ttc.runtime.engines.reference import ReferenceEngine
from ttc.runtime.tensors import Constants, TensorSource

SCALAR = TensorType((), "Float32")


def test_a_graph_reads_and_writes_entries(counter):
    netlist, tensors, _ = counter
    graph = netlist.graphs["step_0"]
    assert bound_queues(graph, netlist) == ("x", "counter")
    assert held_keys(graph, netlist) == {"one"}
    plan = ReferenceEngine().prepare(graph, netlist, Constants(tensors))
    entries = {"x": np.arange(4, dtype=np.float32), "counter": np.full(4, 5, np.float32)}
    written = plan.run(entries)
    assert {name: value.tolist() for name, value in written.items()} == {"y": [5, 6, 7, 8], "next": [6] * 4}
    assert set(entries) == {"x", "counter"}


def test_constants_inside_the_work_of_an_op(counter):
    netlist, tensors, _ = counter
    leaf = Work("ttc.constant", (), {"key": "one"}, (TensorType((4,), "Float32"),))
    half = Work("ttc.constant", (), {"values": (0.5,)}, (SCALAR,))
    sum_ = Work("nn.add", (1, 2), {}, (TensorType((4,), "Float16_b"),))
    work = Function((TensorType((4,), "Float32"),), (leaf, half, sum_), (3,))
    graph = Graph("g", 0, 1, (Op("o", "add", ("x",), Host(), None, work),), (("o", "y"),))
    assert held_keys(graph, netlist) == {"one"}
    plan = ReferenceEngine().prepare(graph, netlist, Constants(tensors))
    assert plan.run({"x": np.zeros(4, np.float32)})["y"].tolist() == [1.5] * 4


def graph_of(inputs: tuple[str, ...], work: Function, writes: tuple[tuple[str, str], ...]) -> Graph:
    return Graph("g", 0, 1, (Op("o", "add", inputs, Host(), None, work, location=("node",)),), writes)


@pytest.mark.parametrize(
    ("inputs", "outputs", "writes", "code"),
    [
        (("x", "ghost"), (2,), (), "E0601"),
        (("x",), (2,), (), "E0609"),
        (("x", "x"), (), (), "E0609"),
        (("x", "x"), (2,), (("o", "ghost"),), "E0601"),
        (("x", "x"), (2,), (("ghost", "y"),), "E0601"),
    ],
)
def test_graphs_that_do_not_hang_together(counter, inputs, outputs, writes, code):
    netlist: Netlist = counter[0]
    work = Function((SCALAR, SCALAR), (Work("nn.add", (0, 1), {}, (SCALAR,)),), outputs)
    with pytest.raises(Error) as failure:
        ReferenceEngine().prepare(graph_of(inputs, work, writes), netlist, Constants({}))
    assert failure.value.code == code


def test_errors_name_the_source(counter):
    netlist: Netlist = counter[0]
    table, index = TensorType((2,), "Float32"), TensorType((), "Int64")
    work = Function((table, index), (Work("nn.gather", (0, 1), {"axis": 0}, (SCALAR,), None, ("embedding",)),), (2,))
    plan = ReferenceEngine().prepare(
        graph_of(("x", "y"), work, ()), netlist, Constants({"t": TensorSource.of_array(np.zeros(2), "Float32")})
    )
    with pytest.raises(Error) as failure:
        plan.run({"x": np.zeros(2, np.float32), "y": np.array(2)})
    assert (failure.value.code, failure.value.where) == ("E0802", "embedding")


def test_an_op_of_several_results_is_computed_once(counter, monkeypatch: pytest.MonkeyPatch) -> None:
    x, count = TensorType((4,), "Float32"), TensorType((-1,), "Int64")
    unique = Work("nn.unique", (0,), {"sorted": True}, (TensorType((-1,), "Float32"), count, TensorType((4,), "Int64"), count))
    ops = tuple(Op(f"u{i}", "unique", ("x",), Host(), None, Function((x,), (unique,), (1 + i,))) for i in range(4))
    other = Op(
        "other",
        "unique",
        ("u0",),
        Host(),
        None,
        Function((unique.results[0],), (Work("nn.unique", (0,), {"sorted": True}, unique.results),), (4,)),
    )
    netlist: Netlist = counter[0]
    queue = replace(next(iter(netlist.queues.values())), name="x", kind="input", tensor=x)
    graph = Graph("g", 0, 1, (*ops, other), ())
    calls: list[NDArray] = []
    original = kernels("nn")["unique"]
    monkeypatch.setitem(kernels("nn").rules(), "unique", lambda x, **attrs: calls.append(x) or original(x, **attrs))
    plan = ReferenceEngine().prepare(graph, replace(netlist, queues={"x": queue}), Constants({}))
    run = replace(plan, graph=replace(graph, writes=tuple((op.name, op.name) for op in graph.ops)), dying=((),) * 5)
    found = run.run({"x": np.array([3, 1, 3, 2], np.float32)})
    assert [found[f"u{i}"].tolist() for i in range(4)] == [[1, 2, 3], [1, 3, 0], [2, 0, 2, 1], [1, 1, 2]]
    assert found["other"].tolist() == [1, 1, 1]
    assert len(calls) == 2
