"""`ttc netlist` and its subcommands."""

from __future__ import annotations

import pytest

from ttc.cli import main


def test_subcommands(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["netlist", "--help"]) == 0
    out = capsys.readouterr().out
    commands = [line.split()[0] for line in out.partition("Commands:\n")[2].splitlines() if line.startswith("  ") and line[2] != " "]
    assert commands == ["check", "run", "fmt"]


def test_an_unknown_subcommand(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["netlist", "chekc", "a.yaml"]) == 2
    assert capsys.readouterr().err == "error[E0101]: there is no command 'netlist chekc'\nhint: did you mean 'check'?\n"
