"""Graphs of one epoch as one graph."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tests.runtime.conftest import Builder
from tests.runtime.engines.test_joined import ROW, added, two_graphs
from ttc.dialects.netlist.model import Argument, Netlist
from ttc.runtime.engines.reference import plan_of
from ttc.runtime.engines.together import together
from ttc.runtime.tensors import Constants


def crossing(epoch: int | None) -> Netlist:
    """y = (x + x) + ((x + x) + x), of which one chip computes the outer sum and what the inner one begins with."""
    b = Builder()
    b.queue("x", "input", ROW)
    b.queue("y", "output", ROW, source="last")
    b.graph("g0", [added("first", "x", "x"), added("last", "first", "middle")], [("last", "y")])
    b.graph("g1", [added("middle", "first", "x")], [])
    b.program("forward", [Argument("x", "input", "x", (4,), "float32")], [Argument("y", "output", "y", (4,), "float32")], ["g0", "g1"])
    netlist = b.netlist()
    graphs = {name: replace(graph, chip=chip, epoch=epoch) for chip, (name, graph) in enumerate(netlist.graphs.items())}
    return replace(netlist, graphs=graphs)


def test_graphs_of_one_epoch_that_read_each_other_become_one():
    netlist = together(crossing(3))
    (graph,) = netlist.graphs.values()
    assert [op.name for op in graph.ops] == ["first", "middle", "last"]
    assert (graph.name, graph.epoch, graph.writes) == ("g0", None, (("last", "y"),))
    assert [step.args for step in netlist.programs["forward"].instructions] == [("g0",)]
    x = np.arange(4, dtype=np.float32)
    assert plan_of(graph, netlist, Constants({})).run({"x": x})["y"].tolist() == [0, 5, 10, 15]


def test_graphs_that_read_queues_alone_stay():
    netlist = two_graphs()
    graphs = {name: replace(graph, chip=chip, epoch=0) for chip, (name, graph) in enumerate(netlist.graphs.items())}
    for given in (netlist, replace(netlist, graphs=graphs), crossing(None)):
        assert together(given) is given
