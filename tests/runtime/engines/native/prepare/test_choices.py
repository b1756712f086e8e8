"""Which nodes run where a truth chooses between tensors."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.runtime.engines.native.programs import Step, program, tensor
from ttc.runtime.engines.native.codegen.features import host_cpu
from ttc.runtime.engines.native.execution.plan import NativePlan
from ttc.runtime.engines.native.planning import python_step
from ttc.runtime.engines.native.planning.plan_bytes import pack, unpack
from ttc.runtime.program import Program

pytestmark = pytest.mark.skipif(host_cpu().arch != "x86-64", reason="runs code")

WEIGHTS = np.random.default_rng(5).standard_normal((3, 33, 301)).astype(np.float32)
TRUTH = tensor(format="Bool")
WIDE = tensor(6, 301)
PLAIN = {"transpose_a": False, "transpose_b": False}
WHERE = {"fn": "where"}


def product(name: str, source: str, weight: str) -> Step:
    return Step(name, "tile.matmul", (source, weight), WIDE, PLAIN)


BRANCHES = [
    product("a", "x", "w1"),
    Step("a2", "tile.map", ("a",), WIDE, {"fn": "tanh"}),
    product("b", "x", "w2"),
    Step("y", "tile.map", ("c", "a2", "b"), WIDE, WHERE),
]
IN_PYTHON = [
    product("a", "x", "w1"),
    Step("a2", "nn.neg", ("a",), WIDE),
    Step("a3", "nn.abs", ("a2",), WIDE),
    product("b", "x", "w2"),
    Step("y", "tile.map", ("c", "a3", "b"), WIDE, WHERE),
]
NESTED = [
    *(product(name, "x", weight) for name, weight in (("a", "w1"), ("p", "w2"), ("q", "w3"))),
    Step("b", "tile.map", ("d", "p", "q"), WIDE, WHERE),
    Step("y", "tile.map", ("c", "a", "b"), WIDE, WHERE),
]
SHARED = [
    product("a", "x", "w1"),
    Step("a2", "tile.map", ("a",), WIDE, {"fn": "tanh"}),
    product("b", "x", "w2"),
    Step("m", "tile.map", ("c", "a2", "b"), WIDE, WHERE),
    Step("y", "tile.map", ("m", "a"), WIDE, {"fn": "add"}),
]
CASES = {"branches": BRANCHES, "in python": IN_PYTHON, "nested": NESTED, "shared": SHARED}


def made(steps: list[Step], engine: str, outputs: dict[str, str] | None = None) -> Program:
    held = {name: (WEIGHTS[index], "Float32") for index, name in enumerate(("w1", "w2", "w3"))}
    return program({"x": tensor(6, 33), "c": TRUTH, "d": TRUTH}, held, steps, outputs or {"out": "y"}, engine)


def entries(c: bool, d: bool) -> dict[str, NDArray]:
    return {"x": WEIGHTS[0, :6, :33], "c": np.array(c), "d": np.array(d)}


def native_plan(steps: list[Step], outputs: dict[str, str] | None = None) -> NativePlan:
    plan = made(steps, "native", outputs).plans["g"]
    assert isinstance(plan, NativePlan)
    return plan


def ran(plan: NativePlan, c: bool, d: bool = False) -> set[str]:
    """Ops of the netlist that a run computed."""
    return {name for timed in plan.timed(entries(c, d))[1] for name in timed.op.split(" + ")}


@pytest.mark.parametrize("steps", CASES.values(), ids=CASES.keys())
@pytest.mark.parametrize("c", [True, False])
@pytest.mark.parametrize("d", [True, False])
def test_numbers(steps: list[Step], c: bool, d: bool) -> None:
    given = entries(c, d)
    found, expected = (made(steps, engine).plans["g"].run(given)["out"] for engine in ("native", "reference"))
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


def test_a_branch_that_is_not_taken_does_not_run() -> None:
    plan = native_plan(BRANCHES)
    assert ran(plan, True) == {"a", "a2", "y"}
    assert ran(plan, False) == {"b", "y"}


def test_steps_in_python_are_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = native_plan(IN_PYTHON)
    assert ran(plan, True) == {"a", "a2", "a3", "y"}

    def refused(*_: object) -> None:
        raise AssertionError("it is not taken")

    monkeypatch.setattr(python_step.PythonStep, "evaluated", refused)
    assert ran(plan, False) == {"b", "y"}


def test_choices_in_choices() -> None:
    plan = native_plan(NESTED)
    assert ran(plan, True) == {"a", "y"}
    assert ran(plan, False, True) == {"p", "b", "y"}
    assert ran(plan, False, False) == {"q", "b", "y"}


def test_what_others_read_runs_always() -> None:
    plan = native_plan(SHARED)
    assert ran(plan, True) >= {"a", "a2", "y"}
    assert ran(plan, False) >= {"a", "b", "y"}
    assert "b" not in ran(plan, True)
    assert "b" in ran(native_plan(BRANCHES, {"out": "y", "side": "b"}), True)


def test_a_condition_that_is_made_later_decides_nothing() -> None:
    late = Step("e", "tile.map", ("d",), TRUTH, {"fn": "not"})
    steps = [*BRANCHES[:3], late, Step("y", "tile.map", ("e", "a2", "b"), WIDE, WHERE)]
    plan = native_plan(steps)
    assert ran(plan, False, True) >= {"a", "a2", "b", "y"}


def test_little_work_is_not_worth_a_look() -> None:
    small = tensor(2)
    steps = [Step("a", "tile.softmax", ("v",), small, {"axis": -1}), Step("y", "tile.map", ("c", "a", "v"), small, WHERE)]
    plan = program({"v": small, "c": TRUTH}, {}, steps, {"out": "y"}, "native").plans["g"]
    assert isinstance(plan, NativePlan)
    assert not any(segment.conditions for segment in plan.prepared.layout.segments)


def test_conditions_are_kept() -> None:
    prepared = native_plan(BRANCHES).prepared
    found = unpack(pack(prepared) or b"").layout.segments
    assert [(s.first, s.last) for s in found] == [(s.first, s.last) for s in prepared.layout.segments]
    wanted = [[wanted for _, wanted in s.conditions] for s in found]
    assert wanted == [[True], [False], []]
    assert {view.buffer.queue for s in found for view, _ in s.conditions} == {"c"}
