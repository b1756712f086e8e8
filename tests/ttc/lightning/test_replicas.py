"""Lightning's ddp reduces the gradients of compiled steps: two processes train as PyTorch's steps do in two, and as one process."""

from __future__ import annotations

import os

import pytest

from tests.ttc.dist.started import started

WHOLE = pytest.mark.skipif("DISTRIBUTED" not in os.environ, reason="20 seconds in two processes: make test-distributed")


@WHOLE
def test_two_processes_equal_one() -> None:
    status, printed = started("../lightning/replicas.py", 2)
    assert status == 0, printed
    assert [f"process {rank} is equal" in printed for rank in range(2)] == [True, True]
