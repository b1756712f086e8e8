"""`ttc passes`."""

from __future__ import annotations

import pytest

from ttc.cli import main


def test_passes(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["passes"]) == 0
    lines = capsys.readouterr().out.splitlines()
    stages = [line.split()[0] for line in lines[1:]]
    assert list(dict.fromkeys(stages)) == ["nn", "tile", "netlist"]
    fused = next(line for line in lines if " fuse-bias " in line)
    assert "Fold an add of a per-channel constant" in fused


def test_unknown_target(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["passes", "--target", "n151"]) == 2
    assert capsys.readouterr().err == "error[E0101]: there is no target 'n151'\nhint: did you mean 'n150'?\n"
