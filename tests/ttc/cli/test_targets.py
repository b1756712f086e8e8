"""`ttc targets`."""

from __future__ import annotations

import json

import pytest

from ttc.cli import main


def test_targets(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["targets"]) == 0
    captured = capsys.readouterr()
    rows = {line.split()[0]: line for line in captured.out.splitlines()[1:]}
    assert list(rows)[:7] == ["e150", "e75", "host", "n150", "n300", "p100", "p150"]
    assert "wormhole_b0" in rows["n150"]
    assert "9 x 8" in rows["n150"]
    assert "10 x 14" in rows["p150"]
    assert "1.35 GHz" in rows["p150"]
    assert "n300: 2 chips, of which a program uses one" in captured.out
    assert captured.err == ""


def test_targets_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["targets", "--json"]) == 0
    found = {target["name"]: target for target in json.loads(capsys.readouterr().out)}
    assert found["host"]["grid"] is None
    assert found["n150"]["grid"] == [9, 8]
    assert (found["n300"]["chips"], found["n300"]["used_chips"], found["n300"]["cores"]) == (2, 1, 64)
    assert found["e150"]["wide_accumulation"] is False
