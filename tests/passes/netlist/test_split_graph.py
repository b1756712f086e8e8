"""Graphs cut in several: names of queues and graphs are free ones (the structure is tested with the pass that cuts)."""

from ttc.passes.netlist.split_graph import free_name


def test_free_names() -> None:
    assert free_name("a", {"a", "a_1"}) == "a_2"
    assert free_name("b", {"a"}) == "b"
