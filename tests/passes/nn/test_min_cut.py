"""Tests of passes/nn/min_cut.py."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from ttc.passes.nn.min_cut import FlowGraph


def cheapest(count: int, edges: list[tuple[int, int, float]]) -> float:
    """The cost of the cheapest cut, of all."""
    inner = range(2, count)
    sides = ({0, *chosen} for size in range(len(inner) + 1) for chosen in itertools.combinations(inner, size))
    return min(sum(room for tail, head, room in edges if tail in side and head not in side) for side in sides)


def test_cuts_cost_as_little_as_any(rng: np.random.Generator) -> None:
    for _ in range(60):
        count = int(rng.integers(4, 8))
        pairs = [(a, b) for a in range(count) for b in range(count) if a != b and rng.random() < 0.5]
        edges = [(a, b, float(rng.integers(0, 9))) for a, b in pairs]
        graph = FlowGraph()
        for _ in range(count - 2):
            graph.node()
        for edge in edges:
            graph.edge(*edge)
        side = graph.source_side()
        assert graph.SOURCE in side
        assert graph.SINK not in side
        assert sum(room for tail, head, room in edges if tail in side and head not in side) == cheapest(count, edges)


def test_a_way_without_a_limit_cannot_be_cut() -> None:
    graph = FlowGraph()
    middle = graph.node()
    graph.edge(graph.SOURCE, middle, math.inf)
    graph.edge(middle, graph.SINK, math.inf)
    with pytest.raises(ValueError, match="cannot be cut"):
        graph.source_side()
