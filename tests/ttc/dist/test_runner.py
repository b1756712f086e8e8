"""Pipelines in processes train as one process does; the rest of the matrix is `make test-distributed`."""

from __future__ import annotations

import os

import pytest
import torch
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


@pytest.mark.parametrize("cut", [False, True])
def test_stages_keep_their_modes(alone: Mesh, monkeypatch: pytest.MonkeyPatch, cut: bool) -> None:
    """A batch norm that is not to learn is in evaluation in a step, too; one that learns counts its microbatches."""
    monkeypatch.setattr(Sharding, "is_cut", lambda *_: cut)
    torch.manual_seed(2)
    model = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Sequential(nn.BatchNorm1d(4), nn.Dropout()), nn.Linear(4, 2))
    frozen, learning = model[1], model.get_submodule("2.0")
    frozen.eval()
    runner = Runner(model, mesh=alone, loss=nn.MSELoss(), microbatches=2, target=None)
    for call in (lambda x: runner.step(x, target=torch.zeros(8, 2)), runner.eval):
        call(torch.randn(8, 4))
        assert [module.training for module in model] == [True, False, True, True]
        assert frozen.get_buffer("running_mean").tolist() == [0] * 4
        assert int(learning.get_buffer("num_batches_tracked")) == 2


def test_batch_norms_see_microbatches(alone: Mesh) -> None:
    """In training each microbatch has its own mean, so that what a step gives is not what the whole batch gives; in evaluation it is."""
    torch.manual_seed(3)
    norm, x = nn.BatchNorm1d(4, momentum=0.5), torch.randn(8, 4) + torch.arange(8.0)[:, None]
    runner = Runner(nn.Sequential(norm, nn.Linear(4, 2)), mesh=alone, loss=nn.MSELoss(), microbatches=2, target=None)
    outputs = runner.step(x, target=torch.zeros(8, 2)).outputs
    first, second = (rows.mean(0) for rows in x.chunk(2))
    torch.testing.assert_close(norm.running_mean, first / 4 + second / 2)
    layer = runner.stages[0]
    whole = layer(x)
    assert float((outputs - whole.detach()).abs().max()) > 0.1
    layer.eval()
    with torch.no_grad():
        torch.testing.assert_close(runner.eval(x), layer(x))
