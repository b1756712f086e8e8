"""The IR before and after passes."""

from __future__ import annotations

import pytest

from ttc.instruments.base import PassPattern
from ttc.instruments.printing import Printing
from ttc.passes.base import Pass, Unit
from ttc.passes.manager import run_stage


def printed(unit: Unit, passes: list[Pass], before: str = "", after: str = "", **more: bool) -> list[str]:
    lines: list[str] = []
    patterns = [[PassPattern(text)] if text else [] for text in (before, after)]
    run_stage("nn", passes, unit, [Printing(lines.append, *patterns, **more)])
    return lines


def test_a_pass_that_changed_something_is_printed_and_others_are_named(unit: Unit, passes: dict[str, Pass]) -> None:
    changed, same = printed(unit, [passes["mark"], passes["nothing"]], after="*")
    assert changed.splitlines()[0] == "// ---- after mark@1 (stage nn)"
    assert 'mark = "marked"' in changed
    assert "/Relu" not in changed
    assert same == "// ---- after nothing@1 (stage nn): no change"


def test_before_one_run_of_several_with_locations(unit: Unit, passes: dict[str, Pass]) -> None:
    (text,) = printed(unit, [passes["nothing"]] * 3, before="nothing@2", locations=True)
    assert text.splitlines()[0] == "// ---- before nothing@2 (stage nn)"
    assert 'loc("/Relu")' in text


def test_unchanged_on_request_and_stages_as_patterns(unit: Unit, passes: dict[str, Pass]) -> None:
    assert [text.splitlines()[0] for text in printed(unit, [passes["nothing"]], after="nn", unchanged=True)] == [
        "// ---- after nothing@1 (stage nn)"
    ]
    assert printed(unit, [passes["nothing"]], after="tile", unchanged=True) == []


def test_where_a_pass_failed(unit: Unit, passes: dict[str, Pass]) -> None:
    lines: list[str] = []
    with pytest.raises(ValueError, match="failed"):
        run_stage("nn", [passes["fail"]], unit, [Printing(lines.append, [], [PassPattern("fail")])])
    assert [line.splitlines()[0] for line in lines] == ["// ---- failed in fail@1 (stage nn)"]
