"""Results that native plans write in place: over the entries that they replace."""

from __future__ import annotations

import resource
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.runtime.engines.native.programs import Step, tensor
from tests.runtime.engines.stateful import Stateful
from ttc.dialects.core.errors import Error
from ttc.dialects.core.formats import format_named
from ttc.dialects.core.plain.functions import TensorType
from ttc.runtime.engines.native.codegen.code import compiled
from ttc.runtime.engines.native.codegen.features import host_cpu
from ttc.runtime.engines.native.engine import NativeEngine
from ttc.runtime.engines.native.execution.constants import compute_constants
from ttc.runtime.engines.native.execution.plan import NativePlan
from ttc.runtime.engines.native.execution.pool import KERNELS, pool_of
from ttc.runtime.engines.native.graph.tensors import STATUS
from ttc.runtime.engines.native.jobs.job import Job
from ttc.runtime.engines.native.kernels.gather import CheckIndices
from ttc.runtime.engines.native.prepare.build import lower_graph, prepared_of
from ttc.runtime.tensors import Constants

MAP = "tile.map"
ENGINE = NativeEngine(2)
SIZES = (5, 3000)
"""Columns of states that plans could copy, and of larger ones."""
BAD, GOOD = np.array([[9]]), np.array([[1]])
INDEX = tensor(1, 1, format="Int64")


def step(name: str, fn: str, *reads: str, columns: int, rows: int = 4) -> Step:
    return Step(name, MAP, reads, tensor(rows, columns), {"fn": fn})


def rows(name: str, read: str, start: int, count: int, columns: int) -> Step:
    attrs = {"starts": (start, 0), "sizes": (count, columns), "steps": (1, 1)}
    return Step(name, "tile.slice", (read,), tensor(count, columns), attrs)


def graphs_that_may_fail(n: int) -> dict[str, tuple[Stateful, str]]:
    """Graphs like those of `graphs`, with indices that are checked, steps in Python, or results that show states."""
    type_, row = tensor(4, n), tensor(1, n)
    one = {"a": type_, "x": type_}
    adding = step("next", "add", "a", "x", columns=n)
    scatter = Step("next", "tile.scatter_nd", ("a", "i", "r"), type_, {"reduction": "none"})
    return {
        "scatter": (Stateful({"a": type_, "i": INDEX, "r": row}, [scatter], {"a": "next"}), "a"),
        "scatter, read later": (
            Stateful({"a": type_, "i": INDEX, "r": row}, [
                scatter, step("y", "tanh", "a", columns=n), step("z", "neg", "next", columns=n),
                Step("late", "tile.gather_nd", ("x", "i"), row, {"batch_dims": 0}),
            ], {"a": "next"}, {"y": "y", "z": "z", "row": "late"}),
            "a",
        ),  # fmt: skip
        "fails late": (
            Stateful({"a": type_, "x": type_, "i": INDEX}, [
                step("next", "add", "a", "x", columns=n), Step("late", "tile.gather_nd", ("next", "i"), row, {"batch_dims": 0}),
            ], {"a": "next"}, {"row": "late"}),
            "",
        ),  # fmt: skip
        "in Python": (
            Stateful(one, [step("next", "add", "a", "x", columns=n), Step("y", "nn.sin", ("next",), type_)], {"a": "next"}, {"y": "y"}),
            "",
        ),
        "Python first": (
            Stateful(one, [Step("y", "nn.sin", ("x",), type_), step("next", "add", "a", "y", columns=n)], {"a": "next"}),
            "a",
        ),
        "shown": (Stateful(one, [step("next", "add", "a", "x", columns=n)], {"a": "next"}, {"y": "next"}), "a"),
        "shown as it was": (
            Stateful(one, [adding, Step("old", "tile.reshape", ("a",), type_, {"shape": (4, n)})], {"a": "next"}, {"y": "old"}),
            "",
        ),
    }  # fmt: skip


