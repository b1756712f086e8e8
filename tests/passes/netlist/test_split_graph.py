"""Graphs cut in several: names of queues and graphs are free ones (the structure is tested with the pass that cuts)."""

from __future__ import annotations

import pytest

from tests.passes.module_pairs import parse_unit
from tests.passes.netlist.chains import chain
from ttc.dialects.netlist.ops import graphs_of, queues_of
from ttc.passes.netlist import split_graph
from ttc.passes.netlist.split_graph import Splitter, free_name


def test_free_names() -> None:
    assert free_name("a", {"a", "a_1"}) == "a_2"
    assert free_name("b", {"a"}) == "b"


def test_queues_of_many_edges_are_named_without_reading_the_module_for_each(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[object] = []
    monkeypatch.setattr(split_graph, "queues_of", lambda module: [read.append(module), queues_of(module)][1])
    module = parse_unit(chain(12)).module
    Splitter(module, graphs_of(module)["g"]).split([1] * 12)
    assert [queue.sym for queue in queues_of(module).values()] == ["x", "w", "y", *(f"m{i}_q" for i in range(11))]
    assert len(graphs_of(module)) == 12
    assert len(read) == 1
