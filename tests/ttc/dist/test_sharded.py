"""Models that processes share train as in one process; options that cannot be are errors."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import torch
from torch import nn

from tests.ttc.dist.started import started
from ttc.dialects.core.errors import Error
from ttc.dist import Mesh, shard

WHOLE = pytest.mark.skipif("DISTRIBUTED" not in os.environ, reason="minutes: make test-distributed")


def equal(processes: int, *cases: str) -> None:
    status, printed = started("sharded.py", processes, *cases)
    assert status == 0, printed
    assert [f"process {rank} is equal" in printed for rank in range(processes)] == [True] * processes


def test_two_processes_equal_one() -> None:
    equal(2, "plain")


@WHOLE
@pytest.mark.parametrize(
    ("processes", "case"), [(2, "units"), (2, "hybrid"), (3, "plain"), (4, "hybrid"), (4, "pipelines"), (4, "hooked"), (6, "tied")]
)
def test_processes_equal_one(processes: int, case: str) -> None:
    equal(processes, case)


@pytest.mark.parametrize(
    "options",
    [{"stage": 4}, {"stage": True}, {"stage": "1"}, {"offload": "/nowhere/at/all"}, {"units": ("Linear",)}, {"precision": "float8"}],
)
def test_options_that_cannot_be(alone: Mesh, options: dict[str, object]) -> None:
    with pytest.raises(Error, match="E0101"):
        shard(nn.Linear(2, 2), mesh=alone, target=None, **options)  # pyright: ignore[reportArgumentType]


def test_one_process_has_all(alone: Mesh, tmp_path: Path) -> None:
    """States lie in files that have no names, and numbers are PyTorch's."""
    torch.manual_seed(1)
    plain, model = nn.Linear(3, 2), nn.Linear(3, 2)
    model.load_state_dict(plain.state_dict())
    sharded = shard(model, mesh=alone, stage=3, offload=tmp_path, target=None)
    optimizers = [torch.optim.AdamW(plain.parameters(), 0.1), sharded.optimizer(torch.optim.AdamW(model.parameters(), 0.1))]
    for _ in range(3):
        for module, optimizer in zip((plain, sharded), optimizers, strict=True):
            optimizer.zero_grad()
            module(torch.ones(4, 3)).square().sum().backward()
            optimizer.step()
    assert torch.equal(plain.weight, model.weight)
    assert f"{tmp_path}/ttc-states-" in Path("/proc/self/maps").read_text()
    assert list(tmp_path.iterdir()) == []


def test_an_optimizer_that_has_done_a_step(alone: Mesh) -> None:
    model = nn.Linear(3, 2)
    sharded = shard(model, mesh=alone, target=None)
    optimizer = torch.optim.AdamW(model.parameters(), 0.1)
    sharded(torch.ones(1, 3)).sum().backward()
    optimizer.step()
    with pytest.raises(Error, match="E0101"):
        sharded.optimizer(optimizer)