def graphs(n: int) -> dict[str, tuple[Stateful, str]]:
    """Graphs over states a and b of 4 rows, and the names of the states of which each is written in place."""
    type_, row = tensor(4, n), tensor(1, n)
    two, one = {"a": type_, "b": type_}, {"a": type_, "x": type_}
    rest, joined = rows("rest", "a", 1, 3, n), Step("next", "tile.concat", ("rest", "r"), type_, {"axis": 0})
    square = {"transpose_a": False, "transpose_b": False}
    adding = step("next", "add", "a", "x", columns=n)
    return {
        "sum": (Stateful(one, [step("next", "add", "a", "x", columns=n)], {"a": "next"}), "a"),
        "swap": (Stateful(two, [step("p", "neg", "b", columns=n), step("q", "exp", "a", columns=n)], {"a": "p", "b": "q"}), "b"),
        "one after the other": (
            Stateful(two, [step("p", "add", "a", "b", columns=n), step("q", "sub", "a", "b", columns=n)], {"a": "p", "b": "q"}),
            "b",
        ),
        "read later": (Stateful(one, [adding, step("y", "tanh", "a", columns=n)], {"a": "next"}, {"y": "y"}), "a"),
        "shown before": (
            Stateful(one, [step("y", "tanh", "a", columns=n), step("next", "add", "y", "x", columns=n)], {"a": "next"}, {"y": "y"}),
            "a",
        ),
        "delay line": (
            Stateful({**two, "c": type_, "x": type_}, [
                step("p", "add", "x", "x", columns=n), step("q", "neg", "a", columns=n), step("r", "neg", "b", columns=n),
            ], {"a": "p", "b": "q", "c": "r"}),
            "abc",
        ),  # fmt: skip
        "shift": (Stateful({"a": type_, "r": row}, [rest, joined], {"a": "next"}), ""),
        "product": (
            Stateful(dict.fromkeys("ax", tensor(4, 4)), [Step("next", "tile.matmul", ("a", "x"), tensor(4, 4), square)], {"a": "next"}),
            "",
        ),
        "turned": (
            Stateful({"a": tensor(4, 4)}, [
                Step("t", "tile.transpose", ("a",), tensor(4, 4), {"perm": (1, 0)}),
                Step("next", MAP, ("t", "a"), tensor(4, 4), {"fn": "add"}),
            ], {"a": "next"}),
            "a",
        ),  # fmt: skip
        "rows": (
            Stateful({"a": type_, "r": row}, [
                rows("before", "a", 0, 2, n), rows("after", "a", 3, 1, n),
                Step("next", "tile.concat", ("before", "r", "after"), type_, {"axis": 0}),
            ], {"a": "next"}),
            "a",
        ),  # fmt: skip
        **graphs_that_may_fail(n),
    }  # fmt: skip


NAMES = tuple(graphs(1))


def entries_of(graph: Stateful, rng: np.random.Generator) -> dict[str, NDArray]:
    drawn = {name: rng.standard_normal(type_.shape, np.float32) for name, type_ in graph.entries.items() if name != "i"}
    return {**drawn, "i": GOOD.copy()} if "i" in graph.entries else drawn


def completed(graph: Stateful) -> Stateful:
    """With the entry x, should a step read it."""
    read = {name for s in graph.steps for name in s.reads}
    more = {"x": next(iter(graph.entries.values()))} if "x" in read and "x" not in graph.entries else {}
    return Stateful({**graph.entries, **more}, graph.steps, graph.updates, graph.outputs)


def over_states(plan: NativePlan) -> str:
    """The states whose next value may be written over the last."""
    layout = plan.prepared.layout
    found = [q.removesuffix(".next") for q, p in layout.in_place.items() if q.endswith(".next")]
    over = {q: layout.in_place[f"{q}.next"] for q in found}
    return "".join(sorted(q for q, p in over.items() if q in p.over or layout.last_reads.get(q, -1) < p.first))


@pytest.mark.parametrize("columns", SIZES)
@pytest.mark.parametrize("name", NAMES)
def test_states(name: str, columns: int, rng: np.random.Generator) -> None:
    graph, in_place = graphs(columns)[name]
    graph = completed(graph)
    plan = graph.plan(ENGINE)
    assert isinstance(plan, NativePlan)
    assert over_states(plan) == in_place
    graph.is_right(ENGINE, entries_of(graph, rng))


