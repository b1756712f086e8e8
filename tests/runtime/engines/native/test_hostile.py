"""Archives by others: whatever their ops say, the native engine ends as the reference engine does, and touches no memory but its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from random import Random

import numpy as np
import pytest

from tests.runtime.engines.native.guarded import Graph, difference, guard, in_children, limit_memory
from tests.runtime.engines.native.guarded_cases import FAMILIES
from tests.runtime.engines.native.guarded_graphs import graph_of
from tests.runtime.engines.native.guarded_mutations import mutated
from tests.runtime.engines.native.guarded_networks import network
from ttc.dialects.core.errors import Error
from ttc.dialects.core.plain.functions import Plain
from ttc.dialects.netlist.checks import require_valid
from ttc.runtime.engines.native.codegen.features import host_cpu
from ttc.runtime.engines.native.engine import NativeEngine
from ttc.runtime.engines.reference import plan_of
from ttc.runtime.engines.room import largest_bytes, memory_bytes
from ttc.runtime.tensors import Constants

GRAPHS = 40
"""Of a family, that pass the loader's checks."""


@pytest.mark.parametrize("family", FAMILIES)
def test_mutated_graphs(family: str):
    problems = hostile_problems(family, range(GRAPHS))
    assert not problems, "\n".join(problems[:20])


def hostile_problems(family: str, seeds: Sequence[int]) -> list[str]:
    """What is wrong with the native engine on mutated graphs of a family."""
    graphs = list(FAMILIES[family]())
    tasks = [(f"{family} {seed}", _task(graphs, seed)) for seed in seeds]
    return [f"{name}: {reply}" for name, reply in in_children(tasks) if reply]


@pytest.mark.parametrize("lies", [0.0, 0.1])
def test_networks(lies: float):
    problems = network_problems(range(GRAPHS), lies)
    assert not problems, "\n".join(problems[:20])


def network_problems(seeds: Sequence[int], lies: float) -> list[str]:
    """What is wrong with the native engine on random networks.  lies: how often an op gives another shape than it announces."""

    def task(seed: int) -> Callable[[Callable[[str], None]], str]:
        def run(note: Callable[[str], None]) -> str:
            limit_memory()
            guard(at_end=True, note=note)
            graph = network(seed, lies=lies)
            try:
                require_valid(graph.netlist)
            except Error as error:
                return "" if lies else f"it is not even sound: {error}"
            return _problem(graph, note)

        return run

    return [f"{name}: {reply}" for name, reply in in_children([(f"network {seed}", task(seed)) for seed in seeds]) if reply]


INDEXED: tuple[tuple[str, list[tuple[int, ...]], dict[str, int]], ...] = (
    ("embedding", [(7, 13), (3, 5)], {}),
    ("gather", [(2, 7, 4), (4,)], {"axis": 1}),
    ("gather_elements", [(3, 7), (2, 6)], {"axis": 1}),
    ("gather_nd", [(2, 7, 7, 3), (2, 5, 2)], {"batch_dims": 1}),
)


