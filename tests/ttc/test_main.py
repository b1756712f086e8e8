"""The process of a command: its status, and what it asks of Python's collector."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CODE = """
import gc, sys
from ttc.__main__ import status_of
from ttc.process.interrupts import Interrupts
sys.argv = ["ttc", *sys.argv[1:]]
status = status_of(Interrupts())
print(status, gc.get_threshold()[0])
"""


def ended(*arguments: str) -> str:
    """The last line of a process: status, threshold."""
    found = subprocess.run([sys.executable, "-c", CODE, *arguments], capture_output=True, text=True, cwd=ROOT, check=True)
    return found.stdout.splitlines()[-1]


def test_status_and_collector() -> None:
    assert ended("--version") == "0 100000"


def test_errors_keep_their_status() -> None:
    assert ended("explain", "E9999") == "2 100000"