def test_a_cache_is_not_copied(rng: np.random.Generator) -> None:
    """The copy of what a scatter leaves alone is passed over while the state is written in place, and only then."""
    graph, _ = graphs(3000)["scatter"]
    plan, entries = graph.plan(ENGINE), entries_of(graph, rng)
    assert isinstance(plan, NativePlan)
    (place,) = plan.prepared.layout.in_place.values()
    assert len(place.over["a"]) == 1
    for _ in range(2):
        expected = graph.expected(entries)
        other = np.full_like(entries["a"], np.nan)
        assert np.array_equal(plan.run(entries, {"a.next": other})["a.next"], expected["a"])
        assert np.array_equal(plan.run(entries)["a.next"], expected["a"])
        assert np.array_equal(graph.updated(plan, entries)["a"], expected["a"])


def planted(graph: Stateful, at: int, *, late: bool) -> NativePlan | None:
    """A plan that fails where entry `trap` is not 0 after so many steps; late: by a job that needs the result of the one before it."""
    netlist = Stateful({**graph.entries, "trap": INDEX}, [*graph.steps, Step("seen", MAP, ("trap",), INDEX, {"fn": "neg"})],
                       graph.updates, {**graph.outputs, "seen": "seen"}).netlist()  # fmt: skip
    constants, cpu = Constants({}), host_cpu()
    lowered = lower_graph(netlist.graphs["g"], netlist, constants, cpu)
    if at >= len(lowered.steps):
        return None
    trap, before = lowered.views[lowered.flat.queues["trap"]], lowered.steps[at]
    assert trap is not None
    needed = before.written if isinstance(before, Job) else tuple(view for view in before.targets if view is not None)
    depends = tuple(view for view in needed if late and view.buffer is not STATUS.buffer)
    check = Job(CheckIndices("i64", 1), (trap, STATUS, 1, 1), 1, (STATUS,), before.node, depends=depends)
    lowered.steps.insert(at + 1, check)
    prepared = prepared_of(lowered, 2)
    assert prepared is not None
    code = compiled([*KERNELS, *(job.kernel for job in (*lowered.first, *lowered.jobs))], cpu, ENGINE.kernels.store())
    pool = pool_of(2, code)
    compute_constants(prepared.packing, code, pool, constants)
    return NativePlan(prepared, pool, code, lambda: Failing(), lambda: lowered)  # pyright: ignore


class Failing:
    """What a plan asks for the reason of a failure."""

    def run(self, entries: Mapping[str, NDArray], into: Mapping[str, NDArray] | None = None) -> dict[str, NDArray]:
        raise Error("E0802", "planted")

    def constant(self, work: object) -> NDArray:
        raise AssertionError(work)


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_failures_change_nothing(name: str, late: bool, rng: np.random.Generator) -> None:
    graph = completed(graphs(50)[name][0])
    at = 0
    while plan := planted(graph, at, late=late):
        entries = entries_of(graph, rng)
        expected = graph.expected(entries)
        before = {name: value.copy() for name, value in entries.items()}
        with pytest.raises(Error, match="planted"):
            graph.updated(plan, {**entries, "trap": BAD})
        assert all(np.array_equal(entries[name], value) for name, value in before.items())
        found = graph.updated(plan, {**entries, "trap": np.zeros((1, 1), np.int64)})
        for key, value in expected.items():
            np.testing.assert_allclose(found[key], value, rtol=1e-5, atol=1e-6, err_msg=f"{at} {key}")
        at += 1
    assert at > 0


def test_a_bad_index_changes_nothing(rng: np.random.Generator) -> None:
    for name in ("scatter", "scatter, read later"):
        graph = completed(graphs(3000)[name][0])
        plan, entries = graph.plan(ENGINE), entries_of(graph, rng)
        before = entries["a"].copy()
        with pytest.raises(Error, match="E0802"):
            graph.updated(plan, {**entries, "i": BAD})
        assert np.array_equal(entries["a"], before)


FUNCTIONS = {"neg": 1, "tanh": 1, "add": 2, "sub": 2, "minimum": 2}


