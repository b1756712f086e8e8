"""Ops that lie about their results, or have attributes of other kinds, are found before native code trusts them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.runtime.engines.native.guarded import Graph
from tests.runtime.engines.native.guarded_cases import FAMILIES
from ttc.dialects.core.plain.functions import TensorType, Work
from ttc.runtime.engines.native.prepare.shape_rules import is_sound

OPTIONAL = frozenset(
    "accumulate activation activation_args names values to parameter vector rest tile grid mblock block order".split(),
)
"""Attributes that an op can lack."""


def _work(graph: Graph) -> tuple[Work, list[TensorType | None]] | None:
    """The last op with the types of its operands; None where it has an operand that is not there."""
    work = graph.netlist.graphs["g"].ops[-1].work
    (last,) = work.works
    known = all(i is None or 0 <= i < len(work.inputs) for i in last.operands)
    return (last, [None if i is None else work.inputs[i] for i in last.operands]) if known else None


@pytest.mark.parametrize("family", FAMILIES)
def test_ops_that_say_what_they_give_are_sound(family: str):
    for graph in FAMILIES[family]():
        given = _work(graph)
        assert given is not None
        assert is_sound(*given), graph.name


@pytest.mark.parametrize("family", FAMILIES)
def test_attributes_of_other_kinds_are_refused(family: str):
    for graph in FAMILIES[family]():
        given = _work(graph)
        assert given is not None
        work, types = given
        for name, value in work.attrs.items():
            if name == "values":  # of any kind
                continue
            for other in (None if name not in OPTIONAL else 1j, (value,), "?" if isinstance(value, int | float | tuple) else 3):
                assert not is_sound(replace(work, attrs={**work.attrs, name: other}), types), (graph.name, name, other)  # pyright: ignore[reportArgumentType]
        assert not is_sound(replace(work, attrs={**work.attrs, "another": 1}), types), graph.name


def test_a_lie_about_the_result_is_found():
    for family in FAMILIES.values():
        graph = next(iter(family()))
        given = _work(graph)
        assert given is not None
        work, types = given
        shape = work.results[0].shape
        for other in ((*shape, 1), shape[:-1], (shape[0] + 1, *shape[1:])):
            assert not is_sound(replace(work, results=(replace(work.results[0], shape=other),)), types)
