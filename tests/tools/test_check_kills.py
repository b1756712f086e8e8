"""`tools/check_kills.py`: what it calls broken, and different; `make check-kills` kills."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="PyTorch has no wheel for this Python")
from tools import check_kills
from tools.check_kills import broken_checkpoints, command, differences, killed, write_files


def test_a_run_that_is_killed_at_once_and_one_that_lost_a_checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check_kills, "EPOCHS", 2)
    write_files(tmp_path)
    assert killed(command(tmp_path, "whole"), 0)
    for name in ("whole", "other"):
        subprocess.run(command(tmp_path, name), check=True)
    assert differences(tmp_path, "other") == []
    newest = max((tmp_path / "other").iterdir())
    assert broken_checkpoints(tmp_path / "other") == []
    newest.write_bytes(newest.read_bytes()[:-1])
    assert broken_checkpoints(tmp_path / "other") == [newest.name]
    newest.unlink()
    shutil.copy(tmp_path / "m.tti", tmp_path / "other.tti")
    found = differences(tmp_path, "other")
    assert {"0.weight", "optimizer.step", "files in its folder"} <= set(found)
