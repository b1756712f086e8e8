"""Which pass is running."""

from __future__ import annotations

from ttc.instruments.progress import PassProgress
from ttc.passes.base import Pass, Unit
from ttc.passes.manager import run_stage


def test_lines(unit: Unit, passes: dict[str, Pass]) -> None:
    lines: list[str] = []
    run_stage("nn", [passes["mark"]], unit, [PassProgress(lines.append)])
    assert lines == ["compiling: mark", "compiling: stage nn done"]
