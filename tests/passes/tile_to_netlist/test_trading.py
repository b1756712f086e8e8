"""Trades of cores between the ops of an epoch."""

from __future__ import annotations

from dataclasses import replace

from tests.passes.tile_to_netlist.made import candidate, chain, even, found, small
from ttc.passes.tile_to_netlist.blocking import Candidate
from ttc.passes.tile_to_netlist.problem import Problem
from ttc.passes.tile_to_netlist.trading import Market

LONG = 4_000_000
"""Cycles of an op on one core, beside which nothing else counts."""


def traded(problem: Problem, chosen: list[Candidate]) -> list[list[int]]:
    """The cores of each op by the trades of all ops, the best first."""
    return [[c.cores for c in option] for option in Market.of(problem, 0, len(chosen)).trades(chosen)]


def picks(problem: Problem, *cores: int) -> list[Candidate]:
    return [next(c for c in node.found.front if c.cores == n) for node, n in zip(problem.nodes, cores, strict=True)]


def test_a_slow_op_takes_cores_of_several_quick_ones() -> None:
    problem = chain([even(LONG, 6), even(800, 2), even(800, 2), even(800, 2)], small(3, 3), 1)
    best, *others = traded(problem, picks(problem, 3, 2, 2, 2))
    assert best == [6, 1, 1, 1]
    assert [cores[0] for cores in others] == [5, 4]
    assert all(sum(cores) <= 9 for cores in others)


def test_ops_that_are_alike_take_cores_together() -> None:
    """Two equal ops beside each other, as the products that make keys and values: one of them alone gains nothing."""
    made = even(LONG, 2)
    base = chain([even(800, 3), made, made], small(2, 3), 1)
    alike = [replace(node, kind="product", reads=(0,)) for node in base.nodes[1:]]
    problem = replace(base, nodes=[base.nodes[0], *alike])
    assert traded(problem, picks(problem, 3, 1, 1)) == [[2, 2, 2]]


def test_nothing_is_traded_that_is_worth_nothing() -> None:
    single = found(candidate(1, 1, LONG))
    problem = chain([single, even(800, 3)], small(), 1)
    assert traded(problem, picks(problem, 1, 3)) == []
    assert traded(chain([single], small(), 1), [single.front[0]]) == []
