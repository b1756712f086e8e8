"""Pipelines in processes train as one process does; the rest of the matrix is `make test-distributed`."""

from __future__ import annotations

import os

import pytest
from torch import nn

from tests.ttc.dist.started import started
from ttc.dialects.core.errors import Error
from ttc.dist import Mesh, Runner
from ttc.dist.sharding import Sharding

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


def test_a_dimension_that_is_for_no_stages(alone: Mesh, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Mesh, "size", lambda _, dimension: 2 if dimension == "shard" else 1)
    with pytest.raises(Error, match="E0101") as caught:
        Runner(stages=[nn.Linear(2, 2)], mesh=alone, loss=None)
    assert "Runner(shard=)" in str(caught.value.hint)


def test_a_parameter_of_two_stages_is_not_cut(alone: Mesh, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Sharding, "is_cut", lambda *_: True)
    first, second = nn.Linear(2, 2), nn.Linear(2, 2)
    second.bias = first.bias
    with pytest.raises(Error, match="'bias' of stage 1 of this process is 'bias' of another") as caught:
        Runner(stages=[first, second], mesh=alone, loss=None, schedule="interleaved", shard=2)
    assert caught.value.code == "E0101"