def random_graph(rng: np.random.Generator) -> Stateful:
    """Up to four states of one type that are computed of each other, by elementwise functions, slices, scatters, transposes, checks."""
    n = int(rng.integers(1, 6)) if rng.random() < 0.5 else int(rng.integers(1500, 2000))
    shape = (n, n) if n < 6 else (4, n)
    type_, row = tensor(*shape), tensor(1, shape[1])
    states = "abcd"[: int(rng.integers(1, 5))]
    values, steps = [*states, "x"], list[Step]()
    for number in range(int(rng.integers(1, 9))):
        name, kind = f"v{number}", rng.random()
        one, other = (str(rng.choice(values)) for _ in range(2))
        if kind < 0.15:
            steps.append(Step(name, "tile.scatter_nd", (one, "i", "r"), type_, {"reduction": "none"}))
        elif kind < 0.25 and shape[0] == shape[1]:
            steps.append(Step(name, "tile.transpose", (one,), type_, {"perm": (1, 0)}))
        elif kind < 0.4 and shape[0] > 1:
            at = int(rng.integers(1, shape[0]))
            parts = [rows(f"{name}p", one, 0, at, shape[1]), rows(f"{name}q", other, at, shape[0] - at, shape[1])]
            steps += [*parts, Step(name, "tile.concat", (f"{name}p", f"{name}q"), type_, {"axis": 0})]
        elif kind < 0.5:
            steps += [
                Step(f"{name}g", "tile.gather_nd", (one, "i"), row, {"batch_dims": 0}),
                Step(name, MAP, (other, f"{name}g"), type_, {"fn": "add"}),
            ]
        elif kind < 0.55:
            steps.append(Step(name, "nn.sin", (one,), type_))
        elif kind < 0.7 and shape[0] == shape[1]:
            factors = (one, str(rng.choice(values)))
            steps.append(Step(f"{name}m", "tile.matmul", factors, type_, {"transpose_a": False, "transpose_b": False}))
            steps += [
                Step(f"{name}s", MAP, (other, f"{name}m"), type_, {"fn": "add"}),
                Step(name, MAP, (f"{name}s",), type_, {"fn": "tanh"}),
            ]
        else:
            fn = str(rng.choice(list(FUNCTIONS)))
            steps.append(Step(name, MAP, (one, other)[: FUNCTIONS[fn]], type_, {"fn": fn}))
        values.append(name)
    made = [name for name in values if name.startswith("v")]
    updates = {state: str(rng.choice(made)) for state in states}
    entries: dict[str, TensorType] = {**dict.fromkeys(states, type_), "x": type_, "i": INDEX, "r": row}
    return Stateful(entries, steps, updates, {"y": str(rng.choice(made))})


@pytest.mark.parametrize("number", range(60))
def test_random_graphs(number: int, rng: np.random.Generator) -> None:
    graph = random_graph(rng)
    drawn = {name: rng.standard_normal(type_.shape, np.float32) for name, type_ in graph.entries.items() if name != "i"}
    graph.is_right(ENGINE, {**drawn, "i": np.zeros((1, 1), np.int64)}, runs=4)


@pytest.mark.parametrize("sizes", [(3, 5, 7), (40, 70, 600), (130, 257, 33), (64, 64, 64), (24, 1100, 300)])
def test_a_product_that_is_added_to_a_state(sizes: tuple[int, int, int], rng: np.random.Generator) -> None:
    """A weight less a step along its gradient; where the state is a factor as well, or turned, it is not written in place."""
    m, n, depth = sizes
    plain = {"transpose_a": False, "transpose_b": False}
    rate = {"rate": (np.float32(-0.05).reshape(1), "Float32")}
    entries = {"a": tensor(m, n), "x": tensor(m, depth), "y": tensor(depth, n)}
    product = Step("g", "tile.matmul", ("x", "y"), tensor(m, n), plain)
    scaled = Step("d", MAP, ("g", "rate"), tensor(m, n), {"fn": "mul"})
    added = Step("next", MAP, ("a", "d"), tensor(m, n), {"fn": "add"})
    graph = Stateful(entries, [product, scaled, added], {"a": "next"}, {}, rate)
    plan = graph.plan(ENGINE)
    assert isinstance(plan, NativePlan)
    assert over_states(plan) == "a"
    drawn = {name: (rng.standard_normal(type_.shape) / 8).astype(np.float32) for name, type_ in entries.items()}
    graph.is_right(ENGINE, drawn)
    if m != n:
        return
    turned = Step("t", "tile.transpose", ("a",), tensor(m, m), {"perm": (1, 0)})
    for factors, other in ((("a", "y"), "a"), (("x", "a"), "a"), (("x", "y"), "t")):
        steps = [turned, replace(product, reads=factors), scaled, replace(added, reads=(other, "d"))]
        graph = Stateful(entries, steps, {"a": "next"}, {}, rate)
        graph.is_right(ENGINE, drawn)


