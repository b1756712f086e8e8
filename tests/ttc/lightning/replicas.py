"""A script for two processes: compiled steps under Lightning's ddp train as PyTorch's do there, and as one process on the rows of both."""

from __future__ import annotations

import os
from typing import Any

import torch
from lightning.pytorch import LightningModule
from torch import distributed, nn
from torch.utils.data import DataLoader, TensorDataset

from tests.ttc.dist.started import end
from tests.ttc.lightning.modules import trainer
from ttc.lightning import TTCAccelerator

WIDTH, ROWS, BATCH, EPOCHS, NORM = 8, 32, 8, 2, 0.5


class Classifier(LightningModule):
    """Two layers, which move far in a few updates."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.net = nn.Sequential(nn.Linear(WIDTH, 16), nn.Tanh(), nn.Linear(16, 3))

    def training_step(self, batch: Any, batch_idx: int) -> torch.Tensor:
        return nn.functional.cross_entropy(self.net(batch[0]), batch[1])

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.SGD(self.parameters(), 0.1, momentum=0.9)


def rows() -> torch.Tensor:
    return torch.randn(ROWS, WIDTH, generator=torch.Generator().manual_seed(5))


def classes(x: torch.Tensor) -> torch.Tensor:
    return x[:, :3].argmax(1)


def trained(accelerator: Any, rank: int, processes: int) -> torch.Tensor:
    """All parameters after training on the rows of one process: Lightning's own sampler would shuffle rows of a loader that does not."""
    model, x = Classifier(), rows()[rank::processes]
    data = DataLoader(TensorDataset(x, classes(x)), BATCH // processes)
    options = {"max_epochs": EPOCHS, "devices": processes, "strategy": "ddp", "gradient_clip_val": NORM}
    trainer(accelerator, use_distributed_sampler=False, **options).fit(model, data)
    return nn.utils.parameters_to_vector(model.parameters()).detach()


def alone() -> torch.Tensor:
    """All parameters after the same updates in a loop of PyTorch's in one process."""
    model = Classifier()
    optimizer = model.configure_optimizers()
    for _ in range(EPOCHS):
        for x in rows().split(BATCH):
            optimizer.zero_grad()
            nn.functional.cross_entropy(model.net(x), classes(x)).backward()
            nn.utils.clip_grad_norm_(model.parameters(), NORM)
            optimizer.step()
    return nn.utils.parameters_to_vector(model.parameters()).detach()


def main() -> None:
    rank, processes = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    found = trained(TTCAccelerator(fallback=False), rank, processes)
    ranks = [torch.empty_like(found) for _ in range(processes)]
    distributed.all_gather(ranks, found)
    assert all(torch.equal(one, found) for one in ranks), "parameters differ between processes"
    begun = nn.utils.parameters_to_vector(Classifier().parameters()).detach()
    assert float((found - begun).abs().max()) > 0.1, "parameters hardly moved"
    for wanted, what in [(trained("cpu", rank, processes), "ddp in PyTorch"), (alone(), "one process")]:
        torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-5, msg=lambda text, what=what: f"{what}: {text}")
    print(f"process {rank} is equal", flush=True)


if __name__ == "__main__":
    main()
    end()
