"""Runs that one thread computes alone."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.runtime.engines.native.programs import Step, program, tensor
from ttc.dialects.core.plain.functions import TensorType
from ttc.runtime.engines.native.execution.plan import NativePlan
from ttc.runtime.engines.native.prepare.small_runs import is_small


def alone(x: TensorType, op: str, y: TensorType, attrs: dict[str, str | int]) -> list[bool]:
    """Say of each segment of a program of one op whether one thread computes it."""
    made = program({"x": x}, {}, [Step("y", op, ("x",), y, attrs)], {"y.out": "y"}, "native")
    (plan,) = [made.plans[graph] for graph in made.netlists.executed.graphs]
    assert isinstance(plan, NativePlan)
    return [segment.alone for segment in plan.prepared.layout.segments]


@pytest.mark.parametrize(("rows", "expected"), [(1, True), (16, True), (2048, False)])
def test_work_decides(rows: int, expected: bool):
    x = tensor(rows, 64)
    assert alone(x, "tile.softmax", x, {"axis": -1}) == [expected]
    assert alone(x, "tile.map", x, {"fn": "exp"}) == [expected]


def test_work_that_cannot_be_shared_out_wakes_nobody():
    softmax = Step("y", "tile.softmax", ("x",), tensor(2048, 64), {"axis": -1})
    made = program({"x": tensor(2048, 64)}, {}, [softmax], {"y.out": "y"}, "native").plans["g"]
    assert isinstance(made, NativePlan)
    (job,) = made.jobs()
    assert job.tasks > 1
    assert not is_small([job])
    assert is_small([replace(job, tasks=1)] * 100)
