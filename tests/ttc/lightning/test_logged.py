"""Values that steps log with `sync_dist` are reduced over processes; each process has a trace, which are one."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.ttc.dist.started import started

WHOLE = pytest.mark.skipif("DISTRIBUTED" not in os.environ, reason="20 seconds in two processes: make test-distributed")


@WHOLE
def test_two_processes_log_and_trace(tmp_path: Path) -> None:
    status, printed = started("../lightning/logged.py", 2, str(tmp_path))
    assert status == 0, printed
    assert [f"process {rank} is right" in printed for rank in range(2)] == [True, True]
