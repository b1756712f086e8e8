"""Strategies that share states, gradients and parameters train as one process does, and reload; options that cannot be are errors."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
import torch
from lightning.pytorch import LightningModule
from torch import nn
from torch.distributed.fsdp import ShardingStrategy

from tests.ttc.dist.started import started
from tests.ttc.lightning.modules import SmallGPT, texts, trainer
from ttc.dialects.core.errors import Error
from ttc.lightning import ShardedStrategy

WHOLE = pytest.mark.skipif("DISTRIBUTED" not in os.environ, reason="minutes: make test-distributed")


def equal(folder: Path, processes: int, *cases: str) -> None:
    status, printed = started("../lightning/sharing.py", processes, str(folder), *cases)
    assert status == 0, printed
    assert [f"process {rank} is equal" in printed for rank in range(processes)] == [True] * processes


def test_two_processes_equal_one(tmp_path: Path) -> None:
    equal(tmp_path, 2, "parameters")


@WHOLE
@pytest.mark.parametrize(
    ("processes", "cases"),
    [(2, ("nothing", "states", "gradients")), (2, ("full", "grad_op", "host", "no", "config")), (3, ("parameters",)), (4, ("hybrid",))],
)
def test_processes_equal_one(tmp_path: Path, processes: int, cases: tuple[str, ...]) -> None:
    equal(tmp_path, processes, *cases)


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"stage": 4}, "E0101"),
        ({"stage": 1, "sharding": "FULL_SHARD"}, "E0101"),
        ({"sharding": "HALF_SHARD"}, "E0101"),
        ({"sharding": "FULL_SHARD", "group": 2}, "E0101"),
        ({"offload": "/nowhere/at/all"}, "E0101"),
        ({"recompute": ("Block",)}, "E0101"),
        ({"stage": 2, "config": {}}, "E0101"),
        ({"config": "/nowhere/at/all.json"}, "E0102"),
    ],
)
def test_options_that_cannot_be(options: dict[str, Any], code: str) -> None:
    with pytest.raises(Error) as caught:
        ShardedStrategy(**options)
    assert caught.value.code == code


def test_names_of_fsdp_are_stages() -> None:
    names = ["full_shard", "Shard_Grad_Op", "HYBRID_SHARD", ShardingStrategy.NO_SHARD]
    assert [ShardedStrategy(sharding=name).stage for name in names] == [3, 2, 3, 0]
    assert ShardedStrategy().stage == 1


class Ended(LightningModule):
    """A model of one layer that leaves its optimizer to a configuration."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(2)
        self.layer = nn.Linear(3, 1)

    def training_step(self, batch: Any, batch_idx: int) -> torch.Tensor:
        return self.layer(batch).square().mean()

    def configure_optimizers(self) -> None:
        return None


def test_one_process_takes_the_optimizer_and_rates_of_a_config() -> None:
    params = {"warmup_min_lr": 0.1, "warmup_max_lr": 0.3, "warmup_num_steps": 2, "warmup_type": "linear", "total_num_steps": 4}
    config = {
        "optimizer": {"type": "SGD", "params": {"lr": 0.5}},
        "scheduler": {"type": "WarmupDecayLR", "params": params},
        "zero_optimization": {"stage": 1},
    }
    model, alone, batches = Ended(), Ended(), list(torch.randn(4, 2, 3, generator=torch.Generator().manual_seed(3)))
    data = torch.utils.data.DataLoader(batches, batch_size=None)
    trainer("ttc", strategy=ShardedStrategy(config=config), max_epochs=1, use_distributed_sampler=False).fit(model, data)
    for x, rate in zip(batches, (0.1, 0.2, 0.3, 0.2), strict=True):
        alone.zero_grad()
        alone.training_step(x, 0).backward()
        with torch.no_grad():
            for parameter in alone.parameters():
                parameter -= rate * parameter.grad
    torch.testing.assert_close(model.layer.weight, alone.layer.weight)
    torch.distributed.destroy_process_group()


def test_what_a_config_and_a_trainer_say_is_compared(rng: Any) -> None:
    config = {"train_batch_size": 8, "train_micro_batch_size_per_gpu": 2}
    with pytest.raises(Error, match="8 rows of an update are not 2 rows of a batch x 2 batches x 1 processes") as caught:
        trainer("ttc", strategy=ShardedStrategy(config=config), accumulate_grad_batches=2).fit(SmallGPT(), texts(rng))
    assert caught.value.code == "E0101"
    torch.distributed.destroy_process_group()
