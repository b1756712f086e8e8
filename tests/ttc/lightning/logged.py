"""A script for two processes: what steps log is reduced over processes as in PyTorch, each process has a trace, and statistics."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import torch
from lightning.pytorch import LightningModule
from torch import distributed, nn
from torch.utils.data import DataLoader, TensorDataset

from tests.ttc.dist.started import end
from tests.ttc.lightning.modules import trainer
from ttc.lightning import ShardedStrategy, TTCAccelerator, TTCProfiler
from ttc.profiler import merge

VALUES = (42.0, 43.0, 44.0)
"""What each process logs in the steps of an epoch."""


class Logged(LightningModule):
    """Logs a number in each way in which values are reduced, and a number of its own."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.net = nn.Linear(4, 2)

    def training_step(self, batch: Any, batch_idx: int) -> torch.Tensor:
        both = {"on_step": True, "on_epoch": True, "sync_dist": True}
        self.log("sum", VALUES[batch_idx % 3], reduce_fx="sum", **both)
        self.log("max", VALUES[batch_idx % 3], reduce_fx="max", **both)
        self.log("min", VALUES[batch_idx % 3], reduce_fx="min", **both)
        self.log("mean", VALUES[batch_idx % 3], reduce_fx="mean", **both)
        self.log("rank", float(self.global_rank), on_epoch=True, on_step=False, sync_dist=True, reduce_fx="mean")
        self.log("count", torch.tensor(self.global_rank + 2), on_epoch=True, on_step=False, sync_dist=True, reduce_fx="sum")
        return self.net(batch[0]).square().mean()

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.SGD(self.parameters(), 0.01)


def logged(folder: Path, strategy: Any) -> None:
    world = int(os.environ["WORLD_SIZE"])
    data = DataLoader(TensorDataset(torch.randn(6, 4)), 2)
    options = {"max_epochs": 1, "devices": world, "strategy": strategy, "use_distributed_sampler": False, "log_every_n_steps": 1}
    runs = trainer(TTCAccelerator(fallback=False), **options)
    runs.fit(Logged(), data)
    found = {name: float(value) for name, value in runs.callback_metrics.items()}
    step = {"sum_step": VALUES[-1] * world, "max_step": VALUES[-1], "min_step": VALUES[-1], "mean_step": VALUES[-1]}
    epoch = {"sum_epoch": sum(VALUES) * world, "max_epoch": VALUES[-1], "min_epoch": VALUES[0], "mean_epoch": VALUES[1]}
    own = {"rank": (world - 1) / 2, "count": 3 * sum(rank + 2 for rank in range(world))}
    wanted = {**step, **epoch, **own}
    assert {name: found[name] for name in wanted} == wanted, found


def profiled(folder: Path) -> None:
    """Each process has a trace and a report under its number, and traces are one file with a process for each."""
    rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    profiler = TTCProfiler(folder, "perf-logs")
    runs = trainer(TTCAccelerator(fallback=False), max_epochs=1, devices=world, strategy="ddp", profiler=profiler)
    runs.fit(Logged(), DataLoader(TensorDataset(torch.randn(24, 4)), 2))
    distributed.barrier()
    reports = sorted(path.name for path in folder.glob("fit-perf-logs*.txt"))
    assert reports == ["fit-perf-logs-0.txt", "fit-perf-logs-1.txt"], reports
    traces = sorted(folder.glob("*training_step*.pt.trace.json"))
    assert len(traces) == world, traces
    if rank == 0:
        events = merge(traces)["traceEvents"]
        assert {event["pid"] for event in events if event.get("cat") == "job"} == {0, 1}
    stats = runs.accelerator.get_device_stats(runs.strategy.root_device)
    assert {"runs", "compilations", "arena_bytes", "sessions"} <= set(stats), sorted(stats)
    assert stats["runs"] > 0
    assert all(isinstance(value, float | int) for value in stats.values())


def main() -> None:
    folder = Path(sys.argv[1])
    logged(folder, "ddp")
    logged(folder, ShardedStrategy(stage=3))
    profiled(folder)
    print(f"process {os.environ['RANK']} is right", flush=True)


if __name__ == "__main__":
    main()
    end()
