"""Graphs as problems of placement: what each op reads, from where, and how much."""

from __future__ import annotations

from tests.passes.module_pairs import parse_unit
from tests.passes.netlist.chains import chain, residual
from ttc.dialects.netlist.ops import graphs_of
from ttc.passes.netlist.nodes import ProblemBuilder

TILE = 4128
"""Bytes of a tile of Float32."""


def test_a_chain() -> None:
    unit = parse_unit(chain(3, 64, 8))
    problem = ProblemBuilder(unit).problem(graphs_of(unit.module)["g"])
    assert problem.input_count == 8
    assert [node.reads for node in problem.nodes] == [(), (0,), (1,)]
    assert [node.queue_bytes for node in problem.nodes] == [4 * TILE, 0, 0]  # weights are none of it
    assert {node.result_bytes for node in problem.nodes} == {4 * TILE}
    assert [node.stored for node in problem.nodes] == [False, False, True]
    assert len({node.kind for node in problem.nodes}) == 2  # the last one has no reader


def test_weights_may_be_held() -> None:
    unit = parse_unit(chain(2, 64))
    first, _ = ProblemBuilder(unit).problem(graphs_of(unit.module)["g"]).nodes
    assert {c.held_bytes for c in first.found.all} == {4 * TILE}


def test_a_value_read_twice_has_two_readers() -> None:
    unit = parse_unit(residual(1, 64))
    problem = ProblemBuilder(unit).problem(graphs_of(unit.module)["g"])
    assert problem.nodes[-1].reads == (0, 1)
    assert problem.nodes[0].kind != problem.nodes[1].kind
    assert problem.last_reader == [2, 2, 2]
