"""No kernel reads or writes outside its memory, on odd shapes, in all storages, on all levels of CPUs."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

import pytest

from tests.runtime.engines.native.guarded import guard, guarded, in_children, outcomes, run_jobs
from tests.runtime.engines.native.guarded_cases import FAMILIES
from tests.runtime.engines.native.guarded_graphs import graph_of
from ttc.dialects.tile.facts import facts
from ttc.runtime.engines.native.codegen.features import host_cpu
from ttc.runtime.engines.native.engine import NativeEngine
from ttc.runtime.engines.native.execution.plan import NativePlan
from ttc.runtime.engines.native.lower import LOWERINGS
from ttc.runtime.tensors import Constants

SHARES = {"amx": (0, 7, 14), "avx2": (3, 45, 84), "generic": (23, 66, 84)}
"""Of the cases, which run on a level: from which on with guards behind memory and before it, and one in how many.  Compiling takes time."""


@pytest.mark.parametrize("at_end", [True, False], ids=["end", "begin"])
@pytest.mark.parametrize("level", SHARES)
@pytest.mark.parametrize("family", FAMILIES)
def test_kernels_stay_inside(family: str, level: str, at_end: bool):
    end, begin, step = SHARES[level]
    graphs = list(FAMILIES[family]())[end if at_end else begin :: step]
    found = outcomes(graphs, host_cpu().limited_to(level), at_end=at_end)
    problems = [f"{o.name}: {o.problem}" for o in found if o.problem]
    assert not problems, "\n".join(problems[:20])
    assert len(found) == len(graphs)


def test_every_lowering_is_of_an_op_and_has_a_case():
    assert set(LOWERINGS.rules()) <= set(facts())
    cases = {graph.name.partition(" ")[0] for family in FAMILIES.values() for graph in family()}
    assert set(LOWERINGS.rules()) <= cases


def test_a_job_that_goes_too_far_is_found():
    graph = graph_of("map", [(3, 4001), (4001,)], {"fn": "add"})

    def too_far(note: Callable[[str], None]) -> None:
        guard(at_end=True, note=note)
        prepared = NativeEngine(1, host_cpu()).prepare(graph.netlist.graphs["g"], graph.netlist, Constants({}))
        assert isinstance(prepared, NativePlan)
        words = prepared.prepared.template.words
        words[words == 4001] = 90001
        run_jobs(prepared, graph.entries)

    ((_, reply),) = in_children([("a", too_far)])
    assert reply.startswith("ended by SIGSEGV: Eltwise(")


@pytest.mark.parametrize("at_end", [True, False])
def test_guards_end_a_process(at_end: bool):
    def inside(note: object) -> int:
        return int(guarded(100, at_end=at_end).sum())

    def outside(note: object) -> int:
        memory = guarded(100, at_end=at_end)
        return ctypes.c_char.from_address(memory.ctypes.data + (100 if at_end else -1)).value[0]

    found = list(in_children([("a", inside), ("b", outside), ("c", inside)]))
    assert [reply for _, reply in found] == [25500, "ended by SIGSEGV: ", 25500]