@pytest.mark.parametrize("format", ["Int8", "UInt8", "Int32", "Int64", "Float64", "Float16", "Float16_b", "Bfp8_b"])
def test_states_of_other_numbers(format: str, rng: np.random.Generator) -> None:
    """Also of formats that results are rounded to after they are computed, and of those that the engine holds narrower than entries are."""
    type_ = tensor(32, 64, format=format)
    graph = Stateful({"a": type_, "x": type_}, [Step("next", MAP, ("a", "x"), type_, {"fn": "maximum"})], {"a": "next"}, {"y": "next"})
    found = format_named(format)
    entries = {name: found.round((10 * rng.standard_normal((32, 64))).astype(found.compute)) for name in "ax"}
    graph.is_right(ENGINE, entries)


@pytest.mark.parametrize("holds", [False, True])
def test_states_that_change_under_a_condition(holds: bool, rng: np.random.Generator) -> None:
    """A choice between two computations that are passed over unless they are needed, one of them a scatter into the state."""
    type_, c = tensor(64, 600), tensor(1, format="Bool")
    steps = [
        Step("e", MAP, ("a",), type_, {"fn": "tanh"}),
        Step("s", "tile.softmax", ("e",), type_, {"axis": -1}),
        Step("w", "tile.scatter_nd", ("a", "i", "r"), type_, {"reduction": "none"}),
        Step("v", "tile.softmax", ("w",), type_, {"axis": -1}),
        Step("next", MAP, ("c", "s", "v"), type_, {"fn": "where"}),
        step("other", "add", "b", "next", rows=64, columns=600),
    ]
    entries = {"a": type_, "b": type_, "c": c, "i": INDEX, "r": tensor(1, 600)}
    graph = Stateful(entries, steps, {"a": "next", "b": "other"})
    plan = graph.plan(ENGINE)
    assert isinstance(plan, NativePlan)
    assert [len(segment.conditions) for segment in plan.prepared.layout.segments].count(1) > 1
    assert over_states(plan) == "ab"
    drawn = {name: rng.standard_normal(type_.shape, np.float32) for name, type_ in entries.items() if name not in "ci"}
    graph.is_right(ENGINE, {**drawn, "c": np.array([holds]), "i": GOOD.copy()})


def test_entries_that_move(rng: np.random.Generator) -> None:
    """States in other arrays from run to run, inputs that are memory of results, results in memory of their own again."""
    graph, _ = graphs(3000)["sum"]
    plan = graph.plan(ENGINE)
    for _ in range(3):
        entries = entries_of(graph, rng)
        expected = graph.expected(entries)
        assert np.array_equal(plan.run(entries)["a.next"], expected["a"])
        assert np.array_equal(graph.updated(plan, entries)["a"], expected["a"])
        expected = graph.expected({**entries, "x": entries["a"]})
        assert np.array_equal(graph.updated(plan, {**entries, "x": entries["a"]})["a"], expected["a"])
        part = np.concatenate([entries["a"], entries["x"]])
        views = {"a": part[:4], "x": part[1:5]}
        expected = graph.expected(views)
        assert np.array_equal(graph.updated(plan, views)["a"], expected["a"])
        into = {"a.next": part[2:6]}
        views = {"a": part[:4], "x": entries["x"]}
        expected = graph.expected(views)
        assert np.array_equal(plan.run(views, into)["a.next"], expected["a"])


def test_a_large_state_is_not_copied() -> None:
    """100 MB that a run adds to: the process takes no more memory for it."""
    type_ = tensor(25_000_000)
    graph = Stateful({"s": type_, "x": tensor(1)}, [Step("n", MAP, ("s", "x"), type_, {"fn": "add"})], {"s": "n"})
    plan = graph.plan(ENGINE)
    entries = {"s": np.zeros(type_.shape, np.float32), "x": np.ones(1, np.float32)}
    entries["s"] += 1
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(3):
        graph.updated(plan, entries)
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
    assert entries["s"].min() == entries["s"].max() == 4
    assert grown < 0.05 * entries["s"].nbytes
