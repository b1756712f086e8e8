"""Nodes whose lowerings refuse them, or have faults."""

from __future__ import annotations

import numpy as np
import pytest

from tests.runtime.engines.native.programs import Step, program, tensor
from ttc.dialects.core.errors import Error
from ttc.runtime.engines.native.codegen.features import host_cpu
from ttc.runtime.engines.native.engine import NativeEngine
from ttc.runtime.engines.native.jobs.job import NotTaken
from ttc.runtime.engines.native.jobs.lowering import Lower, Lowering
from ttc.runtime.engines.native.prepare import lower_nodes
from ttc.runtime.engines.native.prepare.build import lower_graph
from ttc.runtime.program import Program

FAULT = lower_nodes.fault
"""As it is for users: a fixture of all tests replaces it."""


def softmax() -> Program:
    """y = softmax(x), then exp of it."""
    steps = [Step("s", "tile.softmax", ("x",), tensor(4, 8), {"axis": -1}), Step("y", "tile.map", ("s",), tensor(4, 8), {"fn": "exp"})]
    return program({"x": tensor(4, 8)}, {}, steps, {"out": "y"}, "reference")


def raising(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    """Have the lowering of a softmax raise an error."""
    known = lower_nodes.lowering_of

    def broken(n: Lowering) -> None:
        raise error

    def lowering_of(op: str) -> Lower | None:
        return broken if op == "tile.softmax" else known(op)

    monkeypatch.setattr(lower_nodes, "lowering_of", lowering_of)


def reasons(made: Program) -> list[str]:
    """Why nodes run in Python."""
    return [reason for _, reason in lower_graph(made.netlist.graphs["g"], made.netlist, made.constants, host_cpu()).refusals]


@pytest.mark.parametrize("kind", [TypeError, AttributeError, KeyError, IndexError, ZeroDivisionError, ValueError])
def test_a_fault_of_a_lowering_is_an_error_in_tests(kind: type[Exception], monkeypatch: pytest.MonkeyPatch) -> None:
    raising(monkeypatch, kind("planted"))
    with pytest.raises(Error, match=rf"the lowering of tile.softmax raises {kind.__name__}: .?planted") as caught:
        reasons(softmax())
    assert caught.value.code == "E0901"


def test_with_a_fault_of_a_lowering_the_op_of_a_user_runs_in_python(monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator) -> None:
    monkeypatch.setattr(lower_nodes, "fault", FAULT)
    raising(monkeypatch, TypeError("planted"))
    made = softmax()
    assert reasons(made) == ["TypeError: planted"]
    x = {"x": rng.standard_normal((4, 8), np.float32)}
    plan = NativeEngine(1).prepare(made.netlist.graphs["g"], made.netlist, made.constants)
    np.testing.assert_allclose(plan.run(x)["out"], made.plans["g"].run(x)["out"], rtol=1e-6)


@pytest.mark.parametrize(
    ("error", "reason"), [(NotTaken("no softmax"), "no softmax"), (Error("E0402", "no axis"), "Error: error[E0402]: no axis")]
)
def test_a_refusal_is_no_fault(error: Exception, reason: str, monkeypatch: pytest.MonkeyPatch) -> None:
    raising(monkeypatch, error)
    assert reasons(softmax()) == [reason]
