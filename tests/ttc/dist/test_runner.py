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


@WHOLE
@pytest.mark.parametrize(("processes", "pipe"), [(1, 1), (2, 1), (2, 2), (3, 3), (4, 4), (4, 2)])
def test_processes_equal_one(processes: int, pipe: int) -> None:
    equal(processes, "--pipe", str(pipe), "--ways", "uniform", "cost", "--microbatches", "1", "2", "4", "8")


@WHOLE
def test_three_processes_share_parameters() -> None:
    equal(3, "--pipe", "3", "--microbatches", "2", "--tied")
