"""Shape rules say what the verifiers of the tile dialect say, and refuse what these refuse."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from tests.runtime.engines.native.guarded import Graph
from tests.runtime.engines.native.guarded_cases import FAMILIES
from tests.runtime.engines.native.guarded_mutations import mutated
from ttc.dialects.core.errors import Error
from ttc.dialects.core.plain.functions import TensorType, Work
from ttc.dialects.tile.base import Tile, ops
from ttc.runtime.engines.native.prepare.shape_rules import is_sound, rules

UNVERIFIED = ("tile.eltwise", "tile.to_host", "tile.from_host")
"""Regions are verified as IR; borders to the host are of tiles on one side."""


def _work(graph: Graph) -> tuple[Work, list[TensorType | None]] | None:
    """The last op with the types of its operands; None where it has an operand that is not there."""
    work = graph.netlist.graphs["g"].ops[-1].work
    (last,) = work.works
    known = all(i is None or 0 <= i < len(work.inputs) for i in last.operands)
    return (last, [None if i is None else work.inputs[i] for i in last.operands]) if known else None


def _verified(work: Work, types: list[TensorType | None]) -> list[tuple[int, ...]] | None:
    """Shapes by the dialect; None if it refuses."""
    tiles = [None if t is None else Tile(t.shape, t.format, None, 1) for t in types]
    try:
        found = ops()[work.op.partition(".")[2]].infer(*tiles, **work.attrs)
    except (Error, ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        return None
    return found if isinstance(found, list) else [found]


def _names(work: Work) -> dict[str, object]:
    names = {name: value for name, value in work.attrs.items() if isinstance(value, tuple) and any(isinstance(x, str) for x in value)}
    return names | {name: value for name, value in work.attrs.items() if isinstance(value, str | float)}


def test_rules_are_of_ops_that_there_are():
    assert set(rules()) <= set(ops())


@pytest.mark.parametrize("family", FAMILIES)
def test_rules_agree_with_the_dialect(family: str):
    graphs, rng = list(FAMILIES[family]()), Random(family)
    for graph in graphs:
        given = _work(graph)
        assert given is not None
        assert is_sound(*given), graph.name
        assert given[0].op in UNVERIFIED or _verified(*given) == [t.shape for t in given[0].results], graph.name
    accepted = 0
    for _ in range(1500):
        graph = rng.choice(graphs)
        given, before = _work(mutated(rng, graph)), _work(graph)
        types = [] if given is None else [*given[0].results, *(t for t in given[1] if t is not None)]
        if given is None or given[0].op in UNVERIFIED or any(-1 in t.shape for t in types) or not is_sound(*given):
            continue
        if before is None or _names(given[0]) != _names(before[0]) or len(given[1]) != len(before[1]):
            continue  # functions, modes and numbers are the lowerings' to know, and so are formats
        given = (
            given[0],
            [None if t is None or b is None else replace(t, format=b.format) for t, b in zip(given[1], before[1], strict=True)],
        )
        if not is_sound(*given):
            continue
        accepted += 1
        assert _verified(*given) == [t.shape for t in given[0].results], given
    assert accepted > 100


def test_a_lie_about_the_result_is_found():
    for family in FAMILIES.values():
        graph = next(iter(family()))
        given = _work(graph)
        assert given is not None
        work, types = given
        shape = work.results[0].shape
        for other in ((*shape, 1), shape[:-1], (shape[0] + 1, *shape[1:])):
            assert not is_sound(replace(work, results=(replace(work.results[0], shape=other),)), types)
