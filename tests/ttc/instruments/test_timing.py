"""Times of stages and passes."""

from __future__ import annotations

from ttc.instruments.timing import StageTime, Timing, op_count
from ttc.passes.base import Pass, Unit
from ttc.passes.manager import run_stage


def test_stages_and_passes(unit: Unit, passes: dict[str, Pass]) -> None:
    timing = Timing()
    run_stage("nn", [passes["mark"], passes["nothing"]], unit, [timing])
    run_stage("tile", [passes["nothing"]], unit, [timing])
    assert [(t.stage, t.ops, [p.name for p in t.passes]) for t in timing.stages] == [
        ("nn", 1, ["mark", "nothing"]),
        ("tile", 1, ["nothing"]),
    ]
    assert [p.rewrites for p in timing.stages[0].passes] == [{"mark": 1}, {}]
    assert all(t.seconds >= sum(p.seconds for p in t.passes) > 0 for t in timing.stages)


def test_ops_are_those_that_compute(unit: Unit) -> None:
    assert op_count(unit) == 1
    assert StageTime("nn", 4, 2e-3).microseconds_per_op == 500
