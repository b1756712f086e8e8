"""Programs of several graphs as one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.runtime.conftest import Builder
from ttc.dialects.core.plain.functions import Function, TensorType, Work
from ttc.dialects.netlist.model import Argument, Host, Netlist, Op
from ttc.runtime.engines.joined import joined
from ttc.runtime.engines.reference import plan_of
from ttc.runtime.tensors import Constants

ROW = TensorType((4,), "Float32")


def added(name: str, a: str, b: str) -> Op:
    work = Function((ROW, ROW), (Work("tile.map", (0, 1), {"fn": "add"}, (ROW,)),), (2,))
    return Op(name, "map", (a, b), Host(), None, work)


def two_graphs(last: str = "edge") -> Netlist:
    """y = (x + x) + last."""
    b = Builder()
    b.queue("x", "input", ROW)
    b.queue("edge", "edge", ROW, source="first")
    b.queue("y", "output", ROW, source="second")
    b.graph("g0", [added("first", "x", "x")], [("first", "edge")])
    b.graph("g1", [added("second", "edge", last)], [("second", "y")])
    b.program("forward", [Argument("x", "input", "x", (4,), "float32")], [Argument("y", "output", "y", (4,), "float32")], ["g0", "g1"])
    return b.netlist()


def test_graphs_in_a_row_become_one():
    netlist = joined(two_graphs())
    (graph,) = netlist.graphs.values()
    assert [op.inputs for op in graph.ops] == [("x", "x"), ("first", "first")]
    assert graph.writes == (("second", "y"),)
    (step,) = netlist.programs["forward"].instructions
    assert step.args == (graph.name,)
    x = np.arange(4, dtype=np.float32)
    assert plan_of(graph, netlist, Constants({})).run({"x": x})["y"].tolist() == [0, 4, 8, 12]


@pytest.mark.parametrize("change", ["count", "view", "alias", "result", "twice"])
def test_others_stay_as_they_are(change: str):
    netlist = two_graphs()
    edge, program = netlist.queues["edge"], netlist.programs["forward"]
    if change == "count":
        netlist.graphs["g0"] = replace(netlist.graphs["g0"], input_count=2)
    elif change == "view":
        netlist.queues["edge"] = replace(edge, view=Function((ROW,), (), (0,)))
    elif change == "alias":
        netlist.queues["edge"] = replace(edge, alias="x")
    elif change == "result":
        shown = Argument("edge", "output", "edge", (4,), "float32")
        netlist.programs["forward"] = replace(program, results=(*program.results, shown))
    else:
        netlist.programs["forward"] = replace(program, instructions=program.instructions * 2)
    assert list(joined(netlist).graphs) == ["g0", "g1"]


def test_graphs_of_all_microbatches_are_joined_beside_those_of_one() -> None:
    b = Builder()
    b.queue("x", "input", ROW, entries=2)
    b.queue("edge", "edge", ROW, source="first", entries=2)
    b.queue("sum", "edge", ROW, source="second")
    b.queue("half", "edge", ROW, source="third")
    b.queue("y", "output", ROW, source="fourth")
    b.graph("g0", [added("first", "x", "x")], [("first", "edge")], input_count=2)
    b.graph("g1", [added("second", "edge", "x")], [("second", "sum")], input_count=2)
    b.graph("g2", [added("third", "sum", "sum")], [("third", "half")])
    b.graph("g3", [added("fourth", "half", "sum")], [("fourth", "y")])
    given, result = Argument("x", "input", "x", (8,), "float32", True), Argument("y", "output", "y", (4,), "float32")
    b.program("forward", [given], [result], ["g0", "g1", "g2", "g3"])
    made = b.netlist()
    netlist = joined(replace(made, queues={**made.queues, "sum": replace(made.queues["sum"], type="ram", summed=True)}))
    assert [(graph.input_count, graph.writes) for graph in netlist.graphs.values()] == [(2, (("second", "sum"),)), (1, (("fourth", "y"),))]
