"""`ttc passes`."""

from __future__ import annotations

import pytest

from ttc.cli import main
from ttc.passes.pipeline_text import all_passes, read_pipeline


def test_passes(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["passes"]) == 0
    lines = capsys.readouterr().out.splitlines()
    stages = [line.split()[0] for line in lines[1:]]
    assert list(dict.fromkeys(stages)) == ["nn", "tile", "netlist"]
    fused = next(line for line in lines if " fuse-bias " in line)
    assert "Fold an add of a per-channel constant" in fused


def test_every_pass_with_its_options(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["passes", "--all"]) == 0
    lines = capsys.readouterr().out.splitlines()[1:]
    assert [line.split()[0] for line in lines] == list(all_passes())
    balance = next(line for line in lines if line.startswith("balance "))
    assert balance.split()[1:3] == ["netlist", "netlist"]
    assert "effort: whole number = 1; rules: list of rule = []" in balance


def test_one_pass(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["passes", "stream-batch"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("stream-batch: takes IR of stage nn, gives IR of stage tile\noptions: samples: whole number or none = none; ")
    assert "Before:" in out
    assert main(["passes", "stream-bath"]) == 2
    assert "did you mean 'stream-batch'?" in capsys.readouterr().err


def test_the_pipeline_as_text(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["passes", "--pipeline", "--format", "Bfp8_b", "--target", "host"]) == 0
    text = capsys.readouterr().out.strip()
    assert "assign-formats{format=Bfp8_b}" in text
    assert len(read_pipeline(text, {})) > 30


def test_unknown_target(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["passes", "--target", "n151"]) == 2
    assert capsys.readouterr().err == "error[E0101]: there is no target 'n151'\nhint: did you mean 'n150'?\n"
