"""The text of one stage, for exports of archives."""

from __future__ import annotations

from ttc.dialects.core.ir.entries import module_attr, set_module_attr
from ttc.instruments.stage_text import StageText
from ttc.passes.base import Pass, Unit
from ttc.passes.manager import run_stage


def test_one_stage_without_options_and_target(unit: Unit, passes: dict[str, Pass]) -> None:
    set_module_attr(unit.module, "options", {"target": "host"})
    set_module_attr(unit.module, "target", {"name": "chip"})
    text = StageText("nn")
    run_stage("nn", [passes["mark"]], unit, [text])
    kept = text.text
    run_stage("tile", [passes["mark"]], unit, [text])
    assert text.text == kept
    assert kept.startswith("builtin.module")
    assert "ttc.options" not in kept
    assert "ttc.target" not in kept
    assert module_attr(unit.module, "options") == {"target": "host"}
    assert module_attr(unit.module, "target") == {"name": "chip"}
