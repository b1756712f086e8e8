"""Counters of rewrites."""

from __future__ import annotations

from ttc.instruments.statistics import Statistics
from ttc.passes.base import Pass, Unit
from ttc.passes.manager import run_stage


def test_runs_of_a_pass_add_up_within_a_stage(unit: Unit, passes: dict[str, Pass]) -> None:
    statistics = Statistics()
    run_stage("nn", [passes["mark"], passes["nothing"], passes["mark"]], unit, [statistics])
    run_stage("tile", [passes["mark"]], unit, [statistics])
    assert statistics.rows() == [("nn", "mark", "mark", 2), ("tile", "mark", "mark", 1)]
