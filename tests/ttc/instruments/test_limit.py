"""Rewrites up to a limit."""

from __future__ import annotations

import pytest

from ttc.instruments.limit import RewriteLimit
from ttc.passes.base import Pass, Unit
from ttc.passes.manager import run_stage


@pytest.mark.parametrize(
    ("limit", "marks", "said"),
    [
        (0, 0, "no rewrite happened"),
        (1, 1, "last rewrite 1: mark@1 (stage nn): mark at /Relu: %"),
        (9, 3, "all 3 rewrites happened"),
    ],
)
def test_rewrites_after_the_limit_are_refused(unit: Unit, passes: dict[str, Pass], limit: int, marks: int, said: str) -> None:
    lines: list[str] = []
    watcher = RewriteLimit(limit, lines.append)
    reports = run_stage("nn", [passes["mark"]] * 3, unit, [watcher])
    watcher.finish()
    assert sum(report.rewrites["mark"] for report in reports) == marks
    assert watcher.count == 3
    assert [line[: len(said)] for line in lines] == [said]
