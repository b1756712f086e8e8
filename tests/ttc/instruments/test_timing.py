"""Times of stages and passes."""

from __future__ import annotations

import json

from ttc.instruments.timing import PassTime, StageTime, TimeRow, Timing, time_tree, trace_text
from ttc.passes.base import Pass, Unit
from ttc.passes.manager import run_stage

STAGES = [StageTime("nn", 3, 0.5, (PassTime("a", 0.1, 0.25, {"fold": 2}, {"read": 0.125}, 4, 3),)), StageTime("tile", 3, 0.25, (), 0.5)]


def test_stages_and_passes(unit: Unit, passes: dict[str, Pass]) -> None:
    timing = Timing(count_ops=True)
    run_stage("nn", [passes["mark"], passes["nothing"]], unit, [timing])
    run_stage("tile", [passes["nothing"]], unit, [timing])
    assert [(t.stage, t.ops, [p.name for p in t.passes]) for t in timing.stages] == [
        ("nn", 1, ["mark", "nothing"]),
        ("tile", 1, ["nothing"]),
    ]
    assert [(p.rewrites, p.ops_before, p.ops_after) for p in timing.stages[0].passes] == [({"mark": 1}, 1, 1), ({}, 1, 1)]
    assert all(t.seconds >= sum(p.seconds for p in t.passes) > 0 for t in timing.stages)
    first, second = timing.stages
    assert second.start == first.start + first.seconds


def test_the_tree_adds_up() -> None:
    assert list(time_tree(STAGES)) == [
        TimeRow(0, "nn", 0.25, 0.5, 4, 3),
        TimeRow(1, "a", 0.125, 0.25, 4, 3),
        TimeRow(2, "read", 0.125, 0.125),
        TimeRow(0, "tile", 0.25, 0.25, 3, 3),
    ]
    assert [row.microseconds_per_op for row in time_tree(STAGES)][:3] == [125_000, 62_500, None]


def test_the_trace_has_an_event_for_each() -> None:
    events = json.loads(trace_text(STAGES))["traceEvents"]
    assert [(e["name"], e["cat"], e["ph"], e["ts"], e["dur"]) for e in events] == [
        ("nn", "stage", "X", 0.0, 500_000.0),
        ("a", "pass", "X", 100_000.0, 250_000.0),
        ("read", "part", "X", 100_000.0, 125_000.0),
        ("tile", "stage", "X", 500_000.0, 250_000.0),
    ]
    assert events[1]["args"] == {"ops_before": 4, "ops_after": 3, "fold": 2}


def test_ops_are_those_that_compute(unit: Unit) -> None:
    assert unit.op_count() == 1
    assert StageTime("nn", 4, 2e-3).microseconds_per_op == 500
