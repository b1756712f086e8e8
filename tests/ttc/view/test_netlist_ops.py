"""Placed ops, queues and the chip as a page lists them."""

from __future__ import annotations

import pytest

from tests.ttc.view.conftest import Compiled
from ttc.dialects.netlist.model import Netlist
from ttc.dialects.netlist.occupancy import occupancy
from ttc.view.document import checked_netlist, opened
from ttc.view.netlist_ops import device_of, netlist_ops


@pytest.fixture
def netlist(compiled: Compiled) -> Netlist:
    return checked_netlist(opened(compiled.archive))


def test_all_ops_are_there_once(netlist: Netlist) -> None:
    found = netlist_ops(netlist)
    names = [op.name for graph in netlist.graphs.values() for op in graph.ops]
    assert [op["id"] for op in found if op["kind"] == "op"] == names
    assert [op["id"] for op in found if op["kind"] == "input"] == ["x"]
    (output,) = [op for op in found if op["kind"] == "output"]
    assert found[output["inputs"][0]]["name"] == "softmax"


def test_the_device(netlist: Netlist) -> None:
    ops = netlist_ops(netlist)
    found = device_of(netlist, ops)
    assert sorted(place for epoch in found["epochs"] for place in epoch["ops"]) == [at for at, op in enumerate(ops) if op["kind"] == "op"]
    assert [use["peak_bytes"] for use in found["memory"]] == [use.peak_bytes for use in occupancy(netlist)]
    assert {queue["name"] for queue in found["queues"]} == set(netlist.queues)
    written = {queue["name"]: queue["source"] for queue in found["queues"]}
    assert written["x"] is None
    assert written["y"] in {op["id"] for op in ops}
