"""A fit that SIGKILL ends goes on from Lightning's checkpoint to the weights of one that nobody ended."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from tests.ttc.dist.started import ROOT, started
from tests.ttc.lightning.resuming import EPOCHS
from tests.ttc.lightning.sharing import alone

WHOLE = pytest.mark.skipif("DISTRIBUTED" not in os.environ, reason="minutes: make test-distributed")
KILLED = 5
"""The update in which the process ends, in the second epoch; in the midst of one Lightning would read a loader from its start again."""


def compare(folder: Path) -> None:
    found = torch.load(folder / "found.pt", weights_only=True)
    wanted, _ = alone(EPOCHS)
    for name, value in wanted.state_dict().items():
        torch.testing.assert_close(found[name], value, rtol=1e-4, atol=1e-5, msg=lambda text, name=name: f"{name}: {text}")


def run(folder: Path, update: int) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(Path(__file__).with_name("resuming.py")), str(folder), str(update), "1"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)


def test_a_process_that_is_killed_goes_on(tmp_path: Path) -> None:
    killed = run(tmp_path, KILLED)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert "begins with a checkpoint: False" in killed.stdout
    assert not (tmp_path / "found.pt").exists()
    whole = run(tmp_path, -1)
    assert whole.returncode == 0, whole.stderr
    assert "begins with a checkpoint: True" in whole.stdout
    assert "has ended after update 9" in whole.stdout
    compare(tmp_path)


@WHOLE
@pytest.mark.parametrize("stage", ["1", "3"])
def test_one_of_two_processes_that_share_is_killed(tmp_path: Path, stage: str) -> None:
    status, printed = started("../lightning/resuming.py", 2, str(tmp_path), str(KILLED), stage, restarts=1)
    assert status == 0, printed
    assert [printed.count(f"begins with a checkpoint: {there}") for there in (False, True)] == [2, 2]
    compare(tmp_path)