@pytest.mark.parametrize("kind", ["Int32", "Int64"])
def test_indices_far_outside(kind: str):
    least, most = np.iinfo(kind.lower()).min, np.iinfo(kind.lower()).max
    tasks: list[tuple[str, Callable[[Callable[[str], None]], str]]] = []
    for op, shapes, attrs in INDEXED:
        graph = graph_of(op, shapes, attrs, ("Float32", kind))
        for index in (least, most, 7, -8, -7, 6, least + 7, most // 2 + 1, 1 << 30):
            chosen = np.zeros(shapes[1], kind.lower())
            chosen.reshape(-1)[-1] = index
            tasks.append((f"{op} {index}", _guarded(replace(graph, entries={**graph.entries, "x1": chosen}))))
    assert not [f"{name}: {reply}" for name, reply in in_children(tasks) if reply]


@pytest.mark.parametrize("format", ["Int16", "Int32", "Int64"])
def test_integers_at_their_limits(format: str):
    dtype = np.dtype(format.lower())
    limits = np.array([0, 1, 2, 3, -1, -2, np.iinfo(dtype).max, np.iinfo(dtype).min], dtype)
    entries = {"x0": np.repeat(limits, 8), "x1": np.tile(limits, 8)}
    given: tuple[dict[str, Plain], ...] = (
        *({"fn": fn} for fn in ("div", "pow", "shift_left", "shift_right")),
        *({"fn": "mod", "names": ("fmod",), "values": (fmod,)} for fmod in (False, True)),
    )
    tasks = [(str(attrs), _guarded(replace(graph_of("map", [(64,), (64,)], attrs, format), entries=entries))) for attrs in given]
    assert not [f"{name}: {reply}" for name, reply in in_children(tasks) if reply]


def _guarded(graph: Graph) -> Callable[[Callable[[str], None]], str]:
    def task(note: Callable[[str], None]) -> str:
        guard(at_end=True, note=note)
        return _problem(graph, note)

    return task


def _task(graphs: list[Graph], seed: int) -> Callable[[Callable[[str], None]], str]:
    def task(note: Callable[[str], None]) -> str:
        limit_memory()
        guard(at_end=True, note=note)
        graph = _sound_to_the_loader(Random(seed), graphs)
        return _problem(graph, note)

    return task


def _sound_to_the_loader(rng: Random, graphs: list[Graph]) -> Graph:
    while True:
        graph = mutated(rng, rng.choice(graphs))
        try:
            require_valid(graph.netlist)
        except Error:
            continue
        return graph


def _problem(graph: Graph, note: Callable[[str], None]) -> str:
    work = graph.netlist.graphs["g"].ops[-1].work
    text = f"{work.works[-1]} of {work.inputs}"
    constants, one = Constants(graph.tensors), graph.netlist.graphs["g"]
    note(f"reference: {text}")
    expected = _ended(lambda: plan_of(one, graph.netlist, constants).run(graph.entries))
    note(f"native: {text}")
    found = _ended(lambda: NativeEngine(1, host_cpu()).prepare(one, graph.netlist, Constants(graph.tensors)).run(graph.entries))
    if found == "E0104" and max(largest_bytes(op.work) for op in one.ops) > memory_bytes():
        return ""  # what is announced is refused before anything runs; the reference engine may find less, or another fault
    if isinstance(expected, str) or isinstance(found, str):
        same = isinstance(expected, str) and isinstance(found, str) and expected == found
        return "" if same else f"{_brief(found)} instead of {_brief(expected)}: {text}"
    wrong = [f"{name}: {problem}" for name in expected if (problem := difference(found[name], expected[name], max(graph.tolerance, 1e-4)))]
    return f"{wrong}: {text}" if wrong else ""


def _ended(run: Callable[[], dict[str, np.ndarray]]) -> dict[str, np.ndarray] | str:
    try:
        return run()
    except Error as error:
        return error.code


def _brief(ending: dict[str, np.ndarray] | str) -> str:
    return ending if isinstance(ending, str) else str({name: f"{y.dtype}{y.shape}" for name, y in ending.items()})


def test_a_region_cannot_hold_other_ops():
    graph = next(g for g in FAMILIES["elementwise"]() if g.name.startswith("eltwise"))
    one = graph.netlist.graphs["g"]
    (work,) = one.ops[-1].work.works
    assert work.body is not None
    for fn in ("matmul", "reshape", "softmax", "shape", "random_normal", "no_such_function"):
        inner = replace(work.body.works[1], attrs={"fn": fn})
        body = replace(work.body, works=(work.body.works[0], inner, *work.body.works[2:]))
        op = replace(one.ops[-1], work=replace(one.ops[-1].work, works=(replace(work, body=body),)))
        changed = replace(graph, netlist=replace(graph.netlist, graphs={"g": replace(one, ops=(*one.ops[:-1], op))}))
        assert _problem(changed, lambda _: None) == ""
