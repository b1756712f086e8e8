"""What tests share of their process."""

from __future__ import annotations

import gc
import os
import subprocess
from pathlib import Path

import pytest

from tests.conftest import same_environment


def test_variables_are_changed_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TTC_TESTS_CHANGED", "old")
    monkeypatch.setenv("TTC_TESTS_REMOVED", "old")
    before = dict(os.environ)
    with same_environment():
        os.environ.update(TTC_TESTS_CHANGED="new", TTC_TESTS_ADDED="new")
        del os.environ["TTC_TESTS_REMOVED"]
    assert dict(os.environ) == before


def test_garbage_is_searched_for_in_what_tests_make() -> None:
    """What collection left, which lives on, is out of it."""
    assert gc.isenabled()
    assert gc.get_freeze_count() > 10_000


def test_tests_of_several_processes_are_run_by_their_target() -> None:
    """A file whose tests ask for DISTRIBUTED lies in what `make test-distributed` runs."""
    root = Path(__file__).resolve().parent.parent
    command = subprocess.run(["make", "-n", "-o", ".venv/.test", "test-distributed"], cwd=root, capture_output=True, text=True, check=True)
    (line,) = [line for line in command.stdout.splitlines() if "pytest" in line]  # make says more where another make began it
    run = [root / word for word in line.split() if word.startswith("tests/")]
    asking = [path for path in (root / "tests" / "ttc").rglob("test_*.py") if '"DISTRIBUTED" not in os.environ' in path.read_text()]
    assert len(asking) > 5
    assert [path for path in asking if not any(path.is_relative_to(place) for place in run)] == []
