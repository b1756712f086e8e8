"""A script for several processes: a Trainer whose processes hold stages of a model trains as one process does."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import torch
from lightning.pytorch import LightningModule, Trainer
from torch import distributed, nn

from tests.ttc.dist.started import end
from tests.ttc.lightning.modules import trainer
from tests.ttc.lightning.sharing import BATCH, EPOCHS, NORM, WIDTH, Layer, bytes_of, classes, loader, rows
from ttc.lightning import PipelineStrategy, TTCAccelerator

ACCUMULATED = 2
RATE = 1e-2
BOUND = 0.551
"""Share of an optimizer's bytes that a process of two stages has at most: four layers of 144, 272, 272 and 68 parameters do not halve."""


class Staged(LightningModule):
    """Layers with a loss of their own; its training step is another process's business."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.net = nn.Sequential(nn.Linear(WIDTH, 16), Layer(), Layer(), nn.Linear(16, 4))
        self.loss = nn.CrossEntropyLoss()

    def validation_step(self, batch: Any, batch_idx: int) -> None:
        self.log("val_loss", self.loss(self.net(batch[0]), batch[1]))

    def predict_step(self, batch: Any, batch_idx: int) -> torch.Tensor:
        return self.net(batch[0])

    def training_step(self, batch: Any, batch_idx: int) -> torch.Tensor:
        raise AssertionError("the strategy runs the stages")

    def configure_optimizers(self) -> Any:
        return torch.optim.AdamW(self.parameters(), RATE)


def alone(epochs: int = EPOCHS) -> tuple[Staged, int]:
    """The model, and the bytes of its optimizer's states, after the same updates in a loop of PyTorch's in one process."""
    model = Staged()
    optimizer = model.configure_optimizers()
    batches = rows().split(BATCH)
    for _ in range(epochs):
        for first in range(0, len(batches), ACCUMULATED):
            optimizer.zero_grad()
            for x in batches[first : first + ACCUMULATED]:
                (model.loss(model.net(x), classes(x)) / ACCUMULATED).backward()
            nn.utils.clip_grad_norm_(model.parameters(), NORM)
            optimizer.step()
    return model, bytes_of(optimizer)


def begun(epochs: int, **options: Any) -> Trainer:
    """A Trainer of all processes."""
    named = {"gradient_clip_val": NORM, "accumulate_grad_batches": ACCUMULATED, "use_distributed_sampler": False}
    strategy = PipelineStrategy(**options)
    return trainer(TTCAccelerator(fallback=False), max_epochs=epochs, devices=int(os.environ["WORLD_SIZE"]), strategy=strategy, **named)


def compare(what: str, folder: Path, **options: Any) -> None:
    """Fit, evaluate, predict and save, then go on from the checkpoint with a new model, as one process trains in one go."""
    rank, world, replicas = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"]), options.get("replicas", 1)
    data, path = loader(rank // (world // replicas), replicas), folder / f"{what}.ckpt"
    model, first = Staged(), begun(1, **options)
    first.fit(model, data)
    half, _ = alone(1)
    torch.testing.assert_close(dict(model.state_dict()), dict(half.state_dict()), rtol=1e-4, atol=1e-5)
    (found,) = first.validate(model, loader(0, 1), verbose=False)
    wanted = sum(half.loss(half.net(x), classes(x)).detach() for x in rows().split(BATCH)) / (len(rows()) // BATCH)
    torch.testing.assert_close(torch.tensor(found["val_loss"]), wanted, rtol=1e-4, atol=1e-5)
    outputs: Any = first.predict(model, torch.utils.data.DataLoader(loader(0, 1).dataset, 7))
    torch.testing.assert_close(torch.cat(outputs), half.net(rows()).detach(), rtol=1e-4, atol=1e-5)
    first.save_checkpoint(path)
    distributed.barrier()
    model, last = Staged(), begun(EPOCHS, **options)
    last.fit(model, data, ckpt_path=path)
    one, whole = alone()
    for name, value in one.state_dict().items():
        torch.testing.assert_close(model.state_dict()[name], value, rtol=1e-4, atol=1e-5, msg=lambda text, name=name: f"{name}: {text}")
    share = bytes_of(last.optimizers[0]) / whole
    print(f"{what}: {share:.3f} of the bytes", flush=True)
    assert share <= BOUND, (what, share)


CASES: dict[str, dict[str, Any]] = {
    "uniform": {"microbatches": 4},
    "interleaved": {"microbatches": 2, "chunks": 2, "schedule": "interleaved"},
    "replicas": {"microbatches": 2, "replicas": 2, "stages": "params"},
}


def main() -> None:
    folder, *names = sys.argv[1:]
    for name in names:
        compare(name, Path(folder), **CASES[name])
    print(f"process {os.environ['RANK']} is equal", flush=True)


if __name__ == "__main__":
    main()
    end()
