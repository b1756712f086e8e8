"""Pipelines in processes train as one process does; the rest of the matrix is `make test-distributed`."""

from __future__ import annotations

import os

import pytest

from tests.ttc.dist.started import started

WHOLE = pytest.mark.skipif("DISTRIBUTED" not in os.environ, reason="minutes: make test-distributed")


def equal(processes: int, *arguments: str) -> None:
    status, printed = started("equal.py", processes, *arguments)
    assert status == 0, printed
    assert [f"process {rank} is equal" in printed for rank in range(processes)] == [True] * processes


def test_two_processes_equal_one() -> None:
    equal(2, "--pipe", "2", "--tied", "--cut", "--interleaved")


def test_a_process_that_hangs_is_named() -> None:
    status, printed = started("failing.py", 2, "hangs")
    assert status == 1
    assert "E0811" in printed
    assert "process 1 has ended or hangs in step 3" in printed


@WHOLE
@pytest.mark.parametrize("how", ["killed", "raises"])
def test_a_process_that_fails_is_named(how: str) -> None:
    status, printed = started("failing.py", 2, how)
    assert status == 1
    wanted = {"killed": "Signal 9 (SIGKILL) received", "raises": "there is no third step"}
    assert wanted[how] in printed
    assert "rank      : 1 (local_rank: 1)" in printed


@WHOLE
@pytest.mark.parametrize(("processes", "pipe"), [(1, 1), (2, 1), (2, 2), (3, 3), (4, 4), (4, 2)])
def test_processes_equal_one(processes: int, pipe: int) -> None:
    equal(processes, "--pipe", str(pipe), "--ways", "uniform", "cost", "--microbatches", "1", "2", "4", "8")


@WHOLE
def test_three_processes_share_parameters() -> None:
    equal(3, "--pipe", "3", "--microbatches", "2", "--tied")
