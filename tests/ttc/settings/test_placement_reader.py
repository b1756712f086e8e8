"""Rules of placement from files, tables and texts, and in the options of a compilation."""

from __future__ import annotations

from pathlib import Path

import pytest

from ttc.dialects.core.errors import Error
from ttc.dialects.core.rules.placement import PlacementRule
from ttc.dialects.core.rules.queues import QueueRule
from ttc.options import CompileOptions, resolve
from ttc.settings.placement_reader import read_placement

FILE = """
[[placement]]
name = "/layer1/*"
epoch_break = true

[[placement]]
queue = "x"
location = "host"
"""
RULES = (PlacementRule(name="/layer1/*", epoch_break=True), QueueRule("x", "host"))


def test_a_file(tmp_path: Path) -> None:
    path = tmp_path / "p.toml"
    path.write_text(FILE)
    assert read_placement(path) == RULES
    assert resolve(CompileOptions, {"placement_file": str(path)}).placement_file == RULES


def test_tables_beside_those_of_commands() -> None:
    config = {"placement": [{"name": "/layer1/*", "epoch_break": True}, {"queue": "x", "location": "host"}]}
    assert resolve(CompileOptions, {}, {}, config).placement_file == RULES


def test_rules_and_effort_are_recorded_and_come_back() -> None:
    options = resolve(CompileOptions, {"placement_file": RULES, "effort": 0})
    recorded = options.recorded()
    assert recorded["placement_file"] == ("'name=/layer1/*' epoch_break=true", "queue=x location=host")
    assert recorded["effort"] == 0
    assert read_placement(recorded["placement_file"]) == RULES
    assert "effort" not in resolve(CompileOptions, {}).recorded()


def test_a_file_with_other_tables(tmp_path: Path) -> None:
    path = tmp_path / "p.toml"
    path.write_text("[[placment]]\nname = 'a'\n")
    with pytest.raises(Error, match="no table 'placment'") as caught:
        read_placement(path)
    assert caught.value.code == "E0101"
    path.write_text("placement = 3\n")
    with pytest.raises(Error, match="no array of tables"):
        read_placement(path)
    path.write_text("[[placement]]\nname = 'a'\ngrid = 'x'\n")
    with pytest.raises(Error, match="'grid' takes") as caught:
        read_placement(path)
    assert str(path) in str(caught.value.where)


def test_too_many() -> None:
    with pytest.raises(ValueError, match="at most"):
        read_placement(["name=a epoch_break=true"] * 5000)
