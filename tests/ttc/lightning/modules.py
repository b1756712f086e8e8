"""LightningModules that tests train: an image network, and a small GPT; and how they are fitted."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from lightning.pytorch import Callback, LightningModule, Trainer
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

VOCABULARY, WIDTH, LENGTH = 24, 16, 8
LOSSES, MIXED = 2e-3, 1e-2
"""How far losses may be apart, of float32 and of bfloat16."""


class Images(LightningModule):
    """A network with batch norm.

    The convolution before it has no bias, as the gradient of one would be rounding alone, which AdamW makes large.
    """

    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(1, 4, 3, padding=1, bias=False), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(64, 3)
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.net(x)

    def training_step(self, batch: Any, batch_idx: int) -> torch.Tensor:
        x, y = batch
        loss = F.cross_entropy(self(x), y)
        self.log("train_loss", loss)
        return loss

    def validation_step(self, batch: Any, batch_idx: int) -> None:
        x, y = batch
        outputs = self(x)
        self.log("val_loss", F.cross_entropy(outputs, y))
        self.log("accuracy", (outputs.argmax(1) == y).float().mean())

    def test_step(self, batch: Any, batch_idx: int) -> None:
        x, y = batch
        self.log("test_loss", F.cross_entropy(self(x), y))

    def predict_step(self, batch: Any, batch_idx: int) -> torch.Tensor:
        return self(batch[0]).softmax(1)

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.AdamW(self.parameters(), 0.01)


class Block(nn.Module):
    """A layer of a transformer whose positions see those before."""

    def __init__(self) -> None:
        super().__init__()
        self.before, self.between = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.split, self.joined = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.wide = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        rows, length, width = x.shape
        q, k, v = (part.view(rows, length, 2, width // 2).transpose(1, 2) for part in self.split(self.before(x)).chunk(3, -1))
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(x.shape)
        x = x + self.joined(mixed)
        return x + self.wide(self.between(x))


class SmallGPT(LightningModule):
    """A language model of one layer, with one weight for tokens at both ends; its training step optimizes by itself if it is to."""

    def __init__(self, manual: bool = False) -> None:
        super().__init__()
        self.automatic_optimization = not manual
        self.tokens, self.places, self.block = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(LENGTH, WIDTH), Block()
        self.head = nn.Linear(WIDTH, VOCABULARY, bias=False)
        self.head.weight = self.tokens.weight

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return self.head(self.block(self.tokens(ids) + self.places(torch.arange(ids.shape[1]))))

    def training_step(self, batch: Any, batch_idx: int) -> torch.Tensor:
        (ids,) = batch
        loss = F.cross_entropy(self(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten())
        if not self.automatic_optimization:
            optimizer: Any = self.optimizers()
            optimizer.zero_grad()
            self.manual_backward(loss)
            optimizer.step()
        self.log("train_loss", loss)
        return loss

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.AdamW(self.parameters(), 0.01)


class Losses(Callback):
    """Keeps the loss of each step."""

    def __init__(self) -> None:
        self.values: list[float] = []

    def on_train_batch_end(self, trainer: Trainer, pl_module: LightningModule, outputs: Any, batch: Any, batch_idx: int) -> None:
        self.values.append(float(outputs["loss"]))


def images(rng: np.random.Generator, rows: int = 16, batch: int = 8) -> DataLoader:
    """Batches of pictures with their classes."""
    x = torch.from_numpy(rng.standard_normal((rows, 1, 8, 8), np.float32))
    return DataLoader(TensorDataset(x, torch.from_numpy(rng.integers(0, 3, rows))), batch)


def texts(rng: np.random.Generator, rows: int = 16, batch: int = 8) -> DataLoader:
    """Batches of tokens, one more than the model sees."""
    return DataLoader(TensorDataset(torch.from_numpy(rng.integers(0, VOCABULARY, (rows, LENGTH + 1)))), batch)


def trainer(accelerator: Any, *callbacks: Callback, **options: Any) -> Trainer:
    """A Trainer that writes nothing, unless options say so."""
    quiet = {"logger": False, "enable_checkpointing": False, "enable_progress_bar": False, "enable_model_summary": False}
    return Trainer(accelerator=accelerator, callbacks=list(callbacks), **{"max_epochs": 2, **quiet, **options})


def fitted(kind: type[LightningModule], accelerator: Any, data: DataLoader, **options: Any) -> tuple[LightningModule, list[float]]:
    """A model that was trained, and its losses."""
    torch.manual_seed(0)
    model, losses = kind(), Losses()
    trainer(accelerator, losses, **options).fit(model, data)
    return model, losses.values
