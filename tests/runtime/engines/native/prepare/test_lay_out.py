"""Places of buffers in the arena."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from tests.runtime.engines.native.programs import Step, tensor
from tests.runtime.engines.stateful import Stateful
from ttc.dialects.core.plain.functions import Plain
from ttc.runtime.engines.native.codegen.features import host_cpu
from ttc.runtime.engines.native.engine import NativeEngine
from ttc.runtime.engines.native.execution.plan import NativePlan
from ttc.runtime.engines.native.jobs.job import Job
from ttc.runtime.engines.native.kernels.eltwise import Eltwise
from ttc.runtime.engines.native.kernels.gemm import Gemm
from ttc.runtime.engines.native.prepare.build import lower_graph, prepared_of
from ttc.runtime.engines.native.prepare.draft import Draft
from ttc.runtime.tensors import Constants

MAP = "tile.map"
ENGINE = NativeEngine(2)


@pytest.mark.parametrize(("last", "places"), [("m", 1), ("s", 2)], ids=["dies", "is read later"])
def test_what_is_computed_over_what_dies(last: str, places: int, rng: np.random.Generator) -> None:
    """A product of what a softmax gives takes its place, if no later step reads it."""
    type_, softmax = tensor(64, 300), {"axis": 1}
    steps = [
        Step("s", "tile.softmax", ("x",), type_, softmax),
        Step("m", MAP, ("s", "x"), type_, {"fn": "mul"}),
        Step("t", "tile.softmax", ("m",), type_, softmax),
        Step("u", "tile.softmax", (last,), type_, {"axis": 0}),
    ]
    graph = Stateful({"x": type_}, steps, {}, {"t": "t", "u": "u"})
    plan = graph.plan(ENGINE)
    assert isinstance(plan, NativePlan)
    assert plan.prepared.layout.arena.size_bytes == places * 64 * 300 * 4
    graph.is_right(ENGINE, {"x": rng.standard_normal(type_.shape, np.float32)})


def test_products_are_not_computed_over_what_they_multiply(rng: np.random.Generator) -> None:
    type_ = tensor(64, 64)
    steps = [
        Step("s", "tile.softmax", ("x",), type_, {"axis": 1}),
        Step("m", "tile.matmul", ("s", "y"), type_, {"transpose_a": False, "transpose_b": False}),
        Step("t", "tile.softmax", ("m",), type_, {"axis": 1}),
    ]
    graph = Stateful({"x": type_, "y": type_}, steps, {}, {"t": "t"})
    plan = graph.plan(ENGINE)
    assert isinstance(plan, NativePlan)
    assert plan.prepared.layout.arena.size_bytes >= 2 * 64 * 64 * 4
    graph.is_right(ENGINE, {name: rng.standard_normal(type_.shape, np.float32) for name in "xy"})


KINDS: dict[str, tuple[str, int, dict[str, Plain]]] = {
    "softmax": ("tile.softmax", 1, {"axis": 1}),
    "columns": ("tile.softmax", 1, {"axis": 0}),
    "turned": ("tile.transpose", 1, {"perm": (1, 0)}),
    "product": ("tile.matmul", 2, {"transpose_a": False, "transpose_b": False}),
    "sum": (MAP, 2, {"fn": "add"}),
    "times": (MAP, 2, {"fn": "mul"}),
    "tanh": (MAP, 1, {"fn": "tanh"}),
    "in Python": ("nn.sin", 1, {}),
}
"""Ops of random graphs: names, numbers of operands, attributes."""


def random_graph(rng: np.random.Generator) -> Stateful:
    """Up to 14 ops on square matrices, of which most read what was computed last."""
    type_, values, steps = tensor(24, 24), ["x"], list[Step]()
    for number in range(int(rng.integers(4, 15))):
        op, count, attrs = KINDS[str(rng.choice(list(KINDS)))]
        reads = [values[-1 - min(int(rng.geometric(0.5)) - 1, len(values) - 1)] for _ in range(count)]
        steps.append(Step(f"v{number}", op, reads, type_, attrs))
        values.append(f"v{number}")
    return Stateful({"x": type_}, steps, {}, {"y": values[-1], "z": str(rng.choice(values[1:]))})


def shared_places(draft: Draft) -> list[tuple[Job, bool]]:
    """Steps at which two buffers in use lie over each other, and whether one ends there where the other begins."""
    lives = dict[object, list[int]]()
    for number, use in enumerate(draft.uses):
        for buffer in (*use.reads, *use.writes):
            lives.setdefault(buffer, []).append(number)
    for written in draft.written:
        if written.view is not None:
            lives.setdefault(written.view.buffer, []).append(len(draft.uses))
    found: list[tuple[Job, bool]] = []
    for (one, first), (other, second) in combinations(draft.arena.offsets.items(), 2):
        apart = first + one.size_bytes <= second or second + other.size_bytes <= first
        begin, end = max(lives[one][0], lives[other][0]), min(lives[one][-1], lives[other][-1])
        if not apart and begin <= end:
            step = draft.uses[begin].step
            assert isinstance(step, Job)
            found.append((step, begin == end))
    return found


@pytest.mark.parametrize("number", range(40))
def test_random_graphs(number: int, rng: np.random.Generator) -> None:
    graph = random_graph(rng)
    netlist = graph.netlist()
    draft = lower_graph(netlist.graphs["g"], netlist, Constants({}), host_cpu())
    assert prepared_of(draft, 2) is not None
    for job, in_turn in shared_places(draft):
        assert in_turn
        assert isinstance(job.kernel, Eltwise | Gemm)
    graph.is_right(ENGINE, {"x": rng.standard_normal((24, 24), np.float32)})


def test_random_graphs_share_places() -> None:
    """What the test above checks does happen."""
    draws = [np.random.default_rng(seed) for seed in range(40)]
    netlists = [random_graph(rng).netlist() for rng in draws]
    drafts = [lower_graph(netlist.graphs["g"], netlist, Constants({}), host_cpu()) for netlist in netlists]
    assert all(prepared_of(draft, 2) is not None for draft in drafts)
    assert sum(len(shared_places(draft)) for draft in drafts) > 10
