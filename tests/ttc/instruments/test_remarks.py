"""Remarks as text."""

from __future__ import annotations

from ttc.instruments.remarks import Remarks, remark_text
from ttc.passes.base import Pass, Remark, Unit
from ttc.passes.manager import run_stage


def test_lines(unit: Unit, passes: dict[str, Pass]) -> None:
    lines: list[str] = []
    run_stage("nn", [passes["mark"]], unit, [Remarks(lines.append)])
    assert lines == ["remark: /Relu: mark: applied: marked times=1"]


def test_several_sources() -> None:
    assert remark_text(Remark("missed", "p", ("a", "b", "c"), "why")) == "remark: a (+2): p: missed: why"
