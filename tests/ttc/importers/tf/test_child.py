"""The process in which TensorFlow works ends with the one that waits for it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[4]
CHILD = """
import os, sys, time
from ttc.importers.tf.child import _end_with_parent
os.environ["TTC_CHILD_OF"] = sys.argv[1]
_end_with_parent()
print(os.getpid(), flush=True)
time.sleep(600)
"""
PARENT = """
import os, subprocess, sys
child = subprocess.Popen([sys.executable, "-c", sys.argv[1], str(os.getpid())], start_new_session=True)
child.wait()
"""


def is_there(pid: int) -> bool:
    """Whether a process lives: one that ended and was not waited for does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_it_ends_with_its_parent(number: signal.Signals) -> None:
    parent = subprocess.Popen([sys.executable, "-c", PARENT, CHILD], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    child = int(parent.stdout.readline())
    assert is_there(child)
    parent.send_signal(number)
    parent.wait(60)
    end = time.monotonic() + 60
    while is_there(child) and time.monotonic() < end:
        time.sleep(0.01)
    assert not is_there(child)
    parent.communicate(timeout=60)


def test_a_parent_that_ended_before() -> None:
    found = subprocess.run([sys.executable, "-c", CHILD, str(os.getppid())], cwd=ROOT, capture_output=True, timeout=60, check=False)
    assert (found.returncode, found.stdout) == (1, b"")
